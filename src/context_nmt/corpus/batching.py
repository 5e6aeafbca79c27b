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
    lengths = np.array([len(sentence) for sentence in sentences])
    start = 0 if first is None else 1
    width = start + int(lengths.max()) + (0 if last is None else 1)
    ids = np.full((len(sentences), width), PADDING, dtype=np.int64)
    columns = np.arange(width) - start
    ids[(columns >= 0) & (columns < lengths[:, None])] = np.concatenate(sentences)
    if first is not None:
        ids[:, 0] = first
    if last is not None:
        ids[np.arange(len(ids)), start + lengths] = last
    return ids
