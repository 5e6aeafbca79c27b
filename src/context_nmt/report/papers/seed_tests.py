"""Test the mean of differences over training seeds: the system is fixed, the seed is random.

With few seeds, a variance is known badly. That of a comparison is therefore drawn towards those of the systems of its
experiment: an empirical Bayes estimate (Smyth 2004; limma's squeezeVar), so that a t test has more degrees of freedom.
What they say counts at most as much as the comparison's own seeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log, sqrt
from statistics import fmean, variance

import numpy as np
from scipy.optimize import brentq
from scipy.special import polygamma, psi
from scipy.stats import t as student

FEWEST_TO_SHARE = 5  # variances that say what another one is likely to be


@dataclass(frozen=True)
class Prior:
    """What is known of a variance before its own sample."""

    variance: float
    freedom: float  # as many degrees of freedom as it counts for


def prior_of(variances: Sequence[float], freedom: int) -> Prior | None:
    """Return the prior of variances with equal degrees of freedom; None if fewer than FEWEST_TO_SHARE are above 0.

    Smyth (2004), section 6.2: the moments of their logarithms.
    """
    logarithms = [log(value) - psi(freedom / 2) + log(freedom / 2) for value in variances if value > 0]
    if len(logarithms) < FEWEST_TO_SHARE:
        return None
    spread = variance(logarithms) - float(polygamma(1, freedom / 2))
    if spread <= 0:  # they differ no more than by chance
        return Prior(fmean(value for value in variances if value > 0), float(freedom))
    half = brentq(lambda value: float(polygamma(1, value)) - spread, 1e-6, 1e6) if spread > 1e-6 else inf
    centre = fmean(logarithms) + (float(psi(half)) - log(half) if half < inf else 0.0)
    return Prior(exp(centre), min(2 * half, float(freedom)))


@dataclass(frozen=True)
class Sample:
    """One difference per seed, and what is known of their variance beforehand."""

    differences: tuple[float, ...]
    prior: Prior | None = None

    @property
    def mean(self) -> float:
        """The mean difference."""
        return fmean(self.differences)

    @property
    def variance(self) -> float:
        """The sample variance of the differences alone; 0 if all are equal, however they are rounded."""
        return variance(self.differences) if len(self.differences) > 1 and np.ptp(self.differences) > 0 else 0.0

    @property
    def freedom(self) -> float:
        """The degrees of freedom of a t test."""
        return len(self.differences) - 1 + (self.prior.freedom if self.prior else 0.0)

    @cached_property
    def error(self) -> float:
        """The standard error of the mean; 0 if nothing is known of the variance, so that there is no test."""
        if not self.freedom:
            return 0.0
        known = self.prior.freedom * self.prior.variance if self.prior else 0.0
        pooled = (known + (len(self.differences) - 1) * self.variance) / self.freedom
        return sqrt(pooled / len(self.differences))

    def p_above(self, bound: float) -> float:
        """Return the one-sided p of a mean above a bound; 1 without a variance."""
        return float(student.sf((self.mean - bound) / self.error, self.freedom)) if self.error else 1.0

    def p_below(self, bound: float) -> float:
        """Return the one-sided p of a mean below a bound; 1 without a variance."""
        return float(student.cdf((self.mean - bound) / self.error, self.freedom)) if self.error else 1.0

    def interval(self, confidence: float = 0.95) -> tuple[float, float] | None:
        """Return the interval of the mean; None without a variance."""
        if not self.error:
            return None
        half_width = float(student.ppf((1 + confidence) / 2, self.freedom)) * self.error
        return round(self.mean - half_width, 4), round(self.mean + half_width, 4)


def p_values(direction: str, margin: float, samples: Sequence[Sample]) -> tuple[float, float]:
    """Return the p-values for a claim, against the hardest of the compared systems, and against it.

    They are two-sided, but for that of equality: two one-sided tests, at their own level (TOST). Against the claim,
    the smallest counts, times the number of systems (Bonferroni).
    """
    pairs = []
    for sample in samples:
        if direction == "equal":
            within = max(sample.p_above(-margin), sample.p_below(margin))
            pairs.append((within, 2 * min(sample.p_above(margin), sample.p_below(-margin))))
        else:
            bound = -margin if direction == "not_lower" else 0.0
            above, below = 2 * sample.p_above(bound), 2 * sample.p_below(bound)
            pairs.append((below, above) if direction == "lower" else (above, below))
    return min(1.0, max(claimed for claimed, _ in pairs)), min(1.0, min(other for _, other in pairs) * len(pairs))


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number, so that one false decision among all of them is rare (Holm 1979)."""
    order = np.argsort(p_values, kind="stable")
    corrected = np.empty(len(p_values))
    corrected[order] = np.maximum.accumulate(np.array(p_values)[order] * np.arange(len(p_values), 0, -1))
    return np.minimum(corrected, 1.0).tolist()
