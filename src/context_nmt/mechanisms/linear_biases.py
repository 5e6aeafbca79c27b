"""Attention with linear biases, ALiBi (Press, Smith and Lewis, ICLR 2022): scores fall linearly with the distance.

    softmax(q_i K^T + m [-(i - 1), ..., -2, -1, 0])         section 3; m is a fixed slope for each head

If H is a power of 2, the slopes are 2^(-8/H), 2^(-16/H), ..., 2^-8. Otherwise they are the slopes for the next lower
power of 2, followed by every second slope for the next higher one, as in the authors' code. The paper has only a
decoder; in an encoder the distance is |i - j|, as the authors suggest. Set model.positions to none: the paper adds no
positions to the embeddings.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from context_nmt.settings import Checked
from context_nmt.transformer.attention import LayerContext, MultiHeadAttention, Place, merge_heads, split_heads
from context_nmt.transformer.facts import Facts, copy_parts, plain_parameters

SLOTS = ("encoder_self_attention", "decoder_self_attention")


@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    """No settings."""


def build(settings: Settings, place: Place) -> "BiasedAttention":
    """Build the attention of one layer."""
    return BiasedAttention(place)


def slopes(heads: int) -> list[float]:
    """Return m of each head."""
    power = 2 ** int(math.log2(heads))
    exact = [2 ** (-8 * head / power) for head in range(1, power + 1)]
    return exact if power == heads else exact + slopes(2 * power)[::2][: heads - power]


class BiasedAttention(MultiHeadAttention):
    """Queries [B, T, D] -> [B, T, D]."""

    def __init__(self, place: Place) -> None:
        super().__init__(width=place.width, heads=place.heads, bias=place.bias, dropout=place.attention_dropout)
        self.slopes: Tensor
        self.register_buffer("slopes", torch.tensor(slopes(place.heads)), persistent=False)

    def forward(self, queries: Tensor, context: LayerContext) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        keys, values = self.keys_and_values(queries, context)
        last = torch.arange(keys.size(2), device=queries.device)
        distances = (last[-queries.size(1) :, None] - last).abs()  # [T, S]
        bias = -self.slopes[:, None, None] * distances
        heads = split_heads(self.query(queries), self.heads)
        attended = self.attend(heads, keys, values, context.mask, causal=context.causal, bias=bias[None])
        return self.output(merge_heads(attended))


def _without_biases(attention: nn.Module, plain: nn.Module) -> None:
    copy_parts(attention, plain, "query", "key", "value", "output")
    attention.get_buffer("slopes").zero_()


FACTS = Facts(parameters=plain_parameters, neutral=_without_biases)
