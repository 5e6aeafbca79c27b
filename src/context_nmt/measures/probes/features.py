"""What sentence probes see of a sentence: the mean of the encoder's top layer over its tokens, computed once.

The mean is over all real positions of the encoder's output, the final norm included: the sentence's units and END. A
model that looks at previous sentences sees none before these.
"""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from context_nmt.command_line import progress
from context_nmt.corpus.batching import length_batches, pad
from context_nmt.corpus.moses import MosesSide
from context_nmt.corpus.text_chain import TextChain
from context_nmt.corpus.vocabulary import END
from context_nmt.decoding.in_batches import (
    ALONE,
    Lengths,
    Sentences,
    check_positions,
    evaluating,
    in_batches,
    lengths_of,
)
from context_nmt.decoding.workers import usable
from context_nmt.files import read_json
from context_nmt.measures.probes.tasks import find_tasks, read_task
from context_nmt.models.checkpoints import load_run, save
from context_nmt.models.devices import device_named
from context_nmt.models.model import Model
from context_nmt.settings.layout import Layout
from context_nmt.settings.text import SideSettings

TOKENS = 4096  # of a batch, padding included


def write_features(experiment: Layout, run: str, tasks: Path, destination: Path, *, device: str) -> None:
    """Write `TASK.safetensors` into the folder `destination` for every task in the folder `tasks`.

    Each holds the features [N, D] and labels [N] of three splits. Raises UserError for a folder without tasks, a file
    that is none, and sentences longer than the model's learned positions.
    """
    found = {name: read_task(tasks / f"{name}.txt") for name in find_tasks(tasks)}
    text = RunText(experiment.model(run) / "text")
    model = load_run(experiment.model(run), device_named(device), text.chain.corpus)
    for name, task in progress(found.items(), run, len(found)):
        tensors: dict[str, Tensor] = {}
        for split, examples in task.splits.items():
            features = mean_states(model, text.ids(examples.sentences), device=device_named(device))
            tensors |= {f"{split}.features": features, f"{split}.labels": torch.tensor(examples.labels)}
        save(destination / f"{name}.safetensors", tensors, {"classes": task.classes})


class RunText:
    """The way from lines of Moses tokens to the source ids of a run.

    They are put together and tokenized again as the run's own text was: with other settings, or where the tokenizer
    sees the gaps between tokens ("didn 't"), words would fall apart otherwise.
    """

    def __init__(self, folder: Path):
        self.chain = TextChain(folder)
        side = read_json(folder / "moses.json")["source"]
        self._side = MosesSide(side.pop("language"), SideSettings(**side))

    def ids(self, lines: list[str]) -> list[NDArray[np.int64]]:
        """The ids of each line, without END."""
        units = self.chain.source_subwords([self._side.text(line) for line in lines])
        return [np.array(self.chain.corpus.source_vocabulary.ids(line), dtype=np.int64) for line in units]


def mean_states(model: Model, sentences: Sentences, *, device: torch.device) -> Tensor:
    """Source ids of N sentences -> the mean of each one's top encoder states, [N, D], on the CPU.

    Raises UserError for a sentence that is longer than the model's learned positions.
    """
    lengths = lengths_of(sentences)
    check_positions(model.source_embedding.positions, lengths, "sentence")

    def work(batch: Lengths) -> list[NDArray[np.floating]]:
        source = torch.from_numpy(pad([sentences[number] for number in batch], last=END)).to(device)
        memory = model.encode(source)
        real = memory.padding[..., None]
        return list(((memory.states[-1] * real).sum(1) / real.sum(1)).cpu().numpy())

    batches = length_batches(lengths + 1, lengths + 1, tokens=TOKENS)
    with evaluating(model):
        found = in_batches(work, batches, lengths, progress=None, workers=usable(device), processes=ALONE)
    return torch.from_numpy(np.stack([found[number] for number in range(len(lengths))]))
