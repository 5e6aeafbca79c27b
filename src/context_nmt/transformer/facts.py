"""What a mechanism says of itself that its code does not show: tests hold it to that, in tests/contract.py."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from context_nmt.transformer.attention import Place


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The variable FACTS of a mechanism's file."""

    parameters: Callable[[Place], int] | None = None  # of one layer by the paper's count, with `settings`
    settings: dict[str, Any] = field(default_factory=dict)  # those under which the facts hold
    neutral: Callable[[nn.Module, nn.Module], None] | None = None  # gives the first weights that make it the second:
    equals: Callable[[Place], nn.Module] | None = None  # what it then equals; None = the plain mechanism of its slot
    other_settings: tuple[dict[str, Any], ...] = ()  # further ones, under which it must keep the contract
    refused: tuple[tuple[dict[str, Any], str], ...] = ()  # wrong settings, and what the message about them says
    dropping: frozenset[str] = frozenset({"attention_dropout"})  # the probabilities of `Place` that act inside it
    # floating-point operations of one forward and backward pass of one layer over a sentence of so many units that are
    # no matrix products, such as scans and Fourier transforms
    further_flops: Callable[[Place, int], int] | None = None


def plain_parameters(place: Place) -> int:
    """Return the parameters of the plain attention: four square matrices, with or without biases."""
    return 4 * place.width**2 + (4 * place.width if place.bias else 0)


def copy_parts(module: nn.Module, plain: nn.Module, *names: str) -> None:
    """Copy the weights of submodules of the same name."""
    for name in names:
        module.get_submodule(name).load_state_dict(plain.get_submodule(name).state_dict())


@torch.no_grad()
def set_gate(gate: nn.Module, logit: float) -> None:
    """Fix a gate, a linear map followed by a sigmoid."""
    gate.get_parameter("0.weight").zero_()
    gate.get_parameter("0.bias").fill_(logit)
