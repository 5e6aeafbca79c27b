"""Measure training against a loop around torch.nn.Transformer and the processor's peak, and two trainings at once."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from benchmarks import machine, updates
from benchmarks.models import plan_of
from benchmarks.report import Part, part_command
from benchmarks.rounds import Contender, Work, measure, ratio, running
from benchmarks.setting import corpus, prepared
from benchmarks.updates import Precision
from context_nmt.models.counting import SENTENCE_LENGTH, describe
from context_nmt.models.devices import has_fast_bf16

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
    alone = Contender(name=ALONE, prepare=updates.ours, arguments=small, unit="updates", threads=1)
    turns = Contender(name=TURNS, prepare=updates.ours, arguments=small, unit="updates")
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
    return Contender(name=name, prepare=updates.ours, arguments=arguments, unit="target tokens")


def _torch(name: str, precision: Precision, *, inner_dropout: bool) -> Contender:
    arguments = (precision, UPDATES, inner_dropout)
    return Contender(name=name, prepare=updates.torch_transformer, arguments=arguments, unit="target tokens")


if __name__ == "__main__":
    part_command("python -m benchmarks.training", training, side_by_side)
