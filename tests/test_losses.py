"""The chunked loss equals PyTorch's cross-entropy in value and gradients."""

import pytest
import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from context_nmt.corpus.vocabulary import PADDING
from context_nmt.training import losses
from context_nmt.training.losses import CPU_CHUNK_TOKENS

WIDTH, VOCABULARY = 6, 11


def problem(tokens, *, padding=3, dtype=torch.float64):
    """States [1, T, D], weight [V, D] and targets [1, T] with so many real tokens and paddings, mixed."""
    torch.manual_seed(tokens)
    targets = torch.randint(PADDING + 1, VOCABULARY, (1, tokens + padding))
    targets[0, torch.randperm(tokens + padding)[:padding]] = PADDING
    states = torch.randn(1, tokens + padding, WIDTH, dtype=dtype, requires_grad=True)
    weight = torch.randn(VOCABULARY, WIDTH, dtype=dtype, requires_grad=True)
    return states, weight, targets


def cross_entropy(states, weight, targets, *, smoothing, every_position=False):
    predicted = None if every_position else (targets != PADDING).flatten().nonzero().squeeze(1)
    return losses.cross_entropy(states, weight, targets, predicted, smoothing=smoothing)


def reference(states, weight, targets, smoothing):
    logits = (states @ weight.T).flatten(0, 1)
    return functional.cross_entropy(
        logits, targets.flatten(), label_smoothing=smoothing, ignore_index=PADDING, reduction="sum"
    )


def close(values, expected):
    torch.testing.assert_close(values, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "tokens", [1, CPU_CHUNK_TOKENS - 1, CPU_CHUNK_TOKENS, CPU_CHUNK_TOKENS + 1, 2 * CPU_CHUNK_TOKENS + 7]
)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("every_position", [False, True])
def test_it_equals_cross_entropy_of_pytorch(tokens, smoothing, every_position):
    states, weight, targets = problem(tokens)
    loss = cross_entropy(states, weight, targets, smoothing=smoothing, every_position=every_position)
    expected = reference(states, weight, targets, smoothing)
    close(loss.smoothed, expected)
    close(loss.negative_log_likelihood, reference(states, weight, targets, 0.0))
    gradients = torch.autograd.grad(0.37 * loss.smoothed, (states, weight))
    for gradient, other in zip(gradients, torch.autograd.grad(0.37 * expected, (states, weight)), strict=True):
        close(gradient, other)


@pytest.mark.parametrize("every_position", [False, True])
def test_a_batch_of_only_padding_has_no_loss(every_position):
    states, weight, targets = problem(0, padding=4)
    loss = cross_entropy(states, weight, targets, smoothing=0.1, every_position=every_position)
    loss.smoothed.backward()
    assert loss.sums().tolist() == [0, 0]
    assert not states.grad.any()
    assert not weight.grad.any()


def test_large_logits_do_not_overflow():
    states, weight, targets = problem(9)
    loss = cross_entropy(1000 * states, weight, targets, smoothing=0.1)
    close(loss.smoothed, reference(1000 * states, weight, targets, 0.1))


class CountProducts(TorchFunctionMode):
    count = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.count += function in (torch.Tensor.matmul, torch.Tensor.__matmul__, torch.matmul)
        return function(*args, **(kwargs or {}))


def test_without_gradients_only_the_logits_are_computed():
    states, weight, targets = problem(CPU_CHUNK_TOKENS + 1)
    with torch.no_grad(), CountProducts() as products:
        loss = cross_entropy(states, weight, targets, smoothing=0.1)
    assert products.count == 2  # chunks
    assert not loss.smoothed.requires_grad
    close(loss.smoothed, reference(states, weight, targets, 0.1).detach())
    with CountProducts() as products:
        cross_entropy(states, weight, targets, smoothing=0.1)
    assert products.count == 2 * 3  # with the gradients of states and weight


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_bf16_is_close_to_fp32(dtype):
    """And summed in fp32, also of states in bf16."""
    states, weight, targets = problem(2 * CPU_CHUNK_TOKENS, dtype=dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = cross_entropy(states, weight, targets, smoothing=0.1)
    expected = reference(states.float(), weight.float(), targets, 0.1)
    assert loss.smoothed.dtype == torch.float32
    assert loss.smoothed.item() == pytest.approx(expected.item(), rel=3e-3)
    gradients = torch.autograd.grad(loss.smoothed, (states, weight))
    for gradient, other in zip(gradients, torch.autograd.grad(expected, (states, weight)), strict=True):
        assert gradient.dtype == dtype
        assert float((gradient - other).norm() / other.norm()) < 0.02
