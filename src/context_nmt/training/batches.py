"""Batches of sentence pairs and their prediction targets; the order depends only on seed and epoch."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from context_nmt.corpus.batching import Indices, length_batches, pad
from context_nmt.corpus.binarized import BinarizedCorpus, TokenFile
from context_nmt.corpus.previous import document_batches, sentences_before, with_previous
from context_nmt.corpus.vocabulary import BEGIN, END, MASK, PADDING
from context_nmt.files import UserError
from context_nmt.models.model import Model
from context_nmt.settings.training import TrainingSettings

Random = np.random.Generator | None  # None in validation, which draws nothing


@dataclass(frozen=True)
class Batch:
    """B sentence pairs; the rows of all tensors are in the same order."""

    source: Tensor  # [B, S], END after each sentence
    target_inputs: Tensor  # [B, T], BEGIN before each sentence
    targets: Tensor  # [B, T], END after each sentence, PADDING where nothing is predicted
    tokens: int  # predicted target tokens, END included
    previous: Tensor | None = None  # [B, K] rows of the sentences before each, oldest first, -1 for none


class Pairs:
    """The pairs of one split up to the maximum length; a batch is an array of positions in `kept`.

    With `documents`, a batch also has up to `reach` sentences that precede each of its own; `sentences` of them are
    its context. A sentence that is too long is left out of its document.
    """

    def __init__(
        self,
        source: TokenFile,
        target: TokenFile,
        *,
        maximum_length: int | None,
        device: torch.device,
        documents: list[range] | None = None,
        sentences: int = 0,
        reach: int = 0,
    ) -> None:
        self.source, self.target, self.device = source, target, device
        self.sentences, self.reach = sentences, reach
        lengths = np.maximum(source.lengths, target.lengths)
        self.kept: Indices = np.flatnonzero(lengths <= (np.inf if maximum_length is None else maximum_length))
        if not len(self.kept):
            raise UserError(f"no sentence pair of at most {maximum_length} units (training.maximum_sentence_length)")
        self.documents = None
        if documents is not None:
            bounds = (np.searchsorted(self.kept, (document.start, document.stop)) for document in documents)
            self.documents = [range(start, stop) for start, stop in bounds if start < stop]
        self.before = sentences_before(self.documents, len(self.kept))

    def batches(self, *, tokens: int, random: Random = None) -> list[Indices]:
        """Cut all pairs into batches; see `length_batches` and `document_batches`."""
        lengths = self.source.lengths[self.kept] + 1, self.target.lengths[self.kept] + 1
        if self.documents is None:
            return length_batches(*lengths, tokens=tokens, random=random)
        return document_batches(*lengths, self.documents, reach=self.reach, tokens=tokens, random=random)

    def endless(self, *, tokens: int, seed: int) -> Iterator[tuple[int, Indices]]:
        """Yield (epoch, batch) without end; epochs count from 1, and each has its own order."""
        epoch = 0
        while True:
            epoch += 1
            for batch in self.batches(tokens=tokens, random=np.random.default_rng([seed, epoch])):
                yield epoch, batch

    def load(self, batch: Indices) -> Batch:
        """Load the tensors of a batch; sentences that are only context come last and are not predicted."""
        rows, previous = with_previous(batch, self.before, sentences=self.sentences, reach=self.reach)
        sources = [self.source[number] for number in self.kept[rows]]
        targets = [self.target[number] for number in self.kept[rows]]
        predicted = pad(targets, last=END)
        predicted[len(batch) :] = PADDING
        return Batch(
            source=torch.from_numpy(pad(sources, last=END)).to(self.device),
            target_inputs=torch.from_numpy(pad(targets, first=BEGIN)).to(self.device),
            targets=torch.from_numpy(predicted).to(self.device),
            tokens=sum(len(target) + 1 for target in targets[: len(batch)]),
            previous=None if self.documents is None else torch.from_numpy(previous).to(self.device),
        )


def pairs_for(model: Model, corpus: BinarizedCorpus, split: str, maximum_length: int | None) -> Pairs:
    """Open the pairs of a split for a model.

    Raise UserError if the model looks at previous sentences and the split has no documents.
    """
    documents = corpus.documents(split) if model.in_documents else None
    if model.in_documents and documents is None:
        raise UserError(
            f"{corpus.folder}: {split}.documents is missing: the variant looks at previous sentences, so its corpus"
            f" needs data/CORPUS/{split}.documents, the line number of each document's first sentence, from 0"
        )
    return Pairs(
        *corpus.parallel(split),
        maximum_length=maximum_length,
        device=next(model.parameters()).device,
        documents=documents,
        sentences=model.sentences,
        reach=model.reach,
    )


def next_units(batch: Batch, settings: TrainingSettings, random: Random) -> Batch:
    """Predict each unit from those before it: return the batch unchanged."""
    return batch


def masked_units(batch: Batch, settings: TrainingSettings, random: Random) -> Batch:
    """Mask some units of each target, which may include END, and predict them from the others; in validation mask all.

    In a target of N units, n are masked, with n drawn uniformly from 1..N, or from 1..N-1 without `mask_whole_targets`
    (Ghazvininejad et al. 2019, section 3; their code draws from 1..N-1).
    """
    real = (batch.targets != PADDING).cpu().numpy()
    masked = real
    if random is not None:
        lengths = real.sum(1)
        most = lengths if settings.mask_whole_targets else np.maximum(lengths - 1, 1)
        count = random.integers(1, most, endpoint=True)
        order = np.where(real, random.random(real.shape), 2.0).argsort(1).argsort(1)  # padding comes last
        masked = order < count[:, None]
    hidden = torch.from_numpy(masked).to(batch.targets.device)
    return replace(
        batch,
        target_inputs=batch.targets.masked_fill(hidden, MASK),
        targets=batch.targets.masked_fill(~hidden, PADDING),
        tokens=int(masked.sum()),
    )


# For each kind of model, the inputs and targets that it takes from a batch.
EXAMPLES: dict[str, Callable[[Batch, TrainingSettings, Random], Batch]] = {
    "autoregressive": next_units,
    "masked": masked_units,
}
