"""The cache equals a cache that is filled word by word."""

import torch
from contract import EXACT, small_place
from hypothesis import given
from hypothesis import strategies as st
from small_models import WIDTH
from torch.testing import assert_close

from context_nmt.mechanisms import cache_memory as mechanism
from context_nmt.transformer.sentence_context import SentenceContext


@given(st.lists(st.integers(-1, 6), min_size=1, max_size=30), st.integers(1, 7))
def test_cells_are_those_of_a_cache_that_is_filled_word_by_word(words, count):
    """-1 is not a word; vectors are one-hot, so that a cell shows its shares."""
    vectors, cache = torch.eye(len(words)), {}
    for position, word in enumerate(words):
        if word >= 0:
            earlier = cache.pop(word, None)  # the newest word comes last
            new = vectors[position]
            cache[word] = new if earlier is None else (earlier + new) / 2
    expected = list(cache.values())[-count:]
    ids = torch.tensor([words])
    shares, filled = mechanism.cells(ids, ids >= 0, count)
    cells = shares[0][filled[0]]
    assert_close(cells, torch.stack(expected) if expected else cells[:0])


@torch.no_grad()
def test_it_follows_the_equations():
    torch.manual_seed(1)
    module = mechanism.build(mechanism.Settings(cells=2, sentences=2), small_place("decoder_output")).double()
    inputs = torch.tensor([[[1, 5, 6, 0], [1, 5, 7, 8]]])  # BEGIN, words, padding
    words = inputs >= 4
    before, cross_output = (torch.randn(1, 2, 4, WIDTH, dtype=torch.float64) for _ in range(2))
    current, states = (torch.randn(1, 3, WIDTH, dtype=torch.float64) for _ in range(2))
    previous = {"inputs": inputs, "target_words": words, "target": before, "cross_output": cross_output}
    context = SentenceContext(before=previous, current_cross_output=current)
    # the words 5 6 | 5 7 8 were produced one position before they were read: the last two are 7 and 8
    keys, values = (torch.stack([of[0, 1, 1], of[0, 1, 2]]) for of in (cross_output, before))
    for position in range(3):
        weights = (keys @ current[0, position]).softmax(0)
        read = weights @ values
        gate = torch.sigmoid(module.gate[0](torch.cat([states[0, position], current[0, position], read])))
        expected = (1 - gate) * states[0, position] + gate * read
        assert_close(module(states, context)[0, position], expected, **EXACT)
    low = SentenceContext(
        before={name: of.bfloat16() if of.is_floating_point() else of for name, of in previous.items()},
        current_cross_output=current.bfloat16(),
    )
    precise = module(states, context)
    rounded = module.bfloat16()(states.bfloat16(), low)  # weights in bf16, as in decoding
    assert_close(rounded.double(), precise, rtol=0, atol=0.1)
