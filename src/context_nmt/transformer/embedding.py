"""Token embeddings with positions."""

import math
from typing import Literal

import torch
from torch import Tensor, nn

from context_nmt.files import UserError
from context_nmt.transformer.attention import Dropout


def sinusoids(first: int, length: int, width: int, device: torch.device) -> Tensor:
    """Return signals [T, D] for `length` positions from `first`, sines in the first half, cosines in the second.

    Vaswani et al. (2017), section 3.5. They interleave sines and cosines, which only renames the dimensions.
    tensor2tensor and code based on it divide exponents by D/2 - 1, where the formula has D/2.
    """
    positions = torch.arange(first, first + length, device=device, dtype=torch.float32)
    frequencies = torch.exp(torch.arange(0, width, 2, device=device) * (-math.log(10000.0) / width))
    angles = positions[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class Embedding(nn.Module):
    """Token ids [B, T] -> dropout(embedding (times sqrt(D)) (+ bias) + position) [B, T, D]."""

    def __init__(
        self,
        table: nn.Embedding,
        *,
        positions: nn.Embedding | None,
        sinusoidal: bool,
        scale: bool,
        dropout: float,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.table = table
        self.positions = positions  # learned
        self.sinusoidal = sinusoidal
        self.bias = nn.Parameter(torch.zeros(table.embedding_dim)) if bias else None
        self.scale = math.sqrt(table.embedding_dim) if scale else 1.0
        self.dropout = Dropout(dropout)

    def forward(self, ids: Tensor, first_position: int = 0) -> Tensor:
        """Embed ids [B, T] at positions from `first_position`; raise UserError if there are fewer learned positions."""
        embedded = self.table(ids) * self.scale
        if self.bias is not None:
            embedded = embedded + self.bias
        if self.sinusoidal or self.positions is not None:
            embedded = embedded + self._positions(first_position, ids.size(1), embedded)
        return self.dropout(embedded)

    def _positions(self, first: int, length: int, like: Tensor) -> Tensor:
        if self.positions is None:
            return sinusoids(first, length, self.table.embedding_dim, like.device).to(like.dtype)
        if first + length > self.positions.num_embeddings:
            raise UserError(
                f"a sentence has {first + length} units, model.maximum_positions is {self.positions.num_embeddings}"
            )
        return self.positions.weight[first : first + length]


def token_table(vocabulary: int, width: int, kind: Literal["normal", "glorot", "bert"] = "normal") -> nn.Embedding:
    """Return a table [V, D] with entries from N(0, 1/D), Glorot-uniform, or from N(0, 0.02) as in BERT."""
    table = nn.Embedding(vocabulary, width)
    if kind == "glorot":
        nn.init.xavier_uniform_(table.weight)
    else:
        nn.init.normal_(table.weight, std=0.02 if kind == "bert" else width**-0.5)
    return table
