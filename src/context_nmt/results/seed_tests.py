"""Test the mean of differences over training seeds: the system is fixed, the seed is random.

A variance that is estimated from few seeds is uncertain. The variance of a comparison is therefore shrunk towards the
variances between the systems of its experiment: an empirical Bayes estimate (Smyth 2004; limma's squeezeVar), which
gives a t test more degrees of freedom. This prior counts at most as much as the comparison's own seeds.
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

MINIMUM_PRIOR_VARIANCES = 5  # that a prior is estimated from


@dataclass(frozen=True)
class Prior:
    """A prior of a variance, estimated from all pairs of similarly trained systems."""

    variance: float
    degrees_of_freedom: float  # its weight


def estimate_prior(variances: Sequence[float], df: int) -> Prior | None:
    """Estimate the prior of variances with `df` degrees of freedom each, by the moments of their logarithms.

    See Smyth (2004), section 6.2. Return None if fewer than MINIMUM_PRIOR_VARIANCES are above 0.
    """
    logarithms = [log(value) - psi(df / 2) + log(df / 2) for value in variances if value > 0]
    if len(logarithms) < MINIMUM_PRIOR_VARIANCES:
        return None
    spread = variance(logarithms) - float(polygamma(1, df / 2))
    if spread <= 0:  # the variances differ no more than by chance
        return Prior(fmean(value for value in variances if value > 0), float(df))
    half_df = brentq(lambda value: float(polygamma(1, value)) - spread, 1e-6, 1e6) if spread > 1e-6 else inf
    centre = fmean(logarithms) + (float(psi(half_df)) - log(half_df) if half_df < inf else 0.0)
    return Prior(exp(centre), min(2 * half_df, float(df)))


@dataclass(frozen=True)
class Sample:
    """One difference per seed, and the prior of their variance if there is one."""

    differences: tuple[float, ...]
    prior: Prior | None = None

    @property
    def mean(self) -> float:
        """The mean difference."""
        return fmean(self.differences)

    @property
    def variance(self) -> float:
        """The sample variance without the prior; exactly 0 if all differences are equal."""
        return variance(self.differences) if len(self.differences) > 1 and np.ptp(self.differences) > 0 else 0.0

    @property
    def degrees_of_freedom(self) -> float:
        """The degrees of freedom of a t test, including the prior's."""
        return len(self.differences) - 1 + (self.prior.degrees_of_freedom if self.prior else 0.0)

    @cached_property
    def standard_error(self) -> float:
        """The standard error of the mean; 0 if it cannot be estimated, so that there is no test."""
        if not self.degrees_of_freedom:
            return 0.0
        prior_sum = self.prior.degrees_of_freedom * self.prior.variance if self.prior else 0.0
        pooled = (prior_sum + (len(self.differences) - 1) * self.variance) / self.degrees_of_freedom
        return sqrt(pooled / len(self.differences))

    def p_above(self, bound: float) -> float:
        """Return the one-sided p of a mean above a bound; 1 without a standard error."""
        if not self.standard_error:
            return 1.0
        return float(student.sf((self.mean - bound) / self.standard_error, self.degrees_of_freedom))

    def p_below(self, bound: float) -> float:
        """Return the one-sided p of a mean below a bound; 1 without a standard error."""
        if not self.standard_error:
            return 1.0
        return float(student.cdf((self.mean - bound) / self.standard_error, self.degrees_of_freedom))

    def interval(self, confidence: float = 0.95) -> tuple[float, float] | None:
        """Return Student's interval of the mean; None for fewer than two differences."""
        if len(self.differences) < 2:
            return None
        half_width = float(student.ppf((1 + confidence) / 2, self.degrees_of_freedom)) * self.standard_error
        return round(self.mean - half_width, 4), round(self.mean + half_width, 4)


def p_values(direction: str, margin: float, samples: Sequence[Sample]) -> tuple[float, float]:
    """Return the p-value for a claim and the p-value against it; `samples` has a comparison with each other system.

    Both are two-sided, except for equality: two one-sided tests at their own level (TOST). The p for the
    claim is the largest of its comparisons; the p against it is the smallest, times their number (Bonferroni).
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
    return min(1.0, max(p_for for p_for, _ in pairs)), min(1.0, min(p_against for _, p_against in pairs) * len(pairs))


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number, so that even one false decision among them is rare (Holm 1979)."""
    order = np.argsort(p_values, kind="stable")
    corrected = np.empty(len(p_values))
    corrected[order] = np.maximum.accumulate(np.array(p_values)[order] * np.arange(len(p_values), 0, -1))
    return np.minimum(corrected, 1.0).tolist()
