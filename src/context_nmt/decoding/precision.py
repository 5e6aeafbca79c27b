"""Linear maps in bf16, which some processors multiply faster; all else stays as it is."""

import copy
from typing import Literal, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

Model = TypeVar("Model", bound=nn.Module)


class Bf16Linear(nn.Module):
    """A linear map with weights and products in bf16; what goes in and out keeps its type."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight = linear.weight.detach().to(torch.bfloat16)
        self.bias = None if linear.bias is None else linear.bias.detach().to(torch.bfloat16)

    def forward(self, states: Tensor) -> Tensor:
        """[..., inputs] -> [..., outputs]."""
        return functional.linear(states.to(torch.bfloat16), self.weight, self.bias).to(states.dtype)


def in_precision(model: Model, precision: Literal["fp32", "bf16"]) -> Model:
    """Return the model itself, or with bf16 a copy whose linear maps are converted.

    Attention, norms and sums stay in fp32: with one query per sentence, PyTorch's attention takes four times as long in
    bf16 on a CPU.
    """
    if precision == "fp32":
        return model
    model = copy.deepcopy(model)
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.Linear):
                setattr(module, name, Bf16Linear(child))
    return model
