"""Learning rates equal the formulas of the papers."""

import math

import pytest

from context_nmt.settings.model import ScheduleSettings
from context_nmt.training.updating import learning_rate


def rates(schedule, *updates, width=512, maximum_updates=100_000):
    return [learning_rate(update, schedule, width=width, maximum_updates=maximum_updates) for update in updates]


@pytest.mark.parametrize(("factor", "warmup", "width"), [(1.0, 4000, 512), (2.0, 8000, 256)])
def test_vaswani(factor, warmup, width):
    schedule = ScheduleSettings(kind="vaswani", factor=factor, warmup=warmup)
    updates = [1, 2, warmup // 3, warmup - 1, warmup, warmup + 1, 4 * warmup, 100_000]
    expected = [factor * width**-0.5 * min(update**-0.5, update * warmup**-1.5) for update in updates]
    assert rates(schedule, *updates, width=width) == pytest.approx(expected, rel=1e-12)
    assert max(expected) == expected[4]
    assert expected[4] == pytest.approx(6.988e-4 if width == 512 else 1.3975e-3, rel=1e-4)


def test_inverse_square_root_of_fairseq():
    schedule = ScheduleSettings(kind="inverse_square_root", warmup=10_000, initial_rate=1e-7, peak_rate=5e-4)
    step = (5e-4 - 1e-7) / 10_000
    assert rates(schedule, 1, 2, 5000, 10_000) == pytest.approx(
        [1e-7 + step, 1e-7 + 2 * step, 1e-7 + 5000 * step, 5e-4], rel=1e-12
    )
    assert rates(schedule, 10_001, 40_000, 100_000) == pytest.approx(
        [5e-4 * math.sqrt(10_000 / 10_001), 2.5e-4, 5e-4 * math.sqrt(0.1)], rel=1e-12
    )


@pytest.mark.parametrize(("width", "peak"), [(512, 9.88e-4), (256, 1.40e-3)])
def test_cosine(width, peak):
    schedule = ScheduleSettings(kind="cosine", factor=2.0, warmup=8000)
    top = 2.0 * 8000**-0.5 * width**-0.5
    assert top == pytest.approx(peak, rel=3e-3)
    quarter, half = 8000 + 92_000 // 4, 8000 + 92_000 // 2
    found = rates(schedule, 1, 4000, 8000, quarter, half, width=width)
    assert found == pytest.approx(
        [top / 8000, top / 2, top, top * (0.5 + 0.5 * math.cos(math.pi / 4)), top / 2], rel=1e-12
    )
    assert rates(schedule, 100_000, width=width) == [pytest.approx(0, abs=1e-18)]


def test_cosine_with_a_decay_of_its_own_ends_there_and_stays_at_zero():
    schedule = ScheduleSettings(kind="cosine", factor=2.0, warmup=8000, decay_updates=10_000)
    top = 2.0 * 8000**-0.5 * 512**-0.5
    assert rates(schedule, 8000, 13_000) == pytest.approx([top, top / 2], rel=1e-12)
    assert rates(schedule, 18_000, 25_000, 100_000) == pytest.approx([0, 0, 0], abs=1e-18)


@pytest.mark.parametrize("last", [10, 100])
def test_cosine_that_ends_in_warm_up_only_rises(last):
    schedule = ScheduleSettings(kind="cosine", factor=1.0, warmup=100)
    found = rates(schedule, 1, last // 2, last, maximum_updates=last)
    assert found == pytest.approx([update / 100 * 51_200**-0.5 for update in (1, last // 2, last)], rel=1e-12)
