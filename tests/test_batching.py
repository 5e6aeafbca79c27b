"""Batches have every pair once, are bounded, and are in an order that depends on the seed and the epoch."""

from itertools import islice, pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_training import make_experiment

from context_nmt.corpus.batching import document_batches, length_batches, pad
from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.vocabulary import BEGIN, END, PADDING
from context_nmt.files import UserError
from context_nmt.training.batches import Pairs

CPU = torch.device("cpu")
LENGTHS = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=60)


def arrays(lengths):
    source, target = np.array(lengths, dtype=np.int64).reshape(-1, 2).T
    return source, target


@given(lengths=LENGTHS, tokens=st.integers(1, 100), seed=st.none() | st.integers(0, 9))
def test_every_pair_is_in_one_batch_within_the_bound(lengths, tokens, seed):
    source, target = arrays(lengths)
    random = None if seed is None else np.random.default_rng(seed)
    batches = length_batches(source, target, tokens=tokens, random=random)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        size = len(batch) * max(source[batch].max(), target[batch].max())
        assert size <= tokens or len(batch) == 1


@given(lengths=LENGTHS, tokens=st.integers(1, 100))
def test_without_random_pairs_are_sorted_and_batches_are_full(lengths, tokens):
    source, target = arrays(lengths)
    batches = length_batches(source, target, tokens=tokens)
    order = [int(index) for batch in batches for index in batch]
    assert order == sorted(range(len(lengths)), key=lambda index: (target[index], source[index], index))
    for batch, following in pairwise(batches):
        larger = [*batch, following[0]]
        assert len(larger) * max(source[larger].max(), target[larger].max()) > tokens


@pytest.mark.parametrize(("reach", "tokens", "sizes"), [(0, 8, [2, 2, 1]), (0, 11, [2, 2, 1]), (1, 12, [3, 2])])
def test_a_batch_of_a_document_is_full_at_its_bound(reach, tokens, sizes):
    """The sentence before the first counts, too."""
    lengths = np.full(5, 4)
    batches = document_batches(lengths, lengths, [range(5)], receptive_sentences=reach, tokens=tokens)
    assert [len(batch) for batch in batches] == sizes


def test_with_random_the_order_changes_but_batches_stay_alike_in_length():
    source = target = np.repeat(np.arange(1, 11), 20)
    batches, again, others = (
        length_batches(source, target, tokens=40, random=np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert [batch.tolist() for batch in batches] == [batch.tolist() for batch in again]
    # pairs of equal length are distributed differently
    assert {tuple(sorted(batch)) for batch in batches} != {tuple(sorted(batch)) for batch in others}
    widths = [target[batch].max() for batch in batches]
    assert widths != sorted(widths)
    assert all(np.ptp(target[batch]) <= 1 for batch in batches)


def test_pairs_sorted_by_the_longer_side_need_less_padding():
    random = np.random.default_rng(1)
    source, target = (SimpleNamespace(lengths=random.integers(1, 30, 300)) for _ in range(2))
    longer, padded = np.maximum(source.lengths, target.lengths) + 1, {}
    for sort_by in ("target", "longest"):
        batches = Pairs(source, target, maximum_length=None, sort_by=sort_by).batches(tokens=900)
        order = np.concatenate(batches)
        assert sorted(order) == list(range(300))
        assert (np.diff(longer[order]) >= 0).all() == (sort_by == "longest")
        sizes = [len(batch) * longer[batch].max() for batch in batches]
        assert max(sizes) <= 900
        padded[sort_by] = sum(sizes)
    assert padded["longest"] < padded["target"]


def test_padding():
    sentences = [np.array([5, 6, 7], dtype=np.uint16), np.array([], dtype=np.uint16), np.array([8], dtype=np.uint16)]
    assert pad(sentences).tolist() == [[5, 6, 7], [PADDING] * 3, [8, PADDING, PADDING]]
    assert pad(sentences, first=BEGIN)[1:].tolist() == [[BEGIN, *[PADDING] * 3], [BEGIN, 8, PADDING, PADDING]]
    assert pad(sentences, last=END)[:2].tolist() == [[5, 6, 7, END], [END, *[PADDING] * 3]]
    both = pad(sentences, first=BEGIN, last=END)
    assert both[2].tolist() == [BEGIN, 8, END, PADDING, PADDING]
    assert both.dtype == np.int64


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    experiment = make_experiment(tmp_path_factory.mktemp("digits"), task="reverse", pairs=120, longest=9)
    return BinarizedCorpus(experiment.binarized)


def pairs_of(corpus, maximum_length=None):
    return Pairs(*corpus.parallel("train"), maximum_length=maximum_length)


def test_the_tensors_of_a_batch(corpus):
    pairs = pairs_of(corpus)
    batch = pairs.load(np.array([3, 0, 7]))
    assert batch.target_inputs.shape == batch.targets.shape
    for row, index in enumerate((3, 0, 7)):
        source, target = pairs.source[index].tolist(), pairs.target[index].tolist()
        assert source == target[::-1]
        assert batch.source[row][batch.source[row] != PADDING].tolist() == [*source, END]
        assert batch.target_inputs[row][batch.target_inputs[row] != PADDING].tolist() == [BEGIN, *target]
        assert batch.targets[row][batch.targets[row] != PADDING].tolist() == [*target, END]


@pytest.mark.parametrize(("count", "size"), [(1, 1), (7, 7), (60, 60), (119, 119), (120, 120), (999, 120)])
def test_a_sample_has_evenly_spaced_pairs_and_loads_them(corpus, count, size):
    pairs = pairs_of(corpus)
    sample = pairs.sample(count)
    gaps = np.diff(sample.kept)
    assert len(sample.kept) == len(set(sample.kept)) == size
    assert size < 2 or gaps.max() - gaps.min() <= 1
    numbers = np.concatenate(sample.batches(tokens=60))
    assert sorted(numbers) == list(range(size))
    for number, row in zip(numbers, sample.load(numbers).source, strict=True):
        assert row[row != PADDING].tolist() == [*pairs.source[sample.kept[number]].tolist(), END]


def epochs(pairs, seed, count):
    """The batches of each of the first epochs."""
    size = len(pairs.batches(tokens=60)) * count
    stream = [(epoch, batch.tolist()) for epoch, batch in islice(pairs.endless(tokens=60, seed=seed), size)]
    return [[batch for epoch, batch in stream if epoch == number] for number in range(1, count + 1)]


def test_each_epoch_holds_every_pair_once_in_an_order_of_its_own(corpus):
    pairs = pairs_of(corpus)
    first, second = epochs(pairs, seed=1, count=2)
    for batches in (first, second):
        assert sorted(index for batch in batches for index in batch) == list(range(120))
    assert first != second
    assert epochs(pairs, seed=1, count=2) == [first, second]
    assert epochs(pairs, seed=2, count=1) != [first]


def test_a_split_without_short_pairs_is_an_error_with_the_key(corpus):
    with pytest.raises(UserError, match=r"at most 0 units \(training\.maximum_sentence_length\)"):
        pairs_of(corpus, maximum_length=0)
