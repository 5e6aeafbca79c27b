"""The Dual Contextual module in place of self-attention (Ampomah et al. 2021, doi 10.1007/s10590-021-09282-0).

A gated convolution gives every position its local context. Every position attends twice: to the local contexts, and to
the positions themselves. The paper's letters, for layer input r, which under pre-norm is normalized (the paper uses
post-norm):

    conv_t = [r_{t-a}, ..., r_{t+b}] W_r + b_r      f = a + b + 1 positions, the kernel size; 2D outputs     eq. 6
    rhat_t = conv_t[:D] * sigmoid(conv_t[D:])
    l_c    = LayerNorm(dropout(rhat) + r)           the local context
    h_l    = FI_l(queries r, keys and values l_c)   feature interaction: attention without an output map     eq. 7
    h_g    = FI_g(queries, keys and values r)
    zhat   = [h_l; h_g] W_z + b_z                   the residual and norm around it are the layer's          eq. 8, 9

The window is centred; if its size is even, it extends one position further to the right (a = (f - 1) // 2). In a causal
decoder it ends at t. Of all readings, separate projections for both units without an output map come closest to the
paper's number of parameters: 12.6 million in six layers; the paper says 12.7.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from context_nmt.settings import Checked, PositiveInteger
from context_nmt.transformer.attention import (
    Dropout,
    LayerContext,
    Place,
    ScaledDotProduct,
    Shows,
    State,
    linear,
    merge_heads,
    split_heads,
    with_earlier_steps,
)
from context_nmt.transformer.facts import Facts, copy_parts

SLOTS = ("encoder_self_attention", "decoder_self_attention")


@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    """The window of the local context."""

    kernel_size: PositiveInteger = 2  # f, the number of positions in a window, including the position itself


def build(settings: Settings, place: Place) -> "DualContext":
    """Build the module of one layer."""
    return DualContext(settings.kernel_size, place)


class DualContext(nn.Module):
    """Queries [B, T, D] -> [B, T, D]."""

    shows = Shows(weights=("local_interaction.attend.weights", "global_interaction.attend.weights"))

    def __init__(self, kernel_size: int, place: Place) -> None:
        super().__init__()
        self.local_context = LocalContext(kernel_size, place)
        self.local_interaction = FeatureInteraction(place)
        self.global_interaction = FeatureInteraction(place)
        self.output = linear(2 * place.width, place.width, bias=True)  # W_z, b_z

    def forward(self, queries: Tensor, context: LayerContext) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        state = context.state
        unit_states: tuple[State | None, State | None] = (None, None)
        if state is not None:
            unit_states = state.setdefault("local", {}), state.setdefault("global", {})
        local = self.local_context(queries, context)
        h_l = self.local_interaction(queries, local, context, unit_states[0])
        h_g = self.global_interaction(queries, queries, context, unit_states[1])
        return self.output(torch.cat([h_l, h_g], dim=-1))


class LocalContext(nn.Module):
    """A gated convolution with a residual and a norm, eq. 6."""

    def __init__(self, kernel_size: int, place: Place) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.convolution = linear(kernel_size * place.width, 2 * place.width, bias=True)  # W_r, b_r
        self.dropout = Dropout(place.dropout)
        self.norm = nn.LayerNorm(place.width, eps=place.layer_norm_epsilon)

    def forward(self, inputs: Tensor, context: LayerContext) -> Tensor:
        """Inputs r [B, T, D] -> l_c [B, T, D]; the convolution sees 0 at padding."""
        length, left = inputs.size(1), self.kernel_size - 1
        if not context.causal:
            left //= 2
        real = inputs * context.real_tokens[:, :, None]
        if context.state is None:
            padded = functional.pad(real, (0, 0, left, self.kernel_size - 1 - left))
        else:
            padded = self._prepend_earlier(real, context.state)
        windows = torch.cat([padded[:, shift : shift + length] for shift in range(self.kernel_size)], dim=-1)
        rhat = functional.glu(self.convolution(windows), dim=-1)
        return self.norm(inputs + self.dropout(rhat))

    def _prepend_earlier(self, inputs: Tensor, state: State) -> Tensor:
        """Return the inputs of the last f - 1 steps and of this step, [B, f, D]."""
        earlier = state.get("inputs")
        if earlier is None:
            earlier = inputs.new_zeros(len(inputs), self.kernel_size - 1, inputs.size(-1))
        padded = torch.cat([earlier, inputs], dim=1)
        state["inputs"] = padded[:, 1:]
        return padded


class FeatureInteraction(nn.Module):
    """Multi-head attention without an output map, eq. 7."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.heads = place.heads
        self.query, self.key, self.value = (linear(place.width, place.width, bias=place.bias) for _ in range(3))
        self.attend = ScaledDotProduct(dropout=place.attention_dropout)

    def forward(self, queries: Tensor, memory: Tensor, context: LayerContext, state: State | None) -> Tensor:
        """Queries and memory [B, T, D] -> [B, T, D]; a decoding step appends its keys and values to the state."""
        heads, keys, values = (
            split_heads(mapped, self.heads) for mapped in (self.query(queries), self.key(memory), self.value(memory))
        )
        keys, values = with_earlier_steps(state, "keys", keys), with_earlier_steps(state, "values", values)
        return merge_heads(self.attend(heads, keys, values, context.mask, causal=context.causal))


def _parameters(place: Place) -> int:
    """W_r and b_r for a window of 3, six square matrices, W_z, b_z and a norm."""
    square, width = place.width**2, place.width
    return 3 * 2 * square + 2 * width + 6 * square + (6 * width if place.bias else 0) + 2 * square + width + 2 * width


@torch.no_grad()
def _without_the_local_unit(module: nn.Module, plain: nn.Module) -> None:
    """Let W_z see only the global unit, as the plain output map does."""
    copy_parts(module.get_submodule("global_interaction"), plain, "query", "key", "value")
    weight = module.get_parameter("output.weight")
    weight.copy_(torch.cat([torch.zeros_like(weight[:, ::2]), plain.get_parameter("output.weight")], dim=1))
    module.get_parameter("output.bias").copy_(plain.get_parameter("output.bias"))


FACTS = Facts(
    settings={"kernel_size": 3},
    parameters=_parameters,
    neutral=_without_the_local_unit,
    other_settings=tuple({"kernel_size": size} for size in (1, 2, 4, 5, 8)),
    refused=(({"kernel_size": 0}, "kernel_size: "),),
    dropping=frozenset({"dropout", "attention_dropout"}),
)
