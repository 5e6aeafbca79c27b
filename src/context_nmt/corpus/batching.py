"""Batches of sentence pairs of similar length, with a maximum number of tokens."""

import numpy as np
from numpy.typing import NDArray

from context_nmt.corpus.vocabulary import PADDING

Indices = NDArray[np.int64]


def length_batches(
    source_lengths: Indices, target_lengths: Indices, *, tokens: int, random: np.random.Generator | None = None
) -> list[Indices]:
    """Split the pairs, sorted by length, into batches of at most `tokens` on the longer side, padding included.

    With `random`, the batches, and pairs of equal length, are in random order. A pair longer than `tokens` is a batch
    of its own.
    """
    ties = np.arange(len(source_lengths)) if random is None else random.permutation(len(source_lengths))
    order = np.lexsort((ties, source_lengths, target_lengths))
    batches: list[Indices] = []
    start, widest = 0, 0
    for position, index in enumerate(order):
        longer = max(int(source_lengths[index]), int(target_lengths[index]))
        if position > start and max(widest, longer) * (position + 1 - start) > tokens:
            batches.append(order[start:position])
            start, widest = position, 0
        widest = max(widest, longer)
    if len(order):
        batches.append(order[start:])
    if random is not None:
        random.shuffle(batches)
    return batches


def pad(sentences: list[NDArray[np.integer]], *, first: int | None = None, last: int | None = None) -> Indices:
    """Stack sentences of ids as [B, T], with `first` before and `last` after each, padded on the right."""
    before = [] if first is None else [first]
    after = [] if last is None else [last]
    width = max(len(sentence) for sentence in sentences) + len(before) + len(after)
    ids = np.full((len(sentences), width), PADDING, dtype=np.int64)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(before)] = before
        row[len(before) : len(before) + len(sentence)] = sentence
        row[len(before) + len(sentence) : len(before) + len(sentence) + len(after)] = after
    return ids
