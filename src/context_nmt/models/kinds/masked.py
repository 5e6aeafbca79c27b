"""The conditional masked language model (Ghazvininejad et al. 2019, Mask-Predict).

An extra token before the source, which the decoder does not see, predicts the length of the target, including END.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from context_nmt.corpus.vocabulary import BEGIN, PADDING
from context_nmt.models.model import Model, Predictions
from context_nmt.settings.model import ModelSettings
from context_nmt.transformer.embedding import token_table
from context_nmt.transformer.layers import Memory


def build(settings: ModelSettings, parts: dict[str, Any]) -> Model:
    """Build a model from its parts, with fresh length embeddings."""
    lengths = token_table(settings.maximum_positions, settings.width, settings.embedding_initialisation)
    embeddings = {name: parts.pop(name) for name in ("source_embedding", "target_embedding")}
    return MaskedLanguageModel(**embeddings, length_embedding=lengths, **parts)


class MaskedLanguageModel(Model):
    """p(masked target units | source, the other target units), and p(target length | source)."""

    length_embedding: nn.Embedding  # [0] comes before the source, [i] is the embedding of length i

    def predict(self, source: Tensor, target_inputs: Tensor, previous: Tensor | None) -> Predictions:
        """Predict the masked units, and the length, with a weight of 1 per sentence as in Mask-Predict."""
        memory, logits = self.encode_with_length(source)
        lengths = (target_inputs != PADDING).sum(1).clamp(max=logits.size(1) - 1)
        return self.decode(target_inputs, memory), functional.cross_entropy(logits.float(), lengths, reduction="sum")

    def encode(self, source: Tensor) -> Memory:
        """Source ids [B, S] -> memory."""
        return self.encode_with_length(source)[0]

    def encode_with_length(self, source: Tensor) -> tuple[Memory, Tensor]:
        """Source ids [B, S] -> memory, and logits [B, L] of target lengths 0, 1, …; length 0 has -inf."""
        token = self.source_embedding.dropout(self.length_embedding.weight[:1].expand(len(source), 1, -1))
        embedded = torch.cat([token, self.source_embedding(source)], dim=1)
        ids = torch.cat([torch.full_like(source[:, :1], BEGIN), source], dim=1)
        memory = self.encoder(embedded, ids != PADDING, ids)
        # in at least fp32, since close lengths would tie in bf16
        precision = torch.promote_types(memory.states[-1].dtype, torch.float32)
        lengths = memory.states[-1][:, 0].to(precision) @ self.length_embedding.weight.to(precision).T
        lengths = lengths.index_fill(1, torch.zeros(1, dtype=torch.long, device=source.device), -torch.inf)
        states = tuple(states[:, 1:] for states in memory.states)
        return Memory(states, memory.real_tokens[:, 1:], source), lengths

    def decode(self, target_inputs: Tensor, memory: Memory) -> Tensor:
        """Target ids with masks [B, T] -> decoder states [B, T, D]; every position sees all real positions."""
        real_tokens = target_inputs != PADDING
        return self.decoder(
            self.target_embedding(target_inputs),
            real_tokens=real_tokens,
            ids=target_inputs,
            mask=real_tokens[:, None, None, :],
            causal=False,
            memory=memory,
        ).states
