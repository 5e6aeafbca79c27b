"""Batches of sentences with the sentences before them in their documents."""

import numpy as np

from context_nmt.corpus.batching import Indices


def sentences_before(documents: list[range] | None, count: int) -> Indices:
    """Return how many sentences of its document precede each of `count` sentences; without documents none [N]."""
    before = np.zeros(count, dtype=np.int64)
    for document in documents or ():
        before[document.start : document.stop] = np.arange(len(document))
    return before


def with_previous(numbers: Indices, before: Indices, *, sentences: int, reach: int) -> tuple[Indices, Indices]:
    """Return the rows of a batch: the sentences of these numbers, then others, up to `reach` before them, in order.

    Also return the rows [rows, `sentences`] of the sentences before each, oldest first; -1 if there is none.
    """
    offsets = np.arange(reach + 1)
    needed = np.unique((numbers[:, None] - offsets)[offsets <= before[numbers][:, None]])
    rows = np.concatenate([numbers, np.setdiff1d(needed, numbers)])
    order = np.argsort(rows)
    back = np.arange(sentences, 0, -1)
    wanted = rows[:, None] - back
    places = np.searchsorted(rows, wanted, sorter=order).clip(max=len(rows) - 1)
    found = (back <= before[rows][:, None]) & (rows[order[places]] == wanted)
    return rows, np.where(found, order[places], -1)


def document_batches(
    source_lengths: Indices,
    target_lengths: Indices,
    documents: list[range],
    *,
    reach: int,
    tokens: int,
    random: np.random.Generator | None = None,
) -> list[Indices]:
    """Split documents, one after the other, into batches of at most `tokens` on the longer side, padding included.

    `tokens` includes the up to `reach` sentences before its first one that a batch needs. With `random`, documents and
    batches are in random order, but never sentences. A sentence that does not fit together with those before it is
    alone with them.
    """
    lengths = np.maximum(source_lengths, target_lengths)
    batches: list[Indices] = []
    batch: list[int] = []
    rows = widest = 0
    for document in random.permutation(len(documents)) if random is not None else range(len(documents)):
        for number in documents[document]:
            if batch and max(widest, lengths[number]) * (rows + 1) > tokens:
                batches.append(np.array(batch))
                earlier = lengths[max(documents[document].start, number - reach) : number]
                batch, rows, widest = [], len(earlier), int(earlier.max(initial=0))
            batch.append(number)
            rows, widest = rows + 1, max(widest, int(lengths[number]))
    if batch:
        batches.append(np.array(batch))
    if random is not None:
        random.shuffle(batches)
    return batches
