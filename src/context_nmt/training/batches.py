"""Batches of sentence pairs and their prediction targets; their order depends only on seed and epoch."""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, cast

import numpy as np
import torch
from torch import Tensor

from context_nmt.corpus.batching import (
    Indices,
    JoinedSentences,
    document_batches,
    joined_lengths,
    length_batches,
    pad,
    sentences_before,
    with_previous,
)
from context_nmt.corpus.binarized import BinarizedCorpus, TokenFile
from context_nmt.corpus.vocabulary import BEGIN, END, MASK, PADDING
from context_nmt.files import UserError
from context_nmt.models.model import Model
from context_nmt.settings.model import TrainingSettings

Item = TypeVar("Item")
Random = np.random.Generator | None  # None in validation, which is not random

PREFETCHED = 2  # updates, or batches of a validation, that are prepared in advance


@dataclass(frozen=True)
class Batch:
    """B sentence pairs, with the rows of all tensors in the same order; batches are created on the CPU."""

    source: Tensor  # [B, S], END after each sentence
    target_inputs: Tensor  # [B, T], BEGIN before each sentence
    targets: Tensor  # [B, T], END after each sentence, PADDING at positions that are not predicted
    predicted: Tensor | None  # [N] indices of predicted positions among B * T; None: where targets are not PADDING
    tokens: int  # number of predicted positions N, including END; to count them, a GPU would have to stop
    previous: Tensor | None = None  # [B, K] rows of the sentences before each, oldest first, or -1

    @property
    def tensors(self) -> dict[str, Any]:
        """The tensors by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}

    def to(self, device: torch.device) -> "Batch":
        """Copy all tensors to a device, for a GPU asynchronously."""
        tensors = self.tensors
        if device.type == "cuda":
            tensors = {name: tensor.pin_memory() for name, tensor in tensors.items()}  # else copies are synchronous
        return replace(self, **{name: tensor.to(device, non_blocking=True) for name, tensor in tensors.items()})


class Pairs:
    """The pairs of a split up to a maximum length; a batch is an array of positions in `kept`.

    With `documents`, a batch also has up to `receptive_sentences` sentences before each of its own; the last
    `context_sentences` of them are its context. Without `receptive_sentences`, sentences of different documents share
    batches, and up to `previous_sources` and `previous_targets` sentences before each are joined with it, as part of
    its length. A sentence that is too long is left out of its document.
    """

    def __init__(
        self,
        source: TokenFile,
        target: TokenFile,
        *,
        maximum_length: int | None,
        documents: list[range] | None = None,
        context_sentences: int = 0,
        receptive_sentences: int = 0,
        previous_sources: int = 0,
        previous_targets: int = 0,
        sort_by: Literal["target", "longest"] = "target",
    ) -> None:
        self.source, self.target, self.sort_by = source, target, sort_by
        self.context_sentences, self.receptive_sentences = context_sentences, receptive_sentences
        lengths = np.maximum(source.lengths, target.lengths)
        self.kept: Indices = np.flatnonzero(lengths <= (np.inf if maximum_length is None else maximum_length))
        if not len(self.kept):
            raise UserError(f"no sentence pair of at most {maximum_length} units (training.maximum_sentence_length)")
        if documents is not None:
            bounds = (np.searchsorted(self.kept, (document.start, document.stop)) for document in documents)
            documents = [range(start, stop) for start, stop in bounds if start < stop]
        self.documents = documents if receptive_sentences else None  # only documents whose sentences must share batches
        self.before = sentences_before(documents, len(self.kept))
        self._sources = JoinedSentences(source, self.before, previous_sources, self.kept)
        self._targets = JoinedSentences(target, self.before, previous_targets, self.kept)

    def sample(self, count: int) -> "Pairs":
        """Return at most `count` evenly spaced pairs, without documents."""
        sampled, last = copy(self), len(self.kept) - 1
        sampled.kept = self.kept[np.linspace(0, last, count).astype(np.int64)] if count <= last else self.kept
        sampled.documents, sampled.before = None, sentences_before(None, len(sampled.kept))
        sampled._sources, sampled._targets = (
            JoinedSentences(side, sampled.before, 0, sampled.kept) for side in (self.source, self.target)
        )
        return sampled

    def batches(self, *, tokens: int, random: Random = None) -> list[Indices]:
        """Split all pairs into batches; see `length_batches` and `document_batches`."""
        lengths = (
            joined_lengths(self.source.lengths[self.kept], self.before, self._sources.previous) + 1,
            joined_lengths(self.target.lengths[self.kept], self.before, self._targets.previous) + 1,
        )
        if self.documents is None:
            if self.sort_by == "longest":
                lengths = lengths[0], np.maximum(*lengths)
            return length_batches(*lengths, tokens=tokens, random=random)
        return document_batches(
            *lengths, self.documents, receptive_sentences=self.receptive_sentences, tokens=tokens, random=random
        )

    def count_batches(self, epochs: int, *, tokens: int, seed: int) -> int:
        """Return the number of batches that `endless` yields in the first epochs."""
        if self.documents is None:  # lengths alone decide where batches end
            return epochs * len(self.batches(tokens=tokens))
        return sum(
            len(self.batches(tokens=tokens, random=np.random.default_rng([seed, epoch])))
            for epoch in range(1, epochs + 1)
        )

    def endless(self, *, tokens: int, seed: int) -> Iterator[tuple[int, Indices]]:
        """Yield (epoch, batch) endlessly; epochs count from 1, and each has its own order."""
        epoch = 0
        while True:
            epoch += 1
            for batch in self.batches(tokens=tokens, random=np.random.default_rng([seed, epoch])):
                yield epoch, batch

    def load(self, batch: Indices) -> Batch:
        """Load the tensors of a batch; sentences that are only context come last, and are not predicted."""
        rows, previous = with_previous(
            batch, self.before, context_sentences=self.context_sentences, receptive_sentences=self.receptive_sentences
        )
        sources, targets = ([side[row] for row in rows] for side in (self._sources, self._targets))
        labels = pad(targets, last=END)
        labels[len(batch) :] = PADDING
        predicted = np.flatnonzero(labels != PADDING)
        return Batch(
            source=torch.from_numpy(pad(sources, last=END)),
            target_inputs=torch.from_numpy(pad(targets, first=BEGIN)),
            targets=torch.from_numpy(labels),
            predicted=torch.from_numpy(predicted),
            tokens=len(predicted),
            previous=None if self.documents is None else torch.from_numpy(previous),
        )


def pairs_for(
    model: Model,
    corpus: BinarizedCorpus,
    split: str,
    maximum_length: int | None,
    sort_by: Literal["target", "longest"] = "target",
) -> Pairs:
    """Return the pairs of a split for a model; raise UserError if it needs documents and the split has none."""
    documents = corpus.documents(split) if model.needs_documents else None
    if model.needs_documents and documents is None:
        raise UserError(
            f"{corpus.folder}: {split}.documents is missing: the variant reads previous sentences, so its corpus"
            f" needs data/CORPUS/{split}.documents, the line number of each document's first sentence, from 0"
        )
    return Pairs(
        *corpus.parallel(split),
        maximum_length=maximum_length,
        documents=documents,
        context_sentences=model.context_sentences,
        receptive_sentences=model.receptive_sentences,
        previous_sources=model.previous_sources,
        previous_targets=model.previous_targets,
        sort_by=sort_by,
    )


def prefetch(items: Iterator[Item], device: torch.device) -> Generator[Item, None, None]:
    """Yield the items; for a GPU, a thread prepares the next ones meanwhile, and its errors are raised here."""
    if device.type != "cuda":  # on a CPU, a thread would slow the model down
        yield from items
        return
    end = object()
    with ThreadPoolExecutor(1, "batches") as thread:
        waiting = deque(thread.submit(next, items, end) for _ in range(PREFETCHED))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(thread.submit(next, items, end))
            yield cast(Item, item)


def predict_next_units(batch: Batch, settings: TrainingSettings, random: Random) -> Batch:
    """Return the batch unchanged: each unit is predicted from the units before it."""
    return batch


def mask_units(batch: Batch, settings: TrainingSettings, random: Random) -> Batch:
    """Mask random units of each target, possibly END, to be predicted from the others; in validation mask all.

    Of N units, n are masked, with n drawn uniformly from 1..N, or from 1..N-1 if not `mask_whole_targets`
    (Ghazvininejad et al. 2019, section 3; their code draws from 1..N-1).
    """
    real = (batch.targets != PADDING).numpy()
    masked = real
    if random is not None:
        lengths = real.sum(1)
        maximum = lengths if settings.mask_whole_targets else np.maximum(lengths - 1, 1)
        count = random.integers(1, maximum, endpoint=True)
        order = np.where(real, random.random(real.shape), 2.0).argsort(1).argsort(1)  # padding comes last
        masked = order < count[:, None]
    hidden, predicted = torch.from_numpy(masked), np.flatnonzero(masked)
    return replace(
        batch,
        target_inputs=batch.targets.masked_fill(hidden, MASK),
        targets=batch.targets.masked_fill(~hidden, PADDING),
        predicted=torch.from_numpy(predicted),
        tokens=len(predicted),
    )


# For each kind of model, the function that sets a batch's inputs and targets.
EXAMPLES: dict[str, Callable[[Batch, TrainingSettings, Random], Batch]] = {
    "autoregressive": predict_next_units,
    "concatenation": predict_next_units,
    "masked": mask_units,
}
