"""Compare training with a loop around torch.nn.Transformer and the processor's peak, and two trainings with one."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks import machine, setting
from benchmarks.models import batches, described, plan_of, updater_of
from benchmarks.report import Part, part_command
from benchmarks.rounds import Contender, Work, enter, measure, own_process, ratio, speeds_and_memory, take_turn, wait
from benchmarks.setting import corpus
from context_nmt.corpus.vocabulary import PADDING
from context_nmt.models.counting import SENTENCE_LENGTH
from context_nmt.models.devices import Precision, has_fast_bf16
from context_nmt.settings.model import ModelSettings
from context_nmt.training.batches import Batch
from context_nmt.training.updating import Updater, learning_rate

WARM_UP = 3  # updates before the first round
POSITIONS = 512  # of torch.nn.Transformer
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
    setting.prepare()
    contenders = [
        PEAK,
        _torch(TORCH, "fp32"),
        ours(OURS, "transformer", "fp32", UPDATES),
        _torch(TORCH_DROPOUT, "fp32"),
    ]
    if has_fast_bf16(torch.device("cpu")):
        contenders += [ours(OURS_BF16, "transformer", "bf16", UPDATES), _torch(TORCH_BF16, "bf16"), PEAK_BF16]
    measured = measure("training", contenders, rounds)
    flops = described("transformer")["flops_per_target_token"]
    factors = dict.fromkeys((PEAK.name, PEAK_BF16.name), flops / 1e9)
    losses = [f"{name} {values.output:.3f}" for name, values in measured.items() if values.output]
    ratios = {
        f"{of} / {to}": ratio(measured, of, to, factor=factors.get(to, 1.0)) for of, to in RATIOS if of in measured
    }
    return Part(
        "Training",
        speeds_and_memory(measured) | {"ratio": ratios},
        [
            f"A round is {UPDATES} updates on the same batches of at most"
            f" {plan_of('transformer').training.batch_tokens} target tokens"
            " with padding; only real target tokens are counted, including END. Reading batches is not included.",
            f"The fraction of the peak assumes {flops / 1e6:.1f} MFLOP per target token: the matrix products of a"
            f" forward and backward pass over {SENTENCE_LENGTH} and {SENTENCE_LENGTH} units, as counted by the"
            f" describe stage. The peak is the speed of products of square matrices of size {machine.MATRIX_SIZE} in"
            " the same round.",
            "With dropout 0.1, torch.nn.Transformer also drops attention weights and the feed-forward's hidden layer.",
            f"Mean loss in the last round: {', '.join(losses)}.",
        ],
    )


def side_by_side(rounds: int) -> Part:
    """Compare two trainings of width 64 at once with the same two in turn."""
    setting.prepare()
    arguments = ("small", "fp32", SMALL_UPDATES)
    alone = Contender(ALONE, "updates", _counted, arguments, threads=1)
    turns = Contender(TURNS, "updates", _counted, arguments)
    both = Contender(BOTH, "updates", two_of, (alone,), threads=1)
    measured = measure("side by side", [both, turns, alone], rounds)
    ratios = {f"{BOTH} / {rival}": ratio(measured, BOTH, rival) for rival in (TURNS, ALONE)}
    return Part(
        "Two small trainings at once",
        speeds_and_memory(measured) | {"ratio": ratios},
        [f"Width 64, {SMALL_UPDATES} updates of each training in a round; the speed is the sum of both."],
    )


@contextmanager
def _counted(variant: str, precision: Precision, updates: int) -> Iterator[Work]:
    with updates_of(variant, precision, updates) as work:
        yield lambda: (updates, work()[1])


@contextmanager
def two_of(single: Contender) -> Iterator[Work]:
    """Yield rounds in which two processes do the work of a contender at the same time."""
    with own_process(1) as first, own_process(1) as second:
        for process in (first, second):
            wait(single, process.submit(enter, single))

        def work() -> tuple[float, None]:
            turns = [process.submit(take_turn, single.name) for process in (first, second)]
            return sum(wait(single, turn)[0] for turn in turns), None

        yield work


def ours(name: str, variant: str, precision: Precision, updates: int) -> Contender:
    """Return this project's trainer of a variant as a contender."""
    return Contender(name, "target tokens", updates_of, (variant, precision, updates))


def _torch(name: str, precision: Precision) -> Contender:
    return Contender(name, "target tokens", torch_transformer, (precision, UPDATES, name != TORCH_DROPOUT))


@contextmanager
def updates_of(variant: str, precision: Precision, updates: int) -> Iterator[Work]:
    """Yield rounds of `updates` updates by this project's trainer; they return the mean loss."""
    updater = updater_of(variant, precision)
    yield rounds_of(updater, batches(updater.plan.training.batch_tokens, updates), warm_up=WARM_UP)


def rounds_of(updater: Updater, training_batches: list[Batch], *, warm_up: int) -> Work:
    """Return rounds with an update for each batch, after `warm_up` updates; they return the mean loss."""
    training_batches = [updater.prepare(batch) for batch in training_batches]

    def work() -> tuple[float, float]:
        totals = updater.zero_totals()
        for number, batch in enumerate(training_batches, start=1):
            totals += updater.update(number, [batch])
        return totals.tokens, float(totals.losses[0]) / totals.tokens  # the loss waits for a GPU

    for number in range(warm_up):
        updater.update(number + 1, [training_batches[number % len(training_batches)]])
    return work


class TorchTransformer(nn.Module):
    """Embeddings and sinusoids around torch.nn.Transformer; the output is tied to the embeddings."""

    def __init__(self, settings: ModelSettings, vocabulary: int) -> None:
        super().__init__()
        width = settings.width
        self.scale = math.sqrt(width)
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=PADDING)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        angles = torch.arange(POSITIONS)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
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


@contextmanager
def torch_transformer(precision: Precision, updates: int, inner_dropout: bool) -> Iterator[Work]:
    """Yield rounds of `updates` updates by a plain loop around torch.nn.Transformer."""
    plan = plan_of("transformer")
    settings, width = plan.training, plan.model.model.width
    torch.manual_seed(1)
    model = TorchTransformer(plan.model.model, len(corpus().target_vocabulary)).train()
    for module in () if inner_dropout else model.modules():
        if isinstance(module, nn.MultiheadAttention):
            module.dropout = 0.0
        elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
            module.dropout = nn.Dropout(0.0)  # of the feed-forward's hidden layer
    betas = settings.adam_beta1, settings.adam_beta2
    optimizer = torch.optim.Adam(model.parameters(), betas=betas, eps=settings.adam_epsilon)
    training_batches = batches(settings.batch_tokens, updates)

    def update(number: int) -> float:
        batch = training_batches[number]
        rate = learning_rate(number + 1, settings.schedule, width=width, last_update=settings.maximum_updates)
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
        return sum(batch.tokens for batch in training_batches), sum(losses) / updates

    for number in range(WARM_UP):
        update(number % updates)
    yield work


if __name__ == "__main__":
    part_command("python -m benchmarks.training", training, side_by_side)
