"""Rotary position embedding (Su et al. 2021, "RoFormer"): queries and keys are rotated by their positions.

    q_m = R_m W_q x_m                   k_n = R_n W_k x_n                               eq. 16
    R_m rotates the pair of dimensions (2i, 2i + 1) of a head by the angle m theta_i    eq. 15
    theta_i = 10000^(-2i / d)           d is the width of a head                        section 3.2.2

so that q_m . k_n depends only on m - n. As in most later code, the pairs are (i, i + d / 2), which only renames the
dimensions. Set model.positions to none: the paper adds no positions to the embeddings.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from context_nmt.files import UserError
from context_nmt.settings import Checked, PositiveNumber
from context_nmt.transformer.attention import (
    LayerContext,
    MultiHeadAttention,
    Place,
    merge_heads,
    split_heads,
    with_earlier_steps,
)
from context_nmt.transformer.facts import Facts, plain_parameters

SLOTS = ("encoder_self_attention", "decoder_self_attention")


@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    """The slowest rotation."""

    base: PositiveNumber = 10000.0  # of the angles: the last pair turns by about 1 / base per position


def build(settings: Settings, place: Place) -> "RotaryAttention":
    """Build the attention of one layer; raise UserError for heads of an odd width."""
    if (place.width // place.heads) % 2:
        raise UserError(f"rotary_positions needs heads of an even width, not {place.width // place.heads}")
    return RotaryAttention(settings, place)


class RotaryAttention(MultiHeadAttention):
    """Queries [B, T, D] -> [B, T, D]."""

    def __init__(self, settings: Settings, place: Place) -> None:
        super().__init__(width=place.width, heads=place.heads, bias=place.bias, dropout=place.attention_dropout)
        self.base = settings.base

    def forward(self, queries: Tensor, context: LayerContext) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        first = context.state["keys"].size(2) if context.state else 0  # position of the first query
        rotation = _rotation(first, queries.size(1), queries.size(2) // self.heads, self.base, queries)
        heads, keys = (
            _rotated(split_heads(projection(queries), self.heads), rotation) for projection in (self.query, self.key)
        )
        keys = with_earlier_steps(context.state, "keys", keys)
        values = with_earlier_steps(context.state, "values", split_heads(self.value(queries), self.heads))
        return self.output(merge_heads(self.attend(heads, keys, values, context.mask, causal=context.causal)))


def _rotation(first: int, length: int, size: int, base: float, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return cosine and sine [T, D/H/2] of the angles of `length` positions from `first`, in at least fp32."""
    precision = torch.promote_types(like.dtype, torch.float32)
    frequencies = base ** (-torch.arange(0, size, 2, device=like.device, dtype=precision) / size)  # theta
    angles = torch.arange(first, first + length, device=like.device, dtype=precision)[:, None] * frequencies
    return angles.cos(), angles.sin()


def _rotated(heads: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    """Rotate [B, H, T, D/H]."""
    cosine, sine = rotation
    first, second = heads.to(cosine.dtype).chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1).to(heads.dtype)


FACTS = Facts(parameters=plain_parameters, refused=(({"base": 0}, "base: "),))
