"""A small training loop around torch.nn.Transformer, as one would write it."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from context_nmt.corpus.vocabulary import PADDING
from context_nmt.settings.model import ModelSettings
from context_nmt.settings.training import TrainingSettings
from context_nmt.training.batches import Batch

LONGEST = 512


class TorchTransformer(nn.Module):
    """Embeddings and sinusoids around torch.nn.Transformer; the output is tied to the embeddings."""

    def __init__(self, settings: ModelSettings, vocabulary: int) -> None:
        super().__init__()
        width = settings.width
        self.scale = math.sqrt(width)
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=PADDING)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        angles = torch.arange(LONGEST)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        self.register_buffer("positions", torch.cat([angles.sin(), angles.cos()], dim=1))
        self.dropout = nn.Dropout(settings.embedding_dropout)
        self.transformer = nn.Transformer(
            width,
            settings.heads,
            settings.encoder_layers,
            settings.decoder_layers,
            settings.feed_forward_width,
            dropout=settings.dropout,
            batch_first=True,
            norm_first=True,
        )

    def forward(self, source: Tensor, target_inputs: Tensor) -> Tensor:
        """Source ids [B, S], target ids shifted right [B, T] -> logits [B, T, V]."""
        padding = source == PADDING
        length = target_inputs.size(1)
        states = self.transformer(
            self.embed(source),
            self.embed(target_inputs),
            tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_key_padding_mask=target_inputs == PADDING,
            tgt_is_causal=True,
        )
        return functional.linear(states, self.embedding.weight)

    def embed(self, ids: Tensor) -> Tensor:
        """Ids [B, T] -> [B, T, D]."""
        positions: Tensor = self.positions[: ids.size(1)]  # type: ignore[index]
        return self.dropout(self.embedding(ids) * self.scale + positions)


def without_inner_dropout(model: TorchTransformer) -> TorchTransformer:
    """Take out the dropout of attention weights and of the feed-forward's hidden layer."""
    for module in model.modules():
        if isinstance(module, nn.MultiheadAttention):
            module.dropout = 0.0
        elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
            module.dropout = nn.Dropout(0.0)
    return model


def adam(model: nn.Module, settings: TrainingSettings) -> torch.optim.Adam:
    """Adam as it comes, with the recipe's settings."""
    betas = settings.adam_beta1, settings.adam_beta2
    return torch.optim.Adam(model.parameters(), betas=betas, eps=settings.adam_epsilon)


def update(
    model: TorchTransformer, optimizer: torch.optim.Adam, batch: Batch, *, rate: float, smoothing: float, bf16: bool
) -> Tensor:
    """One update; returns the loss, the mean over target units."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        logits = model(batch.source, batch.target_inputs)
        loss = functional.cross_entropy(
            logits.flatten(0, 1), batch.targets.flatten(), ignore_index=PADDING, label_smoothing=smoothing
        )
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return loss.detach()
