"""Dropout has the given probability, keeps the mean, and uses one mask forwards and backwards."""

import math

import pytest
import torch
from torch.testing import assert_close

from context_nmt.transformer.attention import Dropout


def dropped(probability, *shape, seed=1, dtype=torch.float32):
    torch.manual_seed(seed)
    return Dropout(probability)(torch.ones(shape, dtype=dtype))


@pytest.mark.parametrize("probability", [0.001, 0.1, 0.3, 0.5, 0.9])
def test_the_share_of_zeros_is_the_probability_and_the_mean_is_kept(probability):
    size = 400_003
    outputs = dropped(probability, size)
    deviation = math.sqrt(probability * (1 - probability) / size)
    assert abs(float((outputs == 0).double().mean()) - probability) < 5 * deviation + 2**-17
    assert abs(float(outputs.double().mean()) - 1) < 5 * deviation / (1 - probability) + 2**-17
    assert_close(
        outputs[outputs != 0], torch.full_like(outputs[outputs != 0], 1 / (1 - probability)), rtol=2e-4, atol=0
    )


def test_the_place_of_an_element_does_not_matter():
    """Four elements share one random number of 64 bits; a sign or an order of bytes must not show."""
    zeros = dropped(0.3, 100_000, 4) == 0
    deviation = math.sqrt(0.3 * 0.7 / 100_000)
    assert (zeros.double().mean(0) - 0.3).abs().max() < 5 * deviation
    together = (zeros[:, :-1] & zeros[:, 1:]).double().mean(0)
    assert (together - 0.09).abs().max() < 5 * math.sqrt(0.09 * 0.91 / 100_000)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(), (1,), (2,), (3,), (5,), (3, 7), (2, 3, 5), (0, 4)])
def test_shape_and_type_are_kept(shape, dtype):
    outputs = dropped(0.5, *shape, dtype=dtype)
    assert (outputs.shape, outputs.dtype) == (shape, dtype)
    assert set(outputs.flatten().tolist()) <= {0.0, 2.0}


def test_it_does_nothing_in_evaluation_or_at_zero():
    states = torch.randn(4, 5)
    assert torch.equal(Dropout(0.5).eval()(states), states)
    assert torch.equal(Dropout(0.0)(states), states)


def test_the_gradient_passes_where_the_state_did():
    torch.manual_seed(1)
    states = torch.randn(7, 11, requires_grad=True)
    outputs = Dropout(0.4)(states.T).T  # not contiguous
    outputs.sum().backward()
    assert 0 < int((states.grad == 0).sum()) < states.numel()
    assert torch.equal(outputs.detach(), states.detach() * states.grad)


def test_the_seed_decides_and_calls_differ():
    assert torch.equal(dropped(0.3, 1001), dropped(0.3, 1001))
    assert not torch.equal(dropped(0.3, 1001), dropped(0.3, 1001, seed=2))
    assert not torch.equal(dropped(0.3, 1001), Dropout(0.3)(torch.ones(1001)))
