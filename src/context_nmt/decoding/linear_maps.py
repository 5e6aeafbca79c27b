"""Faster linear maps for decoding: weights are converted once, for many small products."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from context_nmt.models.devices import Precision, resolve_precision

Module = TypeVar("Module", bound=nn.Module)

LAYOUT_ROWS = 64  # oneDNN chooses a layout for products with this number of rows
OUTPUT_ALIGNMENT = 8  # unless the number of outputs is a multiple, cuBLAS is several times slower in bf16


@contextmanager
def prepared_weights(model: nn.Module, precision: Precision) -> Iterator[None]:
    """Inside the block, apply linear maps in this precision and, on a CPU, in oneDNN's layout; gradients must be off.

    With 60 rows, the layout speeds up products in fp32 from 73 to 100 GFLOP/s per core. Attention, norms and sums stay
    in fp32: for a single query, PyTorch's attention in bf16 takes four times as long on a CPU.
    """
    maps = [module for module in model.modules() if type(module) is nn.Linear]
    for module in maps:
        module.forward = _forward(module, precision)  # type: ignore[assignment] # hooks and weights stay
    try:
        yield
    finally:
        for module in maps:
            del module.forward  # uncovers the class's forward


def in_bf16(model: Module) -> Module:
    """Return a copy of a model in bf16, for a GPU: all operations in bf16 are faster there than linear maps alone."""
    copy = deepcopy(model).bfloat16()
    for module in copy.modules():
        if type(module) is nn.Linear and module.out_features % OUTPUT_ALIGNMENT:
            module.forward = _aligned_forward(module)  # type: ignore[assignment]
    return copy


def _aligned_forward(module: nn.Linear) -> Callable[[Tensor], Tensor]:
    outputs, added = module.out_features, -module.out_features % OUTPUT_ALIGNMENT
    weight = functional.pad(module.weight.detach(), (0, 0, 0, added))
    bias = None if module.bias is None else functional.pad(module.bias.detach(), (0, added))
    return lambda states: functional.linear(states, weight, bias)[..., :outputs]


def _forward(module: nn.Linear, precision: Precision) -> Callable[[Tensor], Tensor]:
    dtype = torch.bfloat16 if resolve_precision(precision, module.weight.device) == "bf16" else module.weight.dtype
    weight = module.weight.detach().to(dtype)
    bias = None if module.bias is None else module.bias.detach().to(dtype)
    if not _has_layout(weight):
        return lambda states: functional.linear(states.to(dtype), weight, bias).to(states.dtype)
    multiply = torch.ops.mkldnn._linear_pointwise
    reordered = torch.ops.mkldnn._reorder_linear_weight(weight, LAYOUT_ROWS)
    return lambda states: multiply(states.to(dtype), reordered, bias, "none", [], "").to(states.dtype)


def _has_layout(weight: Tensor) -> bool:
    """Return whether oneDNN has a layout for these weights; torch.compile uses the same operators."""
    if weight.device.type != "cpu" or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return False
    if weight.dtype == torch.bfloat16:
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    return weight.dtype == torch.float32
