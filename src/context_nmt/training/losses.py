"""The loss of a batch: label-smoothed cross-entropy that never holds the logits of a whole batch."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from context_nmt.models.model import Model
from context_nmt.models.plans import TrainingPlan
from context_nmt.training.batches import Batch

CHUNK = 512  # tokens whose logits exist at a time, in the cache of a CPU
CHUNK_OF_GPU = 4096  # fewer kernels to start
ALIGNED = 8  # units: with another number, cuBLAS takes kernels for bf16 that are several times slower


@dataclass(frozen=True)
class Loss:
    """Sums over the real tokens of a batch, in nats."""

    smoothed: Tensor  # minimised in training
    negative_log_likelihood: Tensor  # float64

    def sums(self) -> Tensor:
        """Return both as float64 [2], without gradients."""
        return torch.stack([self.smoothed.detach().double(), self.negative_log_likelihood])


class Objective(nn.Module):
    """A model with its loss as one module, so that several processes can share all its gradients."""

    def __init__(self, model: Model, plan: TrainingPlan) -> None:
        super().__init__()
        self.model = model
        self.smoothing = plan.training.label_smoothing
        self.precision = "fp32"  # or bf16, of linear maps; weights are always fp32
        self.of_chunk = loss_of_chunk
        self.with_loss: list[Any] = [module for module in model.modules() if hasattr(module, "auxiliary_loss")]

    def compile_parts(self) -> None:
        """Compile the encoder, the decoder and the loss, each for all shapes; the embeddings stay as they are."""
        self.model.encoder.compile(dynamic=True)
        self.model.decoder.compile(dynamic=True)
        self.of_chunk = torch.compile(loss_of_chunk, dynamic=True)

    def forward(self, batch: Batch) -> Loss:
        """Return the loss of a batch; a GPU does not make the program wait."""
        with torch.autocast(batch.source.device.type, dtype=torch.bfloat16, enabled=self.precision == "bf16"):
            states, further = self.model.predict(batch.source, batch.target_inputs, batch.previous)
            loss = cross_entropy(
                states,
                self.model.output.weight,
                batch.targets,
                batch.predicted,
                smoothing=self.smoothing,
                of_chunk=self.of_chunk,
            )
        for more in (further, *(module.auxiliary_loss for module in self.with_loss)):
            loss = loss if more is None else replace(loss, smoothed=loss.smoothed + more)
        return loss


def cross_entropy(
    states: Tensor,
    weight: Tensor,
    targets: Tensor,
    predicted: Tensor,
    *,
    smoothing: float,
    of_chunk: Callable[..., tuple[Tensor, Tensor, Tensor | None]] | None = None,
) -> Loss:
    """Cross-entropy with label smoothing (1 - e) * nll + e / V * sum over V (Szegedy et al. 2016).

    States [B, T, D], output weight [V, D], targets [B, T]; only the positions `predicted` [N] of these B * T count.
    """
    states, targets = states.flatten(0, 1).index_select(0, predicted), targets.flatten().index_select(0, predicted)
    smoothed, likelihood = _ChunkedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        states, weight, targets, smoothing, torch.is_grad_enabled(), of_chunk or loss_of_chunk
    )
    return Loss(smoothed, likelihood)


def loss_of_chunk(
    products: Tensor, labels: Tensor, units: int, smoothing: float, precision: torch.dtype, differentiable: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Logits [N, V or more] in the precision of products, labels [N, 1] -> both losses, and the logits' gradient."""
    logits = products[:, :units].to(precision)
    of_label, mean = logits.gather(1, labels), logits.mean(1, keepdim=True)
    largest = logits.amax(1, keepdim=True)
    exponentials = logits.sub_(largest).exp_()
    total = exponentials.sum(1, keepdim=True)
    log_total = largest + total.log()
    likelihood = (log_total - of_label).sum()
    smoothed = (log_total - (1 - smoothing) * of_label - smoothing * mean).sum()
    if not differentiable:
        return smoothed, likelihood, None
    gradient = exponentials.div_(total).sub_(smoothing / logits.size(1))
    gradient.scatter_add_(1, labels, gradient.new_full(labels.shape, smoothing - 1))
    gradient = gradient.to(products.dtype)
    if products.size(1) > units:
        gradient = functional.pad(gradient, (0, products.size(1) - units))
    return smoothed, likelihood, gradient


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Compute the gradient together with the loss, chunk by chunk."""

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        targets: Tensor,
        smoothing: float,
        differentiable: bool,
        of_chunk: Callable[..., tuple[Tensor, Tensor, Tensor | None]],
    ) -> tuple[Tensor, Tensor]:
        device, units = states.device.type, len(weight)
        if device == "cuda" and units % ALIGNED:
            weight = functional.pad(weight, (0, 0, 0, ALIGNED - units % ALIGNED))
        state_gradient = torch.empty_like(states) if differentiable else None
        weight_gradient = torch.zeros_like(weight) if differentiable else None
        if torch.is_autocast_enabled(device):  # once, not for each chunk
            states, weight = (tensor.to(torch.get_autocast_dtype(device)) for tensor in (states, weight))
        precision = torch.promote_types(states.dtype, torch.float32)
        smoothed = states.new_zeros((), dtype=torch.float64)
        likelihood = states.new_zeros((), dtype=torch.float64)
        size = CHUNK if device == "cpu" else CHUNK_OF_GPU
        for start in range(0, len(states), size):
            chunk, labels = states[start : start + size], targets[start : start + size, None]
            loss, nll, gradient = of_chunk(chunk @ weight.T, labels, units, smoothing, precision, differentiable)
            smoothed += loss
            likelihood += nll
            if state_gradient is not None and weight_gradient is not None and gradient is not None:
                state_gradient[start : start + size] = gradient @ weight
                weight_gradient += gradient.T @ chunk
        ctx.save_for_backward(state_gradient, None if weight_gradient is None else weight_gradient[:units])
        ctx.mark_non_differentiable(likelihood)
        return smoothed.to(precision), likelihood

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor, _: Any) -> tuple[Tensor, Tensor, None, None, None, None]:
        state_gradient, weight_gradient = ctx.saved_tensors
        return state_gradient * scale, weight_gradient * scale, None, None, None, None
