"""Training updates of this project and of a small loop around torch.nn.Transformer, on the same batches."""

import dataclasses
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.models import batches, plan_of
from benchmarks.rounds import Work
from benchmarks.setting import corpus
from context_nmt.corpus.vocabulary import PADDING
from context_nmt.models.building import build
from context_nmt.settings.model import ModelSettings
from context_nmt.training.updating import Updater, learning_rate

Precision = Literal["fp32", "bf16"]

WARM_UP = 3  # updates before the first round
LONGEST = 512  # units of a sentence that torch.nn.Transformer has positions for


def fresh_updater(variant: str, precision: Precision) -> Updater:
    """Return this project's trainer of a variant of benchmarks/params.yaml, before its first update."""
    plan = plan_of(variant)
    plan = dataclasses.replace(plan, training=dataclasses.replace(plan.training, precision=precision))
    sizes = len(corpus().source_vocabulary), len(corpus().target_vocabulary)
    torch.manual_seed(1)
    return Updater(plan, build(plan.model, source_vocabulary=sizes[0], target_vocabulary=sizes[1]), seed=1)


@contextmanager
def ours(
    variant: str, precision: Precision, updates: int, count: Literal["tokens", "updates"] = "tokens"
) -> Iterator[Work]:
    """Yield rounds of `updates` updates by this project's trainer; each counts its target tokens or its updates."""
    updater = fresh_updater(variant, precision)
    training_batches = batches(updater.plan.training.batch_tokens, updates)

    def work() -> tuple[float, float]:
        tokens, loss = 0, torch.zeros(())
        for number, batch in enumerate(training_batches, start=1):
            totals = updater.update(number, [batch])
            tokens, loss = tokens + totals.tokens, loss + totals.losses[0]
        return (tokens if count == "tokens" else updates), float(loss / tokens)

    for number in range(WARM_UP):
        updater.update(number + 1, [training_batches[number % updates]])
    yield work


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


@contextmanager
def torch_transformer(precision: Precision, updates: int, inner_dropout: bool) -> Iterator[Work]:
    """Yield rounds of `updates` updates by a plain loop around torch.nn.Transformer."""
    plan = plan_of("transformer")
    settings, width = plan.training, plan.model.model.width
    torch.manual_seed(1)
    model = TorchTransformer(plan.model.model, len(corpus().target_vocabulary)).train()
    if not inner_dropout:
        without_inner_dropout(model)
    betas = settings.adam_beta1, settings.adam_beta2
    optimizer = torch.optim.Adam(model.parameters(), betas=betas, eps=settings.adam_epsilon)
    training_batches = batches(settings.batch_tokens, updates)

    def update(number: int) -> float:
        batch = training_batches[number]
        rate = learning_rate(number + 1, settings.schedule, width=width, maximum_updates=settings.maximum_updates)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            logits = model(batch.source, batch.target_inputs).flatten(0, 1)
            targets, smoothing = batch.targets.flatten(), settings.label_smoothing
            loss = functional.cross_entropy(logits, targets, ignore_index=PADDING, label_smoothing=smoothing)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return float(loss.detach())

    def work() -> tuple[float, float]:
        losses = [update(number) for number in range(updates)]
        return sum(int((batch.targets != PADDING).sum()) for batch in training_batches), sum(losses) / updates

    for number in range(WARM_UP):
        update(number % updates)
    yield work
