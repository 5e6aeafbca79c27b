"""Lexical shortcuts (Emelin, Titov and Sennrich, WMT 2019): keys and values see the embeddings through a gate.

The paper's letters, with the embeddings E (including positions and dropout) and the input H of the layer:

    K_sc = E W_K^sc                 K = H W_K               the same for V                          eq. 5 to 8
    r_K  = sigmoid(K_sc + K + b_K)                          a gate for each element                 eq. 9, 10
    K'   = r_K * K_sc + (1 - r_K) * K                       then heads, softmax and W_O as usual    eq. 11, 12

With feature fusion, [K_sc; K] = [E; H] W_K, one map of 2D to 2D, eq. 13 and 14.

H is not normalized, as in eq. 7 and 8 and in the authors' code: under pre-norm, only the queries are. In
cross-attention, E and H are the source embeddings and the encoder's output, which under pre-norm is normalized.
Non-lexical shortcuts replace E by the output of layer l - 2, or by the embeddings up to layer 2; in cross-attention, by
the output of the encoder's last layer but one. With `official_residual`, as in the authors' code, the output is added
to the normalized H; every other sublayer adds to H itself.
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from context_nmt.settings import Checked
from context_nmt.transformer.attention import (
    LayerContext,
    MultiHeadAttention,
    Place,
    ScaledDotProduct,
    Shows,
    linear,
    merge_heads,
    split_heads,
    with_earlier_steps,
)
from context_nmt.transformer.facts import Facts, copy_parts

SLOTS = ("encoder_self_attention", "decoder_self_attention", "cross_attention")


@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    """The kind of shortcut and its projection."""

    feature_fusion: bool = False  # one projection for embeddings and states together (eq. 13, 14)
    lexical: bool = True  # shortcuts from the embeddings; false: from two layers below
    gates: bool = True  # false: K' = K_sc + K, our reading of the paper, which says that training then fails
    official_residual: bool = False  # add to the normalized input, as in the authors' code; not in the paper
    normalized_states: bool = False  # in self-attention under pre-norm, H is normalized; not in the paper


def build(settings: Settings, place: Place) -> "LexicalShortcuts":
    """Build the attention of one layer."""
    return LexicalShortcuts(settings, place)


class LexicalShortcuts(nn.Module):
    """Queries [B, T, D] -> [B, T, D]; the gates in `shows` are r_K and r_V, [B, S, D]."""

    independent_queries = True

    def __init__(self, settings: Settings, place: Place) -> None:
        super().__init__()
        gates = {"key": "key.mixed.gate", "value": "value.mixed.gate"} if settings.gates else {}
        self.shows = Shows(weights=("attend.weights",), gates=gates)
        self.heads = place.heads
        self.lexical, self.normalized_states, self.layer = settings.lexical, settings.normalized_states, place.layer
        self.residual_of_queries = settings.official_residual
        projections = FusedProjection if settings.feature_fusion else SeparateProjections
        self.query = linear(place.width, place.width, bias=place.bias)
        self.key, self.value = (projections(place, settings.gates) for _ in range(2))
        self.output = linear(place.width, place.width, bias=place.bias)
        self.attend = ScaledDotProduct(dropout=place.attention_dropout)

    def forward(self, queries: Tensor, context: LayerContext) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        keys, values = self._over_memory(context) if context.memory_states else self._over_self(queries, context)
        heads = split_heads(self.query(queries), self.heads)
        return self.output(merge_heads(self.attend(heads, keys, values, context.mask, causal=context.causal)))

    def _over_self(self, queries: Tensor, context: LayerContext) -> tuple[Tensor, Tensor]:
        shortcut = context.stack_states[0 if self.lexical else max(self.layer - 2, 0)]
        keys, values = self._gated(shortcut, queries if self.normalized_states else context.stack_states[-1])
        return with_earlier_steps(context.state, "keys", keys), with_earlier_steps(context.state, "values", values)

    def _over_memory(self, context: LayerContext) -> tuple[Tensor, Tensor]:
        state = {} if context.state is None else context.state
        if "keys" not in state:
            memory = context.memory_states
            state["keys"], state["values"] = self._gated(memory[0 if self.lexical else -2], memory[-1])
        return state["keys"], state["values"]

    def _gated(self, shortcut: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        keys, values = self.key(shortcut, states), self.value(shortcut, states)
        return split_heads(keys, self.heads), split_heads(values, self.heads)


class Gate(nn.Module):
    """Mix two projections element by element, eq. 9 to 12."""

    def __init__(self, width: int) -> None:
        super().__init__()
        limit = math.sqrt(3 / width)  # Glorot-uniform for a vector, as in the authors' code
        self.bias = nn.Parameter(torch.empty(width).uniform_(-limit, limit))  # b
        self.gate = nn.Sigmoid()

    def forward(self, shortcut: Tensor, projected: Tensor) -> Tensor:
        """K_sc and K [B, S, D] -> K' [B, S, D]."""
        gate = self.gate(shortcut + projected + self.bias.to(projected.dtype))
        return torch.lerp(projected, shortcut, gate)


class Sum(nn.Module):
    """Add two projections, in place of a gate."""

    def forward(self, shortcut: Tensor, projected: Tensor) -> Tensor:
        """K_sc and K [B, S, D] -> K' [B, S, D]."""
        return shortcut + projected


class SeparateProjections(nn.Module):
    """Separate projections of E and H, eq. 5 to 8."""

    def __init__(self, place: Place, gates: bool) -> None:
        super().__init__()
        self.shortcut = linear(place.width, place.width, bias=place.bias)  # W^sc
        self.projection = linear(place.width, place.width, bias=place.bias)  # W
        self.mixed = Gate(place.width) if gates else Sum()

    def forward(self, shortcut: Tensor, states: Tensor) -> Tensor:
        """E and H [B, S, D] -> [B, S, D]."""
        return self.mixed(self.shortcut(shortcut), self.projection(states))


class FusedProjection(nn.Module):
    """One projection of E and H together, eq. 13 and 14."""

    def __init__(self, place: Place, gates: bool) -> None:
        super().__init__()
        self.projection = linear(2 * place.width, 2 * place.width, bias=place.bias)
        self.mixed = Gate(place.width) if gates else Sum()

    def forward(self, shortcut: Tensor, states: Tensor) -> Tensor:
        """E and H [B, S, D] -> [B, S, D]."""
        return self.mixed(*self.projection(torch.cat([shortcut, states], dim=-1)).chunk(2, dim=-1))


class _AttentionToRawInput(MultiHeadAttention):
    """Plain attention with keys and values of H, which is not normalized."""

    def forward(self, queries: Tensor, context: LayerContext) -> Tensor:
        states = context.memory_states or context.stack_states
        return super().forward(queries, replace(context, memory_states=states[-1:]))


def _parameters(place: Place) -> int:
    """Plain query and output maps; with feature fusion, two maps of twice the width and a vector per gate."""
    width = place.width
    biases = 2 * width + 2 * 2 * width if place.bias else 0
    return 2 * width**2 + 2 * (2 * width) ** 2 + 2 * width + biases


@torch.no_grad()
def _without_shortcuts(module: nn.Module, plain: nn.Module) -> None:
    """Close the gates, and let the second half of each fused map see only H."""
    copy_parts(module, plain, "query", "output")
    for name in ("key", "value"):
        module.get_parameter(f"{name}.mixed.bias").fill_(-1e4)
        weight, width = plain.get_parameter(f"{name}.weight"), len(plain.get_parameter(f"{name}.weight"))
        fused = module.get_submodule(f"{name}.projection")
        fused.get_parameter("weight")[width:] = torch.cat([torch.zeros_like(weight), weight], dim=1)
        fused.get_parameter("bias")[width:] = plain.get_parameter(f"{name}.bias")


FACTS = Facts(
    settings={"feature_fusion": True},
    parameters=_parameters,
    neutral=_without_shortcuts,
    equals=lambda place: _AttentionToRawInput(width=place.width, heads=place.heads, bias=place.bias, dropout=0.0),
    other_settings=(
        {},
        {"lexical": False},
        {"lexical": False, "feature_fusion": True},
        {"gates": False},
        {"normalized_states": True},
    ),
)
