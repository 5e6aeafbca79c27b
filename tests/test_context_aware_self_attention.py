"""Context-aware self-attention: the equations written out, for every kind of context."""

import pytest
import torch
from contract import EXACT, layer_context, small_place
from small_models import HEADS, WIDTH, shake, slow_attention
from torch.testing import assert_close

from context_nmt.mechanisms import context_aware_self_attention as mechanism

ENCODER, DECODER = mechanism.SLOTS


def with_gates(linear, q, mixed, kind):
    """Equations 4 and 6 for one position."""
    v, a, size = linear.weight[0], linear.bias[0], WIDTH // HEADS
    groups = [slice(0, WIDTH)] if kind == "position" else [slice(0, size), slice(size, WIDTH)]
    result = []
    for group in groups:
        half = len(v) // 2
        gate = torch.sigmoid(q[group] @ v[:half] + mixed[group] @ v[half:] + a)
        result.append((1 - gate) * q[group] + gate * mixed[group])
    return torch.cat(result)


def slow(layer, inputs, settings, *, causal):
    """Equations 4 to 9 for one sentence, position by position; inputs X_1 ... X_l, [T, D] each."""
    x, length = inputs[-1], len(inputs[-1])
    means = [[states[: t + 1].mean(0) if causal else states.mean(0) for t in range(length)] for states in inputs]
    queries, keys = [], []
    for t in range(length):
        parts = {
            "global": [means[-1][t]],
            "deep": [states[t] for states in inputs[:-1]],
            "deep_global": [mean[t] for mean in means],
        }
        parts["deep_global_and_deep"] = parts["deep_global"] + parts["deep"]
        c = parts[settings.context]
        for unit, projections in ((layer.query, queries), (layer.key, keys)):
            q = unit.projection(x[t])
            if unit.context is not None:
                mixed = unit.context.weight @ torch.cat(c)
                q = q + mixed if settings.gate == "none" else with_gates(unit.gate[0], q, mixed, settings.gate)
            projections.append(q)
    mask = torch.ones(length, length).tril() if causal else torch.ones(length, length)
    return layer.output(slow_attention(torch.stack(queries), torch.stack(keys), layer.value(x), mask))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("gate", ["position", "head", "none"])
@pytest.mark.parametrize("mixed_into", ["queries_and_keys", "queries", "keys"])
@pytest.mark.parametrize("context", ["global", "deep", "deep_global", "deep_global_and_deep"])
def test_it_follows_the_equations(context, mixed_into, gate, causal):
    settings = mechanism.Settings(context=context, mixed_into=mixed_into, gate=gate)
    for depth in (1, 3):
        torch.manual_seed(depth)
        place = small_place(DECODER if causal else ENCODER, layer=depth)
        layer = shake(mechanism.build(settings, place).double()).eval()
        inputs = [torch.randn(5, WIDTH, dtype=torch.float64) for _ in range(depth)]
        unused = [torch.randn_like(states) for states in inputs]  # queries are projections of X_l, not of these states
        layer_inputs = layer_context(unused, inputs, causal=causal)
        assert_close(layer(inputs[-1][None], layer_inputs)[0], slow(layer, inputs, settings, causal=causal), **EXACT)


@pytest.mark.parametrize("causal", [False, True])
def test_the_mean_of_a_long_sentence_is_exact_in_bf16(causal):
    """Whole numbers above 256 are not exact in bf16, so that a count in it would be wrong."""
    torch.manual_seed(1)
    layer = mechanism.build(mechanism.Settings(context="global"), small_place(ENCODER)).bfloat16()
    inputs, contexts = torch.randint(0, 3, (700, WIDTH)).bfloat16(), []
    layer.key.context.register_forward_pre_hook(lambda _, inputs: contexts.append(inputs[0]))
    layer(inputs[None], layer_context([inputs], [inputs], causal=causal))
    counts = torch.arange(1, 701)[:, None]
    means = inputs.double().cumsum(0) / counts if causal else inputs.double().mean(0, keepdim=True)
    assert torch.equal(contexts[0][0], means.bfloat16())


def test_gates_can_start_closed():
    torch.manual_seed(1)
    layer = mechanism.build(mechanism.Settings(gate_bias=-1e4), small_place(ENCODER, layer=2)).double().eval()
    inputs, contexts = torch.randn(2, 5, WIDTH, dtype=torch.float64), torch.randn(2, 5, 3 * WIDTH, dtype=torch.float64)
    for projection in (layer.query, layer.key):
        assert_close(projection(inputs, contexts), projection.projection(inputs), **EXACT)
