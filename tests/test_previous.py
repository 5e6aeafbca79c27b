"""Batches of documents hold every sentence once, in order, with what stands before it."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from context_nmt.corpus.batching import document_batches, sentences_before, with_previous


@st.composite
def split_into_documents(draw):
    sizes = draw(st.lists(st.integers(1, 7), min_size=1, max_size=8))
    ends = np.cumsum(sizes).tolist()
    return [range(end - size, end) for size, end in zip(sizes, ends, strict=True)]


@given(split_into_documents(), st.data())
def test_every_row_finds_the_sentences_before_it(documents, data):
    assert sentences_before(None, 3).tolist() == [0, 0, 0]
    count, sentences = documents[-1].stop, data.draw(st.integers(0, 4))
    receptive_sentences = sentences + data.draw(st.integers(0, 4))
    numbers = np.array(data.draw(st.lists(st.integers(0, count - 1), min_size=1, unique=True)))
    rows, previous = with_previous(
        numbers,
        sentences_before(documents, count),
        context_sentences=sentences,
        receptive_sentences=receptive_sentences,
    )
    assert rows[: len(numbers)].tolist() == numbers.tolist()
    assert len(set(rows.tolist())) == len(rows)
    first = {number: document.start for document in documents for number in document}
    needed = {number - back for number in numbers.tolist() for back in range(receptive_sentences + 1)}
    assert set(rows.tolist()) == {
        number
        for number in needed
        if any(number >= first[n] and n - receptive_sentences <= number <= n for n in numbers.tolist())
    }
    for number, row in zip(rows.tolist(), previous.tolist(), strict=True):
        for column, previous_row in enumerate(row):
            expected = number - (sentences - column)
            is_present = expected >= first[number] and expected in rows.tolist()
            assert previous_row == (rows.tolist().index(expected) if is_present else -1)


@given(split_into_documents(), st.data())
def test_batches_hold_each_sentence_once_and_no_more_than_they_may(documents, data):
    count, receptive_sentences, tokens = documents[-1].stop, data.draw(st.integers(0, 4)), data.draw(st.integers(1, 60))
    lengths = [np.array(data.draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))) for _ in range(2)]
    random = data.draw(st.sampled_from([None, 1]))
    batches = document_batches(
        *lengths,
        documents,
        receptive_sentences=receptive_sentences,
        tokens=tokens,
        random=None if random is None else np.random.default_rng(random),
    )
    assert sorted(np.concatenate(batches).tolist()) == list(range(count))
    if random is None:
        assert np.concatenate(batches).tolist() == list(range(count))
    before, longer = sentences_before(documents, count), np.maximum(*lengths)
    for batch in batches:
        for one, other in pairwise(batch):  # neighbours, or the start of another document
            assert other == one + 1 or before[other] == 0
        rows, _ = with_previous(
            batch, before, context_sentences=receptive_sentences, receptive_sentences=receptive_sentences
        )
        assert len(batch) == 1 or longer[rows].max() * len(rows) <= tokens
