"""Measures small models: two trainings side by side, a thread each, beside one after the other with all threads."""

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks import updates
from benchmarks.command_line import part_command
from benchmarks.report import Part
from benchmarks.rounds import CORES, Contender, Work, measure, ratio, running
from benchmarks.setting import prepared

UPDATES = 20  # of each training in a round
BOTH, TURNS, ALONE = "two side by side, 1 thread each", f"one after the other, {CORES} threads", "one alone, 1 thread"


def side_by_side(rounds: int) -> Part:
    """Compare two trainings of width 64 at once with the same two in turn."""
    prepared()
    small = ("small", "fp32", UPDATES, "updates")
    alone = Contender(name=ALONE, prepare=updates.ours, arguments=small, unit="updates", threads=1)
    turns = Contender(name=TURNS, prepare=updates.ours, arguments=small, unit="updates")
    both = Contender(name=BOTH, prepare=_two, arguments=(alone,), unit="updates", threads=1)
    contenders = [both, turns, alone]
    measured = measure("side by side", contenders, rounds)
    return Part(
        title="Two small trainings on two cores",
        measured=measured,
        ratios=[ratio(measured, BOTH, TURNS, wanted=1.0), ratio(measured, BOTH, ALONE)],
        notes=[f"Width 64, {UPDATES} updates of each training in a round; the speed is that of both in sum."],
    )


@contextmanager
def _two(small: Contender) -> Iterator[Work]:
    with running(small) as first, running(small) as second:

        def work() -> tuple[float, None]:
            for runner in (first, second):
                runner.begin()
            return first.finish()[0] + second.finish()[0], None

        yield work


if __name__ == "__main__":
    part_command(side_by_side)
