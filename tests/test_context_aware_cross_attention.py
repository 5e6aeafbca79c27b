"""Context-aware cross-attention: the equations written out, and windows at the edges."""

import math

import pytest
import torch
from contract import CHECKS, EXACT, Facts, small_place
from small_models import HEADS, WIDTH, shake
from torch.testing import assert_close

from context_nmt.mechanisms import context_aware_cross_attention as mechanism
from context_nmt.mechanisms import multi_head_attention
from context_nmt.transformer.attention import LayerContext

(SLOT,) = mechanism.SLOTS
SIZE = WIDTH // HEADS
CENTERS = pytest.mark.parametrize("center", ["alignment", "target"])


def attention(window, center="alignment"):
    torch.manual_seed(1)
    settings = mechanism.Settings(window=window, center=center)
    return shake(mechanism.build(settings, small_place(SLOT)).double()).eval()


def given(memory, *, real, length):
    """The context of one sentence with padding behind its `real` words."""
    mask = (torch.arange(len(memory)) < real)[None, None, None]
    states = (torch.zeros(1, length, WIDTH, dtype=torch.float64),)
    padding = torch.ones(1, length, dtype=torch.bool)
    return LayerContext(states, states, mask, causal=False, padding=padding, memory_states=(memory[None],))


def slow(layer, queries, memory, real, window, center):
    """Equations 1 and 2 for one sentence, word by word and head by head."""
    q, k, v = layer.query(queries), layer.key(memory), layer.value(memory)
    w, c = layer.gate[0].weight[0], layer.gate[0].bias[0]
    output = []
    for i in range(len(queries)):
        heads = []
        for head in (slice(start, start + SIZE) for start in range(0, WIDTH, SIZE)):
            query = q[i, head] / math.sqrt(SIZE)
            psi = torch.stack([query @ k[j, head] for j in range(real)])
            middle = int(psi.argmax()) if center == "alignment" else min(i, real - 1)
            near = [j for j in range(real) if abs(j - middle) <= window]
            local = dict(zip(near, psi[near].softmax(0), strict=True))
            gate = torch.sigmoid(query @ w + c)
            weights = [gate * a + (1 - gate) * local.get(j, 0.0) for j, a in enumerate(psi.softmax(0))]
            heads.append(sum(weight * v[j, head] for j, weight in enumerate(weights)))
        output.append(layer.output(torch.cat(heads)))
    return torch.stack(output)


@CENTERS
@pytest.mark.parametrize("window", [0, 1, 3])
def test_it_is_what_the_equations_say(window, center):
    layer = attention(window, center)
    queries, memory = torch.randn(9, WIDTH, dtype=torch.float64), torch.randn(8, WIDTH, dtype=torch.float64)
    context = given(memory, real=6, length=9)
    assert_close(layer(queries[None], context)[0], slow(layer, queries, memory, 6, window, center), **EXACT)


def test_a_window_by_hand():
    """One head of width 1 sees keys 1, 5, 3 and 2: the second is the centre, and a window of 1 leaves out the last."""
    layer = mechanism.build(mechanism.Settings(window=1), small_place(SLOT, bias=False, width=1, heads=1)).double()
    for parameter in layer.parameters():
        parameter.data.fill_(1)
    layer.gate[0].weight.data.zero_()
    layer.gate[0].bias.data.fill_(math.log(1 / 3))  # g = 1/4
    memory = torch.tensor([[1.0], [5.0], [3.0], [2.0]], dtype=torch.float64)
    weights = []
    layer.weights.register_forward_hook(lambda _, __, output: weights.append(output[0, 0, 0]))
    mask, one = torch.ones(1, 1, 1, 4, dtype=torch.bool), torch.ones(1, 1, 1, dtype=torch.float64)
    context = LayerContext((one,), (one,), mask, False, torch.ones(1, 1, dtype=torch.bool), (memory[None],))
    layer(one, context)
    e = [math.exp(x) for x in (1, 5, 3, 2)]
    near = [*e[:3], 0]
    expected = [x / sum(e) / 4 + 3 / 4 * y / sum(near) for x, y in zip(e, near, strict=True)]
    assert weights[0].tolist() == pytest.approx(expected, abs=1e-12)


@CENTERS
@pytest.mark.parametrize("clause", ["padding", "steps", "reorder", "hypotheses", "alone", "gradient", "precision"])
@pytest.mark.parametrize("window", [0, 2])
def test_every_window_keeps_the_contract(window, clause, center):
    CHECKS[clause](mechanism, SLOT, Facts(settings={"window": window, "center": center}))


def plain_with_the_same_weights(layer):
    plain = multi_head_attention.build(multi_head_attention.Settings(), small_place(SLOT)).double().eval()
    own = layer.state_dict()
    plain.load_state_dict({name: own[name] for name in plain.state_dict()})
    return plain


def outputs(layer, window_of_sight=5):
    queries = torch.randn(1, 4, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    memory = torch.randn(7, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    return layer(queries, given(memory, real=window_of_sight, length=4))


def test_a_window_over_the_whole_source_is_the_plain_attention():
    layer = attention(6)
    assert_close(outputs(layer), outputs(plain_with_the_same_weights(layer)), **EXACT)


def test_an_open_gate_is_the_plain_attention_exactly():
    """Bit by bit, where both compute their weights alike: a hook keeps the plain one from the fused kernel."""
    layer = attention(1)
    layer.gate[0].bias.data.fill_(1e4)
    plain = plain_with_the_same_weights(layer)
    plain.attend.weights.register_forward_hook(lambda *_: None)
    assert torch.equal(outputs(layer), outputs(plain))
