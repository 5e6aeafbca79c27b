"""Weights that are converted for decoding give the same products, within the given precision."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from context_nmt.decoding.linear_maps import _has_layout, prepared_weights
from context_nmt.models.devices import Precision


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
