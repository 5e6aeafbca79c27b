"""Weights that are converted for decoding give the same products, within the given precision."""

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch
from small_models import VOCABULARY, small_plan
from test_no_waiting import KINDS
from test_translating import random_sentences
from torch import nn
from torch.testing import assert_close

from context_nmt.decoding.linear_maps import _has_layout, in_bf16, prepared_weights
from context_nmt.decoding.translating import translate_ids
from context_nmt.models.building import build
from context_nmt.models.devices import Precision
from context_nmt.settings.decoding import DecodingSettings


def small_net(bias: bool) -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(20, 33, bias=bias), nn.ReLU(), nn.Linear(33, 7, bias=bias))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(5,), (1,), (3, 4), (300,)])
def test_products_stay_what_they_are(bias: bool, shape: tuple[int, ...]) -> None:
    net, states = small_net(bias), torch.randn(*shape, 20)
    with torch.inference_mode():
        expected = net(states)
        with prepared_weights(net, "fp32"):
            assert_close(net(states), expected)
        with prepared_weights(net, "bf16"):
            rounded = net(states)
        assert rounded.dtype == torch.float32
        assert_close(rounded, expected, rtol=0, atol=0.03)
        assert not torch.equal(rounded, expected)
        assert torch.equal(net(states), expected)  # unchanged


@pytest.mark.parametrize(("slots", "settings"), KINDS)
def test_all_models_translate_in_bf16(slots: dict[str, Any], settings: dict[str, Any]) -> None:
    """As on a GPU; scores are those of the fp32 model within the precision of bf16."""
    torch.manual_seed(5)
    plan = small_plan(slots, **({"tying": "none"} | settings))
    model = build(plan, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY)
    decoding = DecodingSettings(beam=1, iterations=1, length_beam=1, maximum_length_offset=4)
    sentences, documents = random_sentences(12), [range(5), range(5, 12)]
    sentences = [ids % 7 + 4 for ids in sentences]
    expected, rounded = (
        [best for best, *_ in translate_ids(module, sentences, decoding, documents=documents)]
        for module in (model, in_bf16(model))
    )
    equal = [(a.score, b.score) for a, b in zip(expected, rounded, strict=True) if a.tokens == b.tokens]
    assert len(equal) >= 6
    assert np.allclose(*zip(*equal, strict=True), rtol=0.05, atol=0.05)
    assert rounded != expected
    assert model.output.weight.dtype == torch.float32


@pytest.mark.parametrize("bias", [True, False])
def test_aligned_outputs_are_those_of_the_map(bias: bool) -> None:
    net, states = small_net(bias), torch.randn(5, 20, dtype=torch.bfloat16)
    plain = deepcopy(net).bfloat16()
    with torch.inference_mode():
        outputs = in_bf16(net)(states)
        assert outputs.shape == (5, 7)
        assert_close(outputs, plain(states), rtol=0, atol=0.01)


def test_other_types_stay_what_they_are() -> None:
    net, states = small_net(True).double(), torch.randn(5, 20, dtype=torch.float64)
    with torch.inference_mode(), prepared_weights(net, "fp32"):
        inside = net(states)
    assert torch.equal(inside, net(states))


@pytest.mark.parametrize(("fast", "precision"), [(True, "bf16"), (False, "fp32")])
def test_auto_is_the_precision_that_is_fast(fast: bool, precision: Precision, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("context_nmt.models.devices.has_fast_bf16", lambda _: fast)
    net, states = small_net(True), torch.randn(5, 20)
    with torch.inference_mode():
        with prepared_weights(net, "auto"):
            automatic = net(states)
        with prepared_weights(net, precision):
            assert torch.equal(net(states), automatic)


def test_hooks_and_weights_are_seen() -> None:
    net, seen = small_net(True), []
    net[0].register_forward_hook(lambda _, __, output: seen.append(output))
    weight = net[0].weight
    with torch.inference_mode(), prepared_weights(net, "bf16"):
        net(torch.randn(5, 20))
        assert net[0].weight is weight
    assert len(seen) == 1


def test_training_continues_after_an_error() -> None:
    net = small_net(True)
    with pytest.raises(ZeroDivisionError), torch.inference_mode(), prepared_weights(net, "bf16"):
        raise ZeroDivisionError
    net(torch.randn(5, 20)).sum().backward()
    assert net[0].weight.grad is not None


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="PyTorch without oneDNN")
def test_a_cpu_has_the_operators_that_pytorch_does_not_document() -> None:
    """If PyTorch renamed them, decoding would only be slower."""
    assert _has_layout(torch.zeros(2, 3))
