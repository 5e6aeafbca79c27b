"""Lexical probes: how well a layer's state tells which unit stands at its position (Emelin et al. 2019).

A classifier per layer and stack, D -> 512 ReLU, dropout 0.5 -> units, without output bias, trained by Adam on training
text with its own early stopping. The unit is that of the position: in the decoder the one that was put in, not the one
to come. Units are those of the side's training sentences; another one in a test set counts as not found. BEGIN and END,
which are always found, are not asked for. The paper does not say how many tokens a batch has.
"""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from context_nmt.command_line import progress
from context_nmt.corpus.batching import Indices, length_batches
from context_nmt.corpus.binarized import BinarizedCorpus, TokenFile
from context_nmt.decoding.in_batches import evaluating
from context_nmt.measures.probes.early_stopping import EarlyStopping
from context_nmt.measures.probes.states import STACKS, Layers, read_layers
from context_nmt.models.model import Model
from context_nmt.settings.evaluation import WordClassifierSettings

LONGEST = 100  # units of a training sentence, on either side
NO_CLASS = -1

Pairs = tuple[TokenFile, TokenFile]


class LayerProbe:
    """The classifier of one layer."""

    def __init__(self, width: int, classes: int, settings: WordClassifierSettings, device: torch.device) -> None:
        self.classifier = nn.Sequential(
            nn.Linear(width, settings.hidden_width),
            nn.ReLU(),
            nn.Dropout(settings.dropout),
            nn.Linear(settings.hidden_width, classes, bias=False),
        ).to(device)
        self.optimizer = torch.optim.Adam(self.classifier.parameters(), lr=settings.learning_rate)
        self.stopping = EarlyStopping(self.classifier, settings.patience)

    def update(self, states: Tensor, labels: Tensor) -> None:
        """Learn from states [N, D] of classes [N]."""
        self.classifier.train()
        self.optimizer.zero_grad()
        functional.cross_entropy(self.classifier(states), labels).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()

    @torch.no_grad()
    def right(self, states: Tensor, labels: Tensor) -> Tensor:
        """Whether the class of each state [N, D] is found, bool [N]."""
        return self.classifier.eval()(states).argmax(-1) == labels


class WordProbes:
    """The classifiers of all layers of one model, trained on its corpus."""

    def __init__(self, model: Model, corpus: BinarizedCorpus, settings: WordClassifierSettings) -> None:
        self.model, self.settings = model, settings
        self.device = next(model.parameters()).device
        training, validation = corpus.parallel(corpus.train), corpus.parallel(corpus.validation)
        chosen = _sample(training, settings.training_sentences)
        sizes = (len(corpus.source_vocabulary), len(corpus.target_vocabulary))
        self.classes = {
            stack: _classes(side, chosen, size).to(self.device)
            for stack, side, size in zip(STACKS, training, sizes, strict=True)
        }
        torch.manual_seed(settings.seed)
        self.probes = {stack: self._probes(stack) for stack in STACKS}
        random = np.random.default_rng(settings.seed)
        with torch.random.fork_rng(devices=[]):
            for _ in progress(range(settings.epochs), "lexical probes"):
                self._epoch(training, chosen, random)
                self._validate(validation)
                if not any(probe.stopping.goes_on for probes in self.probes.values() for probe in probes):
                    break
        for probes in self.probes.values():
            for probe in probes:
                probe.stopping.restore()

    def _probes(self, stack: str) -> list[LayerProbe]:
        layers = len(getattr(self.model, stack).layers) + 1
        width = self.model.source_embedding.table.embedding_dim
        classes = int(self.classes[stack].max()) + 1
        return [LayerProbe(width, classes, self.settings, self.device) for _ in range(layers)]

    def _epoch(self, training: Pairs, chosen: Indices, random: np.random.Generator) -> None:
        for batch in batches(training, chosen, self.settings.batch_tokens, random):
            for stack, layers in self._read(training, batch).items():
                labels = self.classes[stack][layers.ids[layers.real]]
                for probe, states in zip(self.probes[stack], layers.states, strict=True):
                    if probe.stopping.goes_on:
                        probe.update(states[layers.real], labels)

    def _validate(self, validation: Pairs) -> None:
        found: dict[str, list[NDArray[np.bool_]]] = {stack: [] for stack in STACKS}
        for batch in batches(validation, np.arange(len(validation[0])), self.settings.batch_tokens):
            for stack, layers in self._read(validation, batch).items():
                found[stack].append(self.right(stack, layers))
        for stack, rows in found.items():
            for probe, right in zip(self.probes[stack], np.concatenate(rows, axis=1).mean(axis=1), strict=True):
                if probe.stopping.goes_on:
                    probe.stopping.validated(float(right))

    def right(self, stack: str, layers: Layers) -> NDArray[np.bool_]:
        """Whether the unit of each of N real positions, sentence by sentence, is found in each layer, [layers, N]."""
        labels = self.classes[stack][layers.ids[layers.real]]
        rows = [
            probe.right(states[layers.real], labels)
            for probe, states in zip(self.probes[stack], layers.states, strict=True)
        ]
        return torch.stack(rows).cpu().numpy()

    def _read(self, pairs: Pairs, batch: Indices) -> dict[str, Layers]:
        with evaluating(self.model):
            found = read_layers(self.model, pairs, batch)
        return {  # what was computed in inference mode cannot be learnt from
            stack: Layers(tuple(state.clone() for state in layers.states), layers.ids.clone(), layers.real.clone())
            for stack, layers in found.items()
        }


def batches(pairs: Pairs, chosen: Indices, tokens: int, random: np.random.Generator | None = None) -> Iterator[Indices]:
    """Yield the chosen numbers in batches of like length, END included."""
    source, target = (side.lengths[chosen] + 1 for side in pairs)
    for batch in length_batches(source, target, tokens=tokens, random=random):
        yield chosen[batch]


def _sample(pairs: Pairs, count: int) -> Indices:
    short = np.flatnonzero((pairs[0].lengths <= LONGEST) & (pairs[1].lengths <= LONGEST))
    return short if len(short) <= count else short[np.linspace(0, len(short) - 1, count).astype(np.int64)]


def _classes(side: TokenFile, chosen: Indices, vocabulary: int) -> Tensor:
    """The class of every id [V]: a number for each one of the chosen sentences, NO_CLASS for others."""
    seen = np.unique(np.concatenate([side[number] for number in chosen]))
    classes = torch.full((vocabulary,), NO_CLASS)
    classes[torch.from_numpy(seen.astype(np.int64))] = torch.arange(len(seen))
    return classes
