"""Context-aware cross-attention (Ding et al., COLING 2020): every head also attends locally, around its aligned word.

The paper's letters, for a query q of a head and source positions j with scores psi_j = q k_j / sqrt(d_k):

    j*   = argmax_j psi_j                           the word that the head aligns the query to
    loc  = psi where |j - j*| <= window, else -inf  at most 2 window + 1 words                                  eq. 1
    g    = sigmoid(w q / sqrt(d_k) + c)             a gate per head and query; all heads of a layer share w and c
    a    = g softmax(psi) + (1 - g) softmax(loc)    then dropout, values, heads side by side and W_O            eq. 2

Eq. 1 has the target position i in place of j*, as with `center: target`; the text and the authors' code use j*.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from context_nmt.settings import Checked, NonNegativeInteger
from context_nmt.transformer.attention import (
    LayerContext,
    MultiHeadAttention,
    Place,
    Shows,
    linear,
    merge_heads,
    split_heads,
)
from context_nmt.transformer.facts import Facts, copy_parts, plain_parameters, set_gate

SLOTS = ("cross_attention",)


@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    """The words that local attention sees."""

    window: NonNegativeInteger = 9  # positions on each side of the centre
    # the centre: the source word with each head's largest weight, or the target position (eq. 1)
    center: Literal["alignment", "target"] = "alignment"


def build(settings: Settings, place: Place) -> "ContextAwareCrossAttention":
    """Build the attention of one layer."""
    return ContextAwareCrossAttention(settings, place)


class ContextAwareCrossAttention(MultiHeadAttention):
    """Queries [B, T, D] -> [B, T, D]; `shows` has the weights a and the gate g."""

    shows = Shows(weights=("attend.weights",), global_share="gate")

    def __init__(self, settings: Settings, place: Place) -> None:
        super().__init__(
            width=place.width,
            heads=place.heads,
            bias=place.bias,
            dropout=place.attention_dropout,
            independent_queries=settings.center == "alignment",
        )
        self.window, self.center = settings.window, settings.center
        gate = linear(place.width // place.heads, 1, bias=True)  # w, c
        nn.init.normal_(gate.weight, std=0.02)
        self.gate = nn.Sequential(gate, nn.Sigmoid())

    def forward(self, queries: Tensor, context: LayerContext) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        keys, values = self._over_memory(context)
        heads = split_heads(self.query(queries), self.heads)
        with torch.autocast("cuda" if queries.is_cuda else "cpu", enabled=False):  # rounding would move the windows
            precision = torch.promote_types(heads.dtype, torch.float32)
            weights = self._weights(heads.to(precision), keys.to(precision), context)
        weights = functional.dropout(weights, self.attend.dropout, self.training)
        return self.output(merge_heads(weights.to(values.dtype) @ values))

    def _weights(self, heads: Tensor, keys: Tensor, context: LayerContext) -> Tensor:
        """Queries [B, H, T, D/H] and keys [B, H, S, D/H] -> a [B, H, T, S]."""
        heads = heads / math.sqrt(heads.size(-1))
        psi = (heads @ keys.transpose(-2, -1)).masked_fill(~context.mask, -math.inf)
        # on a GPU, the gate's weights may be in bf16
        gate = self.gate(heads.to(next(self.gate.parameters()).dtype)).to(heads.dtype)
        local = psi.masked_fill(~self._near(psi, context), -math.inf).softmax(-1)
        return self.attend.weights(gate * psi.softmax(-1) + (1 - gate) * local)

    def _near(self, psi: Tensor, context: LayerContext) -> Tensor:
        """Return a mask of the source positions at most `window` from the centre, [B, H or 1, T, S]."""
        positions = torch.arange(psi.size(-1), device=psi.device)
        if self.center == "alignment":
            center = psi.argmax(-1, keepdim=True)
        else:  # past the end of a shorter source, its end
            first = _steps_before(context)
            rows = torch.arange(first, first + psi.size(-2), device=psi.device)[:, None]
            center = rows.minimum(context.mask.sum(-1, keepdim=True) - 1)
        return (positions - center).abs() <= self.window


def _steps_before(context: LayerContext) -> int:
    """Return the number of earlier decoding steps."""
    if context.state is None:
        return 0
    context.state["position"] = 1 + context.state.get("position", -1)
    return int(context.state["position"])


def _with_the_global_gate(attention: nn.Module, plain: nn.Module) -> None:
    """Open the gate: only global attention remains."""
    copy_parts(attention, plain, "query", "key", "value", "output")
    set_gate(attention.get_submodule("gate"), 1e4)


FACTS = Facts(
    settings={"window": 1},
    parameters=lambda place: plain_parameters(place) + place.width // place.heads + 1,
    neutral=_with_the_global_gate,
    other_settings=tuple(
        {"window": window, "center": center} for window in (0, 2) for center in ("alignment", "target")
    ),
    refused=(({"window": -1}, "window: "),),
)
