"""Root mean square layer normalization (Zhang and Sennrich, NeurIPS 2019).

RMS(x) = sqrt(mean(x^2) + epsilon)          y = x / RMS(x) * g                  eq. 4; epsilon is the authors' code's
"""

from dataclasses import dataclass

from torch import nn

from context_nmt.settings import Checked
from context_nmt.transformer.attention import Place
from context_nmt.transformer.facts import Facts

SLOTS = ("norm",)


@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    """No settings: epsilon is model.layer_norm_epsilon."""


def build(settings: Settings, place: Place) -> nn.RMSNorm:
    """Build a norm, [B, T, D] -> [B, T, D]."""
    return nn.RMSNorm(place.width, eps=place.layer_norm_epsilon)


FACTS = Facts(parameters=lambda place: place.width, dropping=frozenset())
