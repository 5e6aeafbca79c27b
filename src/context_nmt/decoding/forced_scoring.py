"""Log-probabilities of given translations: forced decoding."""

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from context_nmt.corpus.batching import length_batches, pad
from context_nmt.corpus.vocabulary import BEGIN, END, PADDING
from context_nmt.decoding.in_batches import (
    ALONE,
    Lengths,
    Sentences,
    check_positions,
    evaluating,
    in_batches,
    lengths_of,
)
from context_nmt.models.processes import Processes
from context_nmt.models.translation_model import TranslationModel

UNITS = 1024  # of a batch, padding included, on the longer side: its logits are in memory at once


def score_pairs(
    model: TranslationModel,
    sources: Sentences,
    targets: Sentences,
    *,
    device: torch.device,
    progress: str | None = None,
    workers: int | None = None,
    processes: Processes = ALONE,
) -> list[float]:
    """Return the log-probability of every target given its source, in nats: the sum over its units and END.

    Pairs of equal ids are scored once, so that they tie exactly; rounding within a batch would tell them apart.
    See `in_batches` for the other arguments. Raises UserError for a sentence longer than the model's learned positions.
    """
    source_lengths, target_lengths = lengths_of(sources), lengths_of(targets)
    check_positions(model.source_embedding.positions, source_lengths, "the source of pair")
    check_positions(model.target_embedding.positions, target_lengths, "the target of pair")
    first: dict[tuple[bytes, bytes], int] = {}
    equal = [first.setdefault((sources[n].tobytes(), targets[n].tobytes()), n) for n in range(len(sources))]
    distinct = np.array(list(first.values()), dtype=np.int64)

    def score(batch: Lengths) -> list[float]:
        candidates = [targets[number] for number in batch]
        ids = (
            pad([sources[number] for number in batch], last=END),
            pad(candidates, first=BEGIN),
            pad(candidates, last=END),
        )
        source, inputs, labels = (torch.from_numpy(one).to(device) for one in ids)
        logits = model.output(model(source, inputs)).flatten(0, 1)  # [B * T, V]
        losses = cross_entropy(logits, labels.flatten(), ignore_index=PADDING, reduction="none")
        return (-losses.view(labels.shape).double().sum(1)).tolist()

    cut = length_batches(source_lengths[distinct] + 1, target_lengths[distinct] + 1, tokens=UNITS)
    longest_first = [distinct[batch] for batch in reversed(cut)]  # so that memory runs out at once if it does
    with evaluating(model):
        found = in_batches(
            score, longest_first, target_lengths, progress=progress, workers=workers, processes=processes
        )
    return [found[number] for number in equal]
