"""Facts that a mechanism declares about itself, which tests/contract.py checks."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from context_nmt.transformer.attention import Place


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The value of FACTS in a mechanism's file."""

    parameters: Callable[[Place], int] | None = None  # the paper's count for one layer with `settings`
    settings: dict[str, Any] = field(default_factory=dict)  # settings for which these facts hold
    # sets all weights of the first module, so that it equals the second
    neutral: Callable[[nn.Module, nn.Module], None] | None = None
    equals: Callable[[Place], nn.Module] | None = None  # builds this second module; None = the slot's plain mechanism
    other_settings: tuple[dict[str, Any], ...] = ()  # further settings to test against the contract
    refused: tuple[tuple[dict[str, Any], str], ...] = ()  # invalid settings, each with a part of its error message
    dropping: frozenset[str] = frozenset({"attention_dropout"})  # the dropout probabilities of `Place` that it applies
    # floating-point operations other than matrix products, such as scans and Fourier transforms, of one forward and
    # backward pass of one layer over a sentence with this number of units, which is 25 in models/counting.py
    further_flops: Callable[[Place, int], int] | None = None


def plain_parameters(place: Place) -> int:
    """Return the number of parameters of plain attention: four square matrices, with or without biases."""
    return 4 * place.width**2 + (4 * place.width if place.bias else 0)


def copy_parts(module: nn.Module, plain: nn.Module, *names: str) -> None:
    """Copy the weights of the named submodules of `plain` into those of `module`."""
    for name in names:
        module.get_submodule(name).load_state_dict(plain.get_submodule(name).state_dict())


@torch.no_grad()
def set_gate(gate: nn.Module, logit: float) -> None:
    """Set a gate, a linear map followed by a sigmoid, to sigmoid(logit) for any input."""
    gate.get_parameter("0.weight").zero_()
    gate.get_parameter("0.bias").fill_(logit)
