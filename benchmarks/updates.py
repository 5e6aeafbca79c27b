"""Training updates of this project and of the loop around torch.nn.Transformer, on the same batches."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch

from benchmarks import torch_loop
from benchmarks.models import batches, plan_of
from benchmarks.rounds import Work
from benchmarks.setting import corpus
from context_nmt.corpus.vocabulary import PADDING
from context_nmt.models.building import build
from context_nmt.training.updating import Updater, learning_rate

Precision = Literal["fp32", "bf16"]

WARM_UP = 3  # updates before the first round


def fresh_updater(variant: str, precision: Precision) -> Updater:
    """Give this project's trainer of a variant of benchmarks/params.yaml, before its first update."""
    plan = plan_of(variant)
    plan = dataclasses.replace(plan, training=dataclasses.replace(plan.training, precision=precision))
    sizes = len(corpus().source_vocabulary), len(corpus().target_vocabulary)
    torch.manual_seed(1)
    return Updater(plan, build(plan.model, source_vocabulary=sizes[0], target_vocabulary=sizes[1]), seed=1)


@contextmanager
def ours(
    variant: str, precision: Precision, updates: int, count: Literal["tokens", "updates"] = "tokens"
) -> Iterator[Work]:
    """Rounds of so many updates by this project's trainer; each counts its target tokens, or its updates."""
    updater = fresh_updater(variant, precision)
    given = batches(updater.plan.training.batch_tokens, updates)

    def work() -> tuple[float, float]:
        tokens, loss = 0, 0.0
        for number, batch in enumerate(given, start=1):
            totals = updater.update(number, [batch])
            tokens, loss = tokens + totals.tokens, loss + totals.smoothed
        return (tokens if count == "tokens" else updates), loss / tokens

    for number in range(WARM_UP):
        updater.update(number + 1, [given[number % updates]])
    yield work


@contextmanager
def torch_transformer(precision: Precision, updates: int, inner_dropout: bool) -> Iterator[Work]:
    """Rounds of so many updates by the loop around torch.nn.Transformer."""
    plan = plan_of("transformer")
    torch.manual_seed(1)
    model = torch_loop.TorchTransformer(plan.model.model, len(corpus().target_vocabulary)).train()
    if not inner_dropout:
        torch_loop.without_inner_dropout(model)
    optimizer = torch_loop.adam(model, plan.training)
    given = batches(plan.training.batch_tokens, updates)
    settings, width = plan.training, plan.model.model.width

    def update(number: int) -> float:
        rate = learning_rate(number + 1, settings.schedule, width=width, maximum_updates=settings.maximum_updates)
        bf16, smoothing = precision == "bf16", settings.label_smoothing
        return float(torch_loop.update(model, optimizer, given[number], rate=rate, smoothing=smoothing, bf16=bf16))

    def work() -> tuple[float, float]:
        losses = [update(number) for number in range(updates)]
        return sum(int((batch.targets != PADDING).sum()) for batch in given), sum(losses) / updates

    for number in range(WARM_UP):
        update(number % updates)
    yield work
