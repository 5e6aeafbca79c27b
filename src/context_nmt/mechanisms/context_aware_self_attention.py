"""Context-aware self-attention (Yang et al., AAAI 2019): queries and keys see the whole sentence and lower layers.

The paper's letters, for layer l with input X_l (normalized under pre-norm):

    Q = X_l W_Q + b_Q               K likewise; V has no context
    C_Q = c U_Q                     c is the context; U has no bias                                       eq. 5
    lambda_Q = sigmoid(Q v_H + C_Q v_C + a)         a gate per position, in (0, 1)                        eq. 6
    Q^ = (1 - lambda_Q) Q + lambda_Q C_Q            then heads, softmax and W_O as usual                  eq. 5
                                                    without gates, in our reading, Q^ = Q + C_Q

    global       c = mean of X_l over the real tokens; in a causal decoder, up to each position           eq. 8
    deep         c = [X_1; ...; X_{l-1}] at each position; layer 1 has no context and is plain            eq. 9
    deep_global  c = [c_1; ...; c_l], the means of this layer's input and of all lower layers' inputs     eq. 10
    deep_global_and_deep     the sum of both projections, as one U on the two contexts side by side
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from context_nmt.settings import Checked
from context_nmt.transformer.attention import (
    LayerContext,
    Place,
    ScaledDotProduct,
    Shows,
    linear,
    merge_heads,
    split_heads,
    with_earlier_steps,
)
from context_nmt.transformer.facts import Facts, copy_parts, plain_parameters, set_gate

SLOTS = ("encoder_self_attention", "decoder_self_attention")


@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    """The kind of context, and the projections it is mixed into."""

    # the mean of the layer's input; the inputs of lower layers; the means of all these; or the last two together
    context: Literal["global", "deep", "deep_global", "deep_global_and_deep"] = "deep_global_and_deep"
    # the projections that the context is mixed into
    mixed_into: Literal["queries_and_keys", "queries", "keys"] = "queries_and_keys"
    # one per position for all heads (eq. 6), one per head, or none
    gate: Literal["position", "head", "none"] = "position"
    gate_bias: float = 0.0  # a at the start; with -2, the context starts with a share of about 0.12, not 0.5


def build(settings: Settings, place: Place) -> "ContextAwareSelfAttention":
    """Build the attention of one layer."""
    return ContextAwareSelfAttention(settings, place)


class ContextAwareSelfAttention(nn.Module):
    """Queries [B, T, D] -> [B, T, D]; the gates in `shows` are lambda, [B, T, 1 or H, 1]."""

    def __init__(self, settings: Settings, place: Place) -> None:
        super().__init__()
        self.heads = place.heads
        self.layers_of_means = {"global": 1, "deep": 0}.get(settings.context, place.layer)
        self.with_layers_below = settings.context in ("deep", "deep_global_and_deep")
        width = (self.layers_of_means + (place.layer - 1 if self.with_layers_below else 0)) * place.width  # of c
        gates = {"position": 1, "head": place.heads, "none": 0}[settings.gate]
        self.query = Contextualised(place, width if settings.mixed_into != "keys" else 0, gates, settings.gate_bias)
        self.key = Contextualised(place, width if settings.mixed_into != "queries" else 0, gates, settings.gate_bias)
        self.value = linear(place.width, place.width, bias=place.bias)
        self.output = linear(place.width, place.width, bias=place.bias)
        self.attend = ScaledDotProduct(dropout=place.attention_dropout)
        projections = {"query": self.query, "key": self.key}
        gated = {name: f"{name}.gate" for name, projection in projections.items() if projection.gate is not None}
        self.shows = Shows(weights=("attend.weights",), gates=gated)

    def forward(self, queries: Tensor, context: LayerContext) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        contexts = self._context(context)
        heads = split_heads(self.query(queries, contexts), self.heads)
        keys = with_earlier_steps(context.state, "keys", split_heads(self.key(queries, contexts), self.heads))
        values = with_earlier_steps(context.state, "values", split_heads(self.value(queries), self.heads))
        return self.output(merge_heads(self.attend(heads, keys, values, context.mask, causal=context.causal)))

    def _context(self, context: LayerContext) -> Tensor:
        """Return the context c of each position, [B, T, C], or [B, 1, C] if it is the same for all."""
        contexts = []
        if self.layers_of_means:
            contexts.append(_mean(torch.cat(context.stack_inputs[-self.layers_of_means :], dim=-1), context))
        if self.with_layers_below:
            contexts += context.stack_inputs[:-1]
        if len(contexts) < 2:  # a single mean is projected once, not at each position
            return contexts[0] if contexts else context.stack_inputs[0]
        return torch.cat([tensor.expand(-1, context.real_tokens.size(1), -1) for tensor in contexts], dim=-1)


class Contextualised(nn.Module):
    """A projection of the input, mixed by a gate with a projection of its context, eq. 5 and 6."""

    def __init__(self, place: Place, context_width: int, gates: int, gate_bias: float) -> None:
        super().__init__()
        self.projection = linear(place.width, place.width, bias=place.bias)  # W, b
        self.gates = gates
        self.context = self.gate = None
        if context_width:
            self.context = linear(context_width, place.width, bias=False)  # U
        if context_width and gates:
            self.gate = nn.Sequential(linear(2 * place.width // gates, 1, bias=True), nn.Sigmoid())  # v_H and v_C, a
            nn.init.constant_(self.gate.get_parameter("0.bias"), gate_bias)

    def forward(self, inputs: Tensor, context: Tensor) -> Tensor:
        """Inputs [B, T, D] and their context [B, 1 or T, C] -> [B, T, D]."""
        projected = self.projection(inputs)
        if self.context is None:
            return projected
        if self.gate is None:
            return projected + self.context(context)
        heads = projected.unflatten(-1, (self.gates, -1))
        mixed = self.context(context).unflatten(-1, (self.gates, -1)).expand_as(heads)
        return torch.lerp(heads, mixed, self.gate(torch.cat([heads, mixed], dim=-1))).flatten(-2)


def _mean(states: Tensor, context: LayerContext) -> Tensor:
    """States [B, T, C] -> their mean over real tokens, [B, 1, C]; if causal, up to each position, [B, T, C]."""
    precise = states.to(torch.promote_types(states.dtype, torch.float32))  # bf16 cannot count beyond 256
    if context.state is not None:
        context.state["sum"] = precise + context.state.get("sum", 0)
        context.state["count"] = 1 + context.state.get("count", 0)
        mean = context.state["sum"] / context.state["count"]
    elif context.causal:
        count = torch.arange(1, states.size(1) + 1, device=states.device, dtype=precise.dtype)
        mean = precise.cumsum(dim=1) / count[:, None]
    else:
        real = context.real_tokens[:, :, None].to(precise.dtype)
        mean = (precise * real).sum(dim=1, keepdim=True) / real.sum(dim=1, keepdim=True)
    return mean.to(states.dtype)


def _with_closed_gates(attention: nn.Module, plain: nn.Module) -> None:
    """Close the gates: queries and keys have no context."""
    copy_parts(attention, plain, "value", "output")
    for name in ("query", "key"):
        attention.get_submodule(f"{name}.projection").load_state_dict(plain.get_submodule(name).state_dict())
        set_gate(attention.get_submodule(f"{name}.gate"), -1e4)


FACTS = Facts(
    # layer 1 has one mean: two maps U and two gates
    parameters=lambda place: plain_parameters(place) + 2 * place.width**2 + 2 * (2 * place.width + 1),
    neutral=_with_closed_gates,
    other_settings=tuple(
        {"context": context, **variation}
        for context in ("global", "deep", "deep_global", "deep_global_and_deep")
        for variation in (
            {},
            {"mixed_into": "queries"},
            {"mixed_into": "keys"},
            {"gate": "head"},
            {"gate": "none"},
            {"gate_bias": -2.0},
        )
    ),
)
