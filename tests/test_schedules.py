"""Learning rates equal the formulas of the papers."""

import math

import pytest

from context_nmt.settings.model import ScheduleSettings
from context_nmt.training.updating import learning_rate

VASWANI = {"kind": "vaswani", "factor": 2.0, "warmup": 8000}
SQUARE_ROOT = {"kind": "inverse_square_root", "warmup": 10_000, "initial_rate": 1e-7, "peak_rate": 5e-4}
COSINE = {"kind": "cosine", "factor": 2.0, "warmup": 8000}
STEP = (5e-4 - 1e-7) / 10_000
TOP = 2.0 * 8000**-0.5 * 512**-0.5  # 9.88e-4


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        *(
            (VASWANI, {update: 2.0 * 512**-0.5 * min(update**-0.5, update * 8000**-1.5)})
            for update in (1, 2, 2667, 7999, 8000, 8001, 32_000, 100_000)
        ),
        (SQUARE_ROOT, {1: 1e-7 + STEP, 2: 1e-7 + 2 * STEP, 5000: 1e-7 + 5000 * STEP, 10_000: 5e-4}),
        (SQUARE_ROOT, {10_001: 5e-4 * math.sqrt(10_000 / 10_001), 40_000: 2.5e-4, 100_000: 5e-4 * math.sqrt(0.1)}),
        (COSINE, {1: TOP / 8000, 4000: TOP / 2, 8000: TOP, 31_000: TOP * (0.5 + 0.5 * math.cos(math.pi / 4))}),
        (COSINE, {54_000: TOP / 2, 100_000: 0}),
        (COSINE | {"decay_updates": 10_000}, {8000: TOP, 13_000: TOP / 2, 18_000: 0, 25_000: 0, 100_000: 0}),
        (COSINE | {"peak_rate": 1e-3, "warmup": 4000}, {2000: 5e-4, 4000: 1e-3, 52_000: 5e-4}),  # any width
        (VASWANI | {"peak_rate": 1e-3}, {8000: TOP, 32_000: TOP / 2}),  # a recipe's, which a variant does not unset
        (COSINE | {"warmup": 100_000}, {50_000: 1e5**-0.5 * 512**-0.5, 100_000: 2 * 1e5**-0.5 * 512**-0.5}),  # no decay
    ],
)
def test_rates_follow_the_formulas(schedule, expected):
    settings = ScheduleSettings(**schedule)
    found = {update: learning_rate(update, settings, width=512, last_update=100_000) for update in expected}
    assert found == {update: pytest.approx(rate, rel=1e-12, abs=1e-18) for update, rate in expected.items()}


@pytest.mark.parametrize("kind", ["vaswani", "cosine"])
def test_wider_models_have_lower_rates(kind):
    settings = ScheduleSettings(kind=kind)
    rates = [learning_rate(9, settings, width=width, last_update=100_000) for width in (256, 1024)]
    assert rates[0] == pytest.approx(2 * rates[1], rel=1e-12)
