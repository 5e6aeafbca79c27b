"""The loss of a batch: label-smoothed cross-entropy, which never stores the logits of a whole batch."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from context_nmt.corpus.vocabulary import PADDING
from context_nmt.models.model import Model
from context_nmt.models.plans import TrainingPlan
from context_nmt.training.batches import Batch

CPU_CHUNK_TOKENS = 512  # tokens whose logits exist at the same time, in the cache of a CPU
GPU_CHUNK_TOKENS = 4096  # more, to start fewer kernels
VOCABULARY_ALIGNMENT = 8  # unless the number of units is a multiple, cuBLAS is several times slower in bf16


@dataclass(frozen=True)
class Loss:
    """Sums over the real tokens of a batch, in nats."""

    smoothed: Tensor  # minimised in training
    negative_log_likelihood: Tensor  # float64

    def sums(self) -> Tensor:
        """Return both sums as float64 [2], without gradients."""
        return torch.stack([self.smoothed.detach().double(), self.negative_log_likelihood])


class Objective:
    """The loss of a model on a batch."""

    def __init__(self, model: Model, plan: TrainingPlan) -> None:
        self.model = model
        self.smoothing = plan.training.label_smoothing
        self.precision = "fp32"  # of linear maps, or bf16; weights are always fp32
        self.chunk_loss = chunk_loss
        self.with_auxiliary_loss: list[Any] | None = None  # known after the first forward pass, which sets it

    def compile_parts(self) -> None:
        """Compile the encoder, the decoder and the loss for dynamic shapes; embeddings are not compiled.

        The settings let a resumed training, which meets other shapes first, use the same kernels.
        """
        torch.fx.experimental._config.use_duck_shape = False
        torch._inductor.config.deterministic = True
        torch._dynamo.config.recompile_limit = 64
        self.model.encoder.compile(dynamic=True)
        self.model.decoder.compile(dynamic=True)
        self.chunk_loss = torch.compile(chunk_loss, dynamic=True)

    def __call__(self, batch: Batch) -> Loss:
        """Return the loss of a batch, without waiting for a GPU."""
        with torch.autocast(batch.source.device.type, dtype=torch.bfloat16, enabled=self.precision == "bf16"):
            states, model_loss = self.model.predict(batch.source, batch.target_inputs, batch.previous)
            loss = cross_entropy(
                states,
                self.model.output.weight,
                batch.targets,
                batch.predicted,
                smoothing=self.smoothing,
                loss_function=self.chunk_loss,
            )
        if self.with_auxiliary_loss is None:
            self.with_auxiliary_loss = [module for module in self.model.modules() if hasattr(module, "auxiliary_loss")]
        for addend in (model_loss, *(module.auxiliary_loss for module in self.with_auxiliary_loss)):
            loss = loss if addend is None else replace(loss, smoothed=loss.smoothed + addend)
        return loss


def cross_entropy(
    states: Tensor,
    weight: Tensor,
    targets: Tensor,
    predicted: Tensor | None = None,
    *,
    smoothing: float,
    loss_function: Callable[..., tuple[Tensor, Tensor, Tensor | None]] | None = None,
) -> Loss:
    """Return cross-entropy with label smoothing e: (1 - e) * nll + e / V * sum over V (Szegedy et al. 2016).

    States [B, T, D], output weight [V, D], targets [B, T]; only the positions `predicted` [N] of these B * T count, or,
    without them, those whose target is not PADDING.
    """
    states, targets = states.flatten(0, 1), targets.flatten()
    if predicted is not None:
        states, targets = states.index_select(0, predicted), targets.index_select(0, predicted)
    smoothed, likelihood = _ChunkedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        states, weight, targets, predicted is None, smoothing, torch.is_grad_enabled(), loss_function or chunk_loss
    )
    return Loss(smoothed, likelihood)


def chunk_loss(
    products: Tensor,
    labels: Tensor,
    with_padding: bool,
    units: int,
    smoothing: float,
    precision: torch.dtype,
    differentiable: bool,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Logits [N, V or more] in the precision of products, labels [N, 1] -> both losses, gradient of the logits.

    With `with_padding`, some labels are PADDING, and do not count.
    """
    logits = products[:, :units].to(precision)
    of_label, mean = logits.gather(1, labels), logits.mean(1, keepdim=True)
    largest = logits.amax(1, keepdim=True)
    exponentials = logits.sub_(largest).exp_()
    total = exponentials.sum(1, keepdim=True)
    log_total = largest + total.log()
    likelihoods = log_total - of_label
    smoothed_losses = log_total - (1 - smoothing) * of_label - smoothing * mean
    if with_padding:
        is_real = (labels != PADDING).to(precision)
        likelihoods, smoothed_losses = likelihoods * is_real, smoothed_losses * is_real
    smoothed, likelihood = smoothed_losses.sum(), likelihoods.sum()
    if not differentiable:
        return smoothed, likelihood, None
    gradient = exponentials.div_(total).sub_(smoothing / logits.size(1))
    gradient.scatter_add_(1, labels, gradient.new_full(labels.shape, smoothing - 1))
    if with_padding:
        gradient = gradient * is_real
    gradient = gradient.to(products.dtype)
    if products.size(1) > units:
        gradient = functional.pad(gradient, (0, products.size(1) - units))
    return smoothed, likelihood, gradient


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Cross-entropy that computes its gradient together with the loss, chunk by chunk."""

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        targets: Tensor,
        with_padding: bool,
        smoothing: float,
        differentiable: bool,
        loss_function: Callable[..., tuple[Tensor, Tensor, Tensor | None]],
    ) -> tuple[Tensor, Tensor]:
        device, units = states.device.type, len(weight)
        if device == "cuda" and units % VOCABULARY_ALIGNMENT:
            weight = functional.pad(weight, (0, 0, 0, VOCABULARY_ALIGNMENT - units % VOCABULARY_ALIGNMENT))
        state_gradient = torch.empty_like(states) if differentiable else None
        weight_gradient = torch.zeros_like(weight) if differentiable else None
        if torch.is_autocast_enabled(device):  # once, not for each chunk
            states, weight = (tensor.to(torch.get_autocast_dtype(device)) for tensor in (states, weight))
        precision = torch.promote_types(states.dtype, torch.float32)
        smoothed = states.new_zeros((), dtype=torch.float64)
        likelihood = states.new_zeros((), dtype=torch.float64)
        size = CPU_CHUNK_TOKENS if device == "cpu" else GPU_CHUNK_TOKENS
        for start in range(0, len(states), size):
            chunk, labels = states[start : start + size], targets[start : start + size, None]
            loss, nll, gradient = loss_function(
                chunk @ weight.T, labels, with_padding, units, smoothing, precision, differentiable
            )
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
    def backward(ctx: Any, scale: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        state_gradient, weight_gradient = ctx.saved_tensors
        return state_gradient * scale, weight_gradient * scale, *[None] * 5
