"""Estimates from several seeds: means, deviations, paired differences and their intervals."""

from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev
from typing import final

from scipy.stats import t as student


@final
@dataclass(frozen=True)
class Difference:
    """The paired difference between a system and its baseline, over the same seeds."""

    mean: float
    interval: tuple[float, float] | None  # 95% t interval of the paired differences; None with a single seed
    p: float | None  # of the variant's own test, the largest over seeds; 1 if seeds disagree on which is better


@final
@dataclass(frozen=True)
class Estimate:
    """The mean of one measure over the seeds of a system."""

    mean: float
    deviation: float = 0.0  # sample standard deviation, 0 for a single seed
    seeds: int = 1
    gain: Difference | None = None


def t_interval(values: list[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Return Student's interval of a mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    half_width = float(student.ppf((1 + confidence) / 2, len(values) - 1)) * stdev(values) / sqrt(len(values))
    return round(fmean(values) - half_width, 4), round(fmean(values) + half_width, 4)
