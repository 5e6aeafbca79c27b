"""Batches with a maximum number of tokens, and sentences with the previous sentences of their documents.

Previous sentences are rows of the same batch, or are joined with a sentence into one sequence.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from context_nmt.corpus.binarized import Ids
from context_nmt.corpus.vocabulary import BEGIN, PADDING

Indices = NDArray[np.int64]

BREAK = BEGIN  # between joined sentences; no sentence contains it, and search does not stop at it


class Sentences(Protocol):
    """A list of arrays of ids without END, or a TokenFile."""

    def __len__(self) -> int: ...
    def __getitem__(self, number: int, /) -> Ids: ...


def length_batches(
    source_lengths: Indices, target_lengths: Indices, *, tokens: int, random: np.random.Generator | None = None
) -> list[Indices]:
    """Split the pairs, sorted by length, into batches of at most `tokens` on the longer side, padding included.

    With `random`, batches are in random order, and so are pairs of equal length. A pair longer than `tokens` becomes a
    batch of its own.
    """
    ties = np.arange(len(source_lengths)) if random is None else random.permutation(len(source_lengths))
    order = np.lexsort((ties, source_lengths, target_lengths))
    batches: list[Indices] = []
    start, longest = 0, 0
    for position, index in enumerate(order):
        longer = max(int(source_lengths[index]), int(target_lengths[index]))
        if position > start and max(longest, longer) * (position + 1 - start) > tokens:
            batches.append(order[start:position])
            start, longest = position, 0
        longest = max(longest, longer)
    if len(order):
        batches.append(order[start:])
    if random is not None:
        random.shuffle(batches)
    return batches


def document_batches(
    source_lengths: Indices,
    target_lengths: Indices,
    documents: list[range],
    *,
    receptive_sentences: int,
    tokens: int,
    random: np.random.Generator | None = None,
) -> list[Indices]:
    """Split consecutive documents into batches of at most `tokens` on the longer side, padding included.

    `tokens` includes the up to `receptive_sentences` sentences before the first sentence of a batch. With `random`,
    documents and batches are in random order, but the sentences of a document stay in order. A sentence that does not
    fit into a batch together with its previous sentences gets a batch that has only them and itself.
    """
    lengths = np.maximum(source_lengths, target_lengths)
    batches: list[Indices] = []
    batch: list[int] = []
    rows = longest = 0
    for document in random.permutation(len(documents)) if random is not None else range(len(documents)):
        for number in documents[document]:
            if batch and max(longest, lengths[number]) * (rows + 1) > tokens:
                batches.append(np.array(batch))
                earlier = lengths[max(documents[document].start, number - receptive_sentences) : number]
                batch, rows, longest = [], len(earlier), int(earlier.max(initial=0))
            batch.append(number)
            rows, longest = rows + 1, max(longest, int(lengths[number]))
    if batch:
        batches.append(np.array(batch))
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


def sentences_before(documents: list[range] | None, count: int) -> Indices:
    """Count the sentences before each of `count` sentences in its document [N]; 0 without documents."""
    before = np.zeros(count, dtype=np.int64)
    for document in documents or ():
        before[document.start : document.stop] = np.arange(len(document))
    return before


def join_sentences(sentences: Sequence[Ids]) -> Ids:
    """Join sentences of ids into one sequence [T], with BREAK between them."""
    first, *rest = sentences
    if not rest:
        return first
    separator = np.array([BREAK], dtype=first.dtype)
    return np.concatenate([first, *(part for sentence in rest for part in (separator, sentence))])


def joined_lengths(lengths: Indices, before: Indices, previous: int) -> Indices:
    """Return the length [N] of each sentence joined with up to `previous` sentences before it in its document."""
    first = np.arange(len(lengths)) - np.minimum(before, previous)
    ends = np.cumsum(lengths + 1)
    return ends - ends[first] + lengths[first]


class JoinedSentences:
    """The sentences with the indices `kept` [N], or all, each joined with up to `previous` sentences before it.

    `before` [N] counts those that its document has; see `sentences_before`.
    """

    def __init__(self, sentences: Sentences, before: Indices, previous: int, kept: Indices | None = None) -> None:
        self.sentences, self.before, self.previous = sentences, before, previous
        self.kept = np.arange(len(before)) if kept is None else kept

    def __len__(self) -> int:
        return len(self.before)

    def __getitem__(self, number: int) -> Ids:
        """Return the ids [T] of a sentence and its previous sentences, without END."""
        first = number - min(self.previous, int(self.before[number]))
        return join_sentences([self.sentences[index] for index in self.kept[first : number + 1]])


def with_previous(
    numbers: Indices, before: Indices, *, context_sentences: int, receptive_sentences: int
) -> tuple[Indices, Indices]:
    """Return the numbers of a batch's sentences: `numbers`, then, in order, up to `receptive_sentences` before each.

    Also return, for each row, the rows of its previous sentences [rows, `context_sentences`], oldest first; -1 where
    there is none.
    """
    offsets = np.arange(receptive_sentences + 1)
    needed = np.unique((numbers[:, None] - offsets)[offsets <= before[numbers][:, None]])
    rows = np.concatenate([numbers, np.setdiff1d(needed, numbers)])
    order = np.argsort(rows)
    distances = np.arange(context_sentences, 0, -1)
    previous = rows[:, None] - distances
    indices = np.searchsorted(rows, previous, sorter=order).clip(max=len(rows) - 1)
    present = (distances <= before[rows][:, None]) & (rows[order[indices]] == previous)
    return rows, np.where(present, order[indices], -1)
