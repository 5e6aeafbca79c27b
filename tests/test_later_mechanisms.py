"""Mechanisms of later papers against their equations, written out position by position."""

import math

import pytest
import torch
from contract import EXACT, layer_context, small_place
from small_models import HEADS, WIDTH, shake, slow_attention
from torch.testing import assert_close

from context_nmt.mechanisms import gated_feed_forward, linear_biases, rms_norm, rotary_positions

SIZE = WIDTH // HEADS
STATES = torch.randn(5, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def built(mechanism, slot, **settings):
    return shake(mechanism.build(mechanism.Settings(**settings), small_place(slot)).double())


def rotated(states, positions):
    """R_m of eq. 15 times each head, whose pairs of dimensions are (i, i + d / 2)."""
    rows = []
    for position, row in zip(positions, states, strict=True):
        heads = []
        for head in row.view(HEADS, SIZE):
            rotation = torch.zeros(SIZE, SIZE, dtype=row.dtype)
            for pair in range(SIZE // 2):
                angle, other = position * 10000 ** (-2 * pair / SIZE), pair + SIZE // 2
                rotation[pair, pair] = rotation[other, other] = math.cos(angle)
                rotation[pair, other], rotation[other, pair] = -math.sin(angle), math.sin(angle)
            heads.append(rotation @ head)
        rows.append(torch.cat(heads))
    return torch.stack(rows)


@pytest.mark.parametrize("causal", [False, True])
def test_rotary_positions(causal):
    attention = built(rotary_positions, "decoder_self_attention")
    mask = torch.ones(5, 5, dtype=torch.bool)
    queries, keys = (rotated(part(STATES), range(5)) for part in (attention.query, attention.key))
    expected = slow_attention(queries, keys, attention.value(STATES), mask.tril() if causal else mask)
    output = attention(STATES[None], layer_context([STATES], [STATES], causal=causal))
    assert_close(output[0], attention.output(expected), **EXACT)


def test_rotated_scores_depend_on_the_distance_alone():
    query, key = STATES[:2]
    scores = [
        [rotated(query[None], [first]) @ rotated(key[None], [first + distance]).T for first in (0, 3, 11)]
        for distance in (-2, 0, 4)
    ]
    for of_one_distance in scores:
        assert_close(torch.stack(of_one_distance), torch.stack(of_one_distance[:1] * 3), **EXACT)
    assert abs(scores[0][0] - scores[2][0]) > 0.01


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        (8, [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]),  # the paper's, section 3
        (2, [1 / 16, 1 / 256]),
        (6, [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]),
    ],
)
def test_slopes(heads, expected):
    assert linear_biases.slopes(heads) == pytest.approx(expected)


@pytest.mark.parametrize("causal", [False, True])
def test_linear_biases(causal):
    attention = built(linear_biases, "decoder_self_attention")
    queries, keys, values = (part(STATES) for part in (attention.query, attention.key, attention.value))
    expected = torch.zeros(5, WIDTH, dtype=torch.float64)
    for head, slope in enumerate((1 / 16, 1 / 256)):
        part = slice(head * SIZE, (head + 1) * SIZE)
        for i in range(5):
            seen = range(i + 1) if causal else range(5)
            scores = [queries[i, part] @ keys[j, part] / math.sqrt(SIZE) - slope * abs(i - j) for j in seen]
            weights = torch.stack(scores).softmax(0)
            expected[i, part] = sum(weight * values[j, part] for weight, j in zip(weights, seen, strict=True))
    output = attention(STATES[None], layer_context([STATES], [STATES], causal=causal))
    assert_close(output[0], attention.output(expected), **EXACT)


@pytest.mark.parametrize(
    ("gate", "function"),
    [
        ("swish", lambda x: x / (1 + math.exp(-x))),
        ("sigmoid", lambda x: 1 / (1 + math.exp(-x))),
        ("relu", lambda x: max(x, 0.0)),
        ("gelu", lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2),
    ],
)
def test_gated_feed_forward(gate, function):
    network = built(gated_feed_forward, "encoder_feed_forward", gate=gate)
    assert network.inner.out_features == 8  # 2/3 of 12
    gates = (STATES @ network.gate[0].weight.T).tolist()
    gates = torch.tensor([[function(x) for x in row] for row in gates], dtype=torch.float64)
    expected = (gates * (STATES @ network.inner.weight.T)) @ network.outer.weight.T
    assert_close(network(STATES[None], None)[0], expected, **EXACT)


def test_rms_norm():
    norm = built(rms_norm, "norm")
    expected = [row / math.sqrt(sum(x**2 for x in row.tolist()) / WIDTH + 1e-5) * norm.weight for row in STATES]
    assert_close(norm(STATES[None])[0], torch.stack(expected), **EXACT)
