"""The plain norm (Ba et al. 2016): (x - mean) / sqrt(variance + epsilon) * a + b over the width."""

from dataclasses import dataclass

from torch import nn

from context_nmt.settings import Checked
from context_nmt.transformer.attention import Place
from context_nmt.transformer.facts import Facts

SLOTS = ("norm",)


@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    """No settings: epsilon is model.layer_norm_epsilon."""


def build(settings: Settings, place: Place) -> nn.LayerNorm:
    """Build a norm, [B, T, D] -> [B, T, D]."""
    return nn.LayerNorm(place.width, eps=place.layer_norm_epsilon)


FACTS = Facts(parameters=lambda place: 2 * place.width, dropping=frozenset())
