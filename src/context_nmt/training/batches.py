"""Sentence pairs as tensors, in an order that depends on the seed and the epoch alone."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from context_nmt.corpus.batching import Indices, length_batches, pad
from context_nmt.corpus.binarized import BinarizedCorpus, TokenFile
from context_nmt.corpus.previous import document_batches, sentences_before, with_previous
from context_nmt.corpus.vocabulary import BEGIN, END, PADDING
from context_nmt.files import UserError
from context_nmt.models.model import Model


@dataclass(frozen=True)
class Batch:
    """Sentence pairs with equal positions in all three."""

    source: Tensor  # [B, S], END behind each sentence
    target_inputs: Tensor  # [B, T], BEGIN before each sentence
    targets: Tensor  # [B, T], END behind each sentence
    tokens: int  # that are predicted, END included
    previous: Tensor | None = None  # [B, K] rows of the sentences before each, oldest first, -1 for none


class Pairs:
    """The pairs of one split that are short enough, and their batches."""

    def __init__(
        self, source: TokenFile, target: TokenFile, *, maximum_length: int | None, device: torch.device
    ) -> None:
        self.source, self.target, self.device = source, target, device
        lengths = np.maximum(source.lengths, target.lengths)
        self.kept: Indices = np.arange(len(source))
        if maximum_length is not None:
            self.kept = np.flatnonzero(lengths <= maximum_length)
        if not len(self.kept):
            raise UserError(f"no sentence pair of at most {maximum_length} units (training.maximum_sentence_length)")

    def batches(self, *, tokens: int, random: np.random.Generator | None = None) -> list[Indices]:
        """Batches as indices of pairs; see `length_batches`."""
        batches = length_batches(
            self.source.lengths[self.kept] + 1, self.target.lengths[self.kept] + 1, tokens=tokens, random=random
        )
        return [self.kept[batch] for batch in batches]

    def endless(self, *, tokens: int, seed: int) -> Iterator[tuple[int, Indices]]:
        """Yield (epoch, batch) for ever, epochs counted from 1 and each in an order of its own."""
        epoch = 0
        while True:
            epoch += 1
            for batch in self.batches(tokens=tokens, random=np.random.default_rng([seed, epoch])):
                yield epoch, batch

    def load(self, batch: Indices) -> Batch:
        """The tensors of one batch."""
        return self._stacked(batch)

    def _stacked(self, batch: Indices) -> Batch:
        sources = [self.source[index] for index in batch]
        targets = [self.target[index] for index in batch]
        return Batch(
            source=torch.from_numpy(pad(sources, last=END)).to(self.device),
            target_inputs=torch.from_numpy(pad(targets, first=BEGIN)).to(self.device),
            targets=torch.from_numpy(pad(targets, last=END)).to(self.device),
            tokens=sum(len(target) + 1 for target in targets),
        )


class DocumentPairs(Pairs):
    """The same for a model that looks at previous sentences; what is too long is as if its document had it not."""

    def __init__(
        self,
        source: TokenFile,
        target: TokenFile,
        documents: list[range],
        model: Model,
        *,
        maximum_length: int | None,
        device: torch.device,
    ) -> None:
        super().__init__(source, target, maximum_length=maximum_length, device=device)
        self.sentences, self.reach = model.sentences, model.reach
        bounds = ((document.start, document.stop) for document in documents)
        places = (np.searchsorted(self.kept, bound) for bound in bounds)
        self.documents = [range(start, stop) for start, stop in places if start < stop]  # places in `kept`
        self.before = sentences_before(self.documents, len(self.kept))

    def batches(self, *, tokens: int, random: np.random.Generator | None = None) -> list[Indices]:
        """Batches as places in `kept`; see `document_batches`."""
        return document_batches(
            self.source.lengths[self.kept] + 1,
            self.target.lengths[self.kept] + 1,
            self.documents,
            reach=self.reach,
            tokens=tokens,
            random=random,
        )

    def load(self, batch: Indices) -> Batch:
        """The tensors of one batch; nothing is predicted in the sentences that only stand before others."""
        rows, previous = with_previous(batch, self.before, sentences=self.sentences, reach=self.reach)
        stacked = self._stacked(self.kept[rows])
        stacked.targets[len(batch) :] = PADDING
        tokens = int((stacked.targets != PADDING).sum())
        return replace(stacked, tokens=tokens, previous=torch.from_numpy(previous).to(self.device))


def pairs_for(model: Model, corpus: BinarizedCorpus, split: str, maximum_length: int | None) -> Pairs:
    """The pairs of a split as a model takes them.

    Raises UserError where it looks at previous sentences and the split has no documents.
    """
    source, target = corpus.parallel(split)
    device = next(model.parameters()).device
    if not model.in_documents:
        return Pairs(source, target, maximum_length=maximum_length, device=device)
    documents = corpus.documents(split)
    if documents is None:
        raise UserError(
            f"{corpus.folder}: {split}.documents is missing: the variant looks at previous sentences, so its corpus"
            f" needs data/CORPUS/{split}.documents, the line number of each document's first sentence, from 0"
        )
    return DocumentPairs(source, target, documents, model, maximum_length=maximum_length, device=device)
