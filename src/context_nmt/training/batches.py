"""Sentence pairs as tensors, in an order that depends on the seed and the epoch alone."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from context_nmt.corpus.batching import Indices, length_batches, pad
from context_nmt.corpus.binarized import TokenFile
from context_nmt.corpus.vocabulary import BEGIN, END
from context_nmt.files import UserError


@dataclass(frozen=True)
class Batch:
    """Sentence pairs with equal positions in all three."""

    source: Tensor  # [B, S], END behind each sentence
    target_inputs: Tensor  # [B, T], BEGIN before each sentence
    targets: Tensor  # [B, T], END behind each sentence
    tokens: int  # of the targets, END included


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
        sources = [self.source[index] for index in batch]
        targets = [self.target[index] for index in batch]
        return Batch(
            source=torch.from_numpy(pad(sources, last=END)).to(self.device),
            target_inputs=torch.from_numpy(pad(targets, first=BEGIN)).to(self.device),
            targets=torch.from_numpy(pad(targets, last=END)).to(self.device),
            tokens=sum(len(target) + 1 for target in targets),
        )
