"""HAN follows its equations, computed sentence by sentence and word by word."""

import itertools
import math
from dataclasses import replace

import pytest
import torch
from contract import EXACT, small_place
from small_models import WIDTH, shake, slow_attention
from torch.testing import assert_close

from context_nmt.files import UserError
from context_nmt.mechanisms import hierarchical_attention as mechanism
from context_nmt.transformer.sentence_context import SentenceContext


def layer(slot="decoder_output", **settings):
    torch.manual_seed(1)
    return shake(mechanism.build(mechanism.Settings(**settings), small_place(slot)).double()).eval()


def states(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def context(words, *, grad=False):
    """Previous sentences [B, K, 4] with these words and random states."""
    words = torch.tensor(words, dtype=torch.bool)
    before = {name: states(*words.shape, WIDTH).requires_grad_(grad) for name in ("source", "target", "cross_output")}
    return SentenceContext(
        before=before | {"source_words": words, "target_words": words},
        current_cross_output=states(len(words), 5, WIDTH),
    )


def norm(module, vector):
    deviation = math.sqrt(float(((vector - vector.mean()) ** 2).sum()) / (len(vector) - 1))
    return module.weight * (vector - vector.mean()) / (deviation + 1e-6) + module.bias


def attend(module, query, vectors):
    """The attention of one query to a list of vectors."""
    memory, everything = torch.stack(vectors), torch.ones(1, len(vectors))
    attended = slow_attention(module.query(query)[None], module.key(memory), module.value(memory), everything)
    return module.output(attended[0])


def slowly(module, vector, memory, words):
    """The output at one position, with a memory [K, S, D] and a mask of words [K, S]."""
    present = [number for number in range(len(memory)) if words[number].any()]
    if not present:
        return norm(module.output_norm, vector)
    query = norm(module.word_norm, vector)
    seen = [memory[number][words[number]] for number in present]
    summaries = [norm(module.word_output_norm, attend(module.word_attention, query, list(of))) for of in seen]
    summary = attend(module.sentence_attention, norm(module.sentence_norm, vector), summaries)
    norm_before, inner, activation, _, outer, _ = module.feed_forward
    summary = summary + outer(activation(inner(norm(norm_before, summary))))
    gate = module.gate(torch.cat([vector, summary]))
    return norm(module.output_norm, (1 - gate) * vector + gate * summary)


WORDS = [
    [[0, 1, 1, 0], [0, 1, 1, 1]],
    [[0, 0, 0, 0], [0, 1, 0, 1]],  # the first one is missing
    [[0, 0, 0, 0], [0, 0, 0, 0]],
]


@pytest.mark.parametrize("reads", ["target", "source", "alignment"])
@pytest.mark.parametrize("slot", mechanism.SLOTS)
@torch.no_grad()
def test_it_follows_the_equations(slot, reads):
    chosen = {"context": reads} if slot == "decoder_output" else {}
    module, seen, queries = layer(slot, sentences=2, **chosen), context(WORDS), states(3, 5, WIDTH)
    memory = seen.before["source" if slot == "encoder_output" else "cross_output" if reads == "alignment" else reads]
    if slot == "decoder_output" and reads == "alignment":
        memory = torch.stack([norm(module.context_norm, v) for v in memory.flatten(0, 2)]).view(memory.shape)
    output = module(queries, seen)
    for row, position in itertools.product(range(3), range(5)):
        expected = slowly(module, queries[row, position], memory[row], seen.before["target_words"][row])
        assert_close(output[row, position], expected, **EXACT)


def test_context_cannot_be_chosen_after_the_encoder():
    with pytest.raises(UserError, match="context is target"):
        layer("encoder_output", context="target")


@torch.no_grad()
def test_only_the_last_sentences_are_seen():
    module, seen, queries = layer(sentences=1), context(WORDS[:1]), states(1, 5, WIDTH)
    for sentence in (0, 1):
        new_states = seen.before["target"].index_copy(1, torch.tensor([sentence]), states(1, 1, 4, WIDTH))
        changed = replace(seen, before=seen.before | {"target": new_states})
        assert torch.equal(module(queries, seen), module(queries, changed)) == (sentence == 0)


@torch.no_grad()
def test_without_bypass_arbitrary_words_are_averaged():
    seen, queries = context(WORDS[2:]), states(1, 5, WIDTH)
    bypassing, official = layer(sentences=2), layer(sentences=2, bypass=False)
    assert_close(bypassing(queries, seen), bypassing.output_norm(queries), **EXACT)
    output = official(queries, seen)
    attention = official.word_attention
    means = attention.output(attention.value(seen.before["target"][0]).mean(1))  # [K, D] all words alike
    summaries = official.word_output_norm(means)
    attention = official.sentence_attention
    summary = attention.output(attention.value(summaries).mean(0))
    summary = summary + official.feed_forward(summary)
    gate = official.gate(torch.cat([queries[0], summary.expand(5, -1)], -1))
    assert_close(output[0], official.output_norm((1 - gate) * queries[0] + gate * summary), **EXACT)


@pytest.mark.parametrize("detach_query", [True, False])
@pytest.mark.parametrize("detach_context", [True, False])
def test_gradients_stop_where_the_settings_say(detach_query, detach_context):
    module = layer(sentences=2, detach_query=detach_query, detach_context=detach_context)
    with torch.no_grad():  # nothing of the states reaches the output but through the context
        module.gate[0].weight.zero_()
        module.gate[0].bias.fill_(1e4)
    seen, queries = context(WORDS[:1], grad=True), states(1, 5, WIDTH).requires_grad_()
    module(queries, seen).square().sum().backward()
    assert (queries.grad.abs().max() > 1e-9) == (not detach_query)
    assert (seen.before["target"].grad is None) == detach_context


def test_the_gate_can_start_closed():
    torch.manual_seed(1)
    module = mechanism.build(mechanism.Settings(gate_bias=-1e4), small_place("decoder_output")).double().eval()
    inputs = states(2, 3, WIDTH)
    assert_close(module(inputs, context([[[1, 1, 0, 0]]] * 2)), module.output_norm(inputs), **EXACT)
