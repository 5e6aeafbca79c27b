"""Measure training against a loop around torch.nn.Transformer and the processor's peak, and two trainings at once."""

import dataclasses
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks import machine
from benchmarks.models import batches, plan_of
from benchmarks.report import Part, part_command
from benchmarks.rounds import Contender, Work, measure, ratio, running
from benchmarks.setting import corpus, prepared
from context_nmt.corpus.vocabulary import PADDING
from context_nmt.models.building import build
from context_nmt.models.counting import SENTENCE_LENGTH, describe
from context_nmt.models.devices import has_fast_bf16
from context_nmt.settings.model import ModelSettings
from context_nmt.training.updating import Updater, learning_rate

Precision = Literal["fp32", "bf16"]

WARM_UP = 3  # updates before the first round
LONGEST = 512  # units of a sentence that torch.nn.Transformer has positions for
UPDATES = 12  # in a round
SMALL_UPDATES = 20  # of each small training in a round

TORCH, TORCH_BF16 = "torch.nn.Transformer", "torch.nn.Transformer, bf16 autocast"
TORCH_DROPOUT = "torch.nn.Transformer, dropout where ours is"
OURS, OURS_BF16 = "context-nmt", "context-nmt, bf16"
BOTH, TURNS, ALONE = "two side by side, 1 thread each", "one after the other, a thread per core", "one alone, 1 thread"
PEAK, PEAK_BF16 = machine.products("float32"), machine.products("bfloat16")
RATIOS = (
    (OURS, TORCH),
    (OURS, TORCH_DROPOUT),
    (OURS_BF16, TORCH),
    (OURS_BF16, TORCH_BF16),
    (OURS, PEAK.name),
    (TORCH, PEAK.name),
    (OURS_BF16, PEAK_BF16.name),
)


def training(rounds: int) -> Part:
    """Compare updates on the same batches."""
    prepared()
    contenders = [
        PEAK,
        _torch(TORCH, "fp32", inner_dropout=True),
        _ours(OURS, "fp32"),
        _torch(TORCH_DROPOUT, "fp32", inner_dropout=False),
    ]
    if has_fast_bf16(torch.device("cpu")):
        contenders += [_ours(OURS_BF16, "bf16"), _torch(TORCH_BF16, "bf16", inner_dropout=True), PEAK_BF16]
    measured = measure("training", contenders, rounds)
    plan, vocabulary = plan_of("transformer"), len(corpus().target_vocabulary)
    described = describe(plan.model, source_vocabulary=vocabulary, target_vocabulary=vocabulary)
    flops = described["flops_per_target_token"]
    losses = [f"{name} {values.output:.3f}" for name, values in measured.items() if values.output]
    return Part(
        title="Training",
        measured=measured,
        ratios=[
            ratio(measured, of, to, factor=flops / 1e9 if to in (PEAK.name, PEAK_BF16.name) else 1.0)
            for of, to in RATIOS
            if of in measured
        ],
        notes=[
            f"A round is {UPDATES} updates on the same batches of at most {plan.training.batch_tokens} target tokens"
            " with padding; only real target tokens are counted, including END. Reading batches is not included.",
            f"The fraction of the peak assumes {flops / 1e6:.1f} MFLOP per target token: the matrix products of a"
            f" forward and backward pass over {SENTENCE_LENGTH} and {SENTENCE_LENGTH} units, as counted by the"
            f" describe stage. The peak is that of square matrix products of size {machine.SIZE} in the same round.",
            "With dropout 0.1, torch.nn.Transformer also drops attention weights and the feed-forward's hidden layer.",
            f"Mean loss in the last round: {', '.join(losses)}.",
        ],
    )


def side_by_side(rounds: int) -> Part:
    """Compare two trainings of width 64 at once with the same two in turn."""
    prepared()
    small = ("small", "fp32", SMALL_UPDATES, "updates")
    alone = Contender(name=ALONE, prepare=ours, arguments=small, unit="updates", threads=1)
    turns = Contender(name=TURNS, prepare=ours, arguments=small, unit="updates")
    both = Contender(name=BOTH, prepare=_two, arguments=(alone,), unit="updates", threads=1)
    contenders = [both, turns, alone]
    measured = measure("side by side", contenders, rounds)
    return Part(
        title="Two small trainings at once",
        measured=measured,
        ratios=[ratio(measured, BOTH, TURNS), ratio(measured, BOTH, ALONE)],
        notes=[f"Width 64, {SMALL_UPDATES} updates of each training in a round; the speed is the sum of both."],
    )


@contextmanager
def _two(small: Contender) -> Iterator[Work]:
    with running(small) as first, running(small) as second:

        def work() -> tuple[float, None]:
            for runner in (first, second):
                runner.begin()
            return first.finish()[0] + second.finish()[0], None

        yield work


def _ours(name: str, precision: Precision) -> Contender:
    arguments = ("transformer", precision, UPDATES, "tokens")
    return Contender(name=name, prepare=ours, arguments=arguments, unit="target tokens")


def _torch(name: str, precision: Precision, *, inner_dropout: bool) -> Contender:
    arguments = (precision, UPDATES, inner_dropout)
    return Contender(name=name, prepare=torch_transformer, arguments=arguments, unit="target tokens")


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


if __name__ == "__main__":
    part_command("python -m benchmarks.training", training, side_by_side)
