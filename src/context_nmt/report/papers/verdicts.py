"""Judge the claims of a paper over seeds: a paired t-test each, corrected for their number."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import stdev

import numpy as np
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from context_nmt.report.papers.claims import Claim
from context_nmt.report.papers.outcomes import Outcome
from context_nmt.results.number_text import SIGNIFICANT, interval_text, p_text

SEEDS = 5  # for a verdict
FEWEST = 3  # seeds for an interval
AS_CLAIMED, OTHER_WAY, NOT_DECIDED, NO_VERDICT, NOT_RUN = WORDS = (
    *("as claimed", "the other way", "not decided", "no verdict", "not run"),
)
ANSWERS = {AS_CLAIMED: "yes", OTHER_WAY: "no"}  # to our own questions


@dataclass(frozen=True)
class Verdict:
    """What the claim's own experiment says about it."""

    claim: Claim
    outcome: Outcome | None  # there or, if it has not run there, elsewhere; None if no experiment can test it
    word: str  # one of WORDS
    reason: str  # p, interval and seeds, or why there is no verdict

    def __str__(self) -> str:
        word = ANSWERS.get(self.word, self.word) if self.claim.is_question else self.word
        return f"{word} ({self.reason})" if self.reason else word


def verdicts_of(claims: Sequence[Claim], outcomes: Sequence[Outcome | None]) -> list[Verdict]:
    """Judge the claims of one paper, with Holm's correction for the number of those with enough seeds."""
    tested = [outcome for outcome in outcomes if outcome and not _obstacle(outcome)]
    tails = [_tails(outcome) for outcome in tested]
    judged = iter(zip(tails, holm([min(pair) for pair in tails]), strict=True))
    verdicts = []
    for claim, outcome in zip(claims, outcomes, strict=True):
        if outcome is None:
            verdicts.append(Verdict(claim, None, NOT_RUN, f"`make repro NAME={claim.experiment}`"))
        elif obstacle := _obstacle(outcome):
            is_few = obstacle == _seeds(outcome) and len(outcome.differences) >= FEWEST
            verdicts.append(Verdict(claim, outcome, NOT_DECIDED if is_few else NO_VERDICT, _reason(outcome, obstacle)))
        else:
            (claimed, other), p = next(judged)
            word = NOT_DECIDED if p >= SIGNIFICANT else AS_CLAIMED if claimed < other else OTHER_WAY
            reason = _reason(outcome, f"adjusted p {p_text(p)}", _seeds(outcome))
            if word == NOT_DECIDED:
                reason += f"; it takes {_visible(outcome, len(tested)):.2g} to be seen"
            verdicts.append(Verdict(claim, outcome, word, reason))
    return verdicts


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number (Holm 1979)."""
    order = np.argsort(p_values, kind="stable")
    corrected = np.empty(len(p_values))
    corrected[order] = np.maximum.accumulate(np.array(p_values)[order] * np.arange(len(p_values), 0, -1))
    return np.minimum(corrected, 1.0).tolist()


def _obstacle(outcome: Outcome) -> str:
    """Return why there is no verdict; empty if there is one."""
    if outcome.is_cost:
        return "costs have no seeds"
    if not outcome.is_primary:
        return f"{outcome.claim.experiment} decides"
    if outcome.is_out_of_date:
        return "out of date"
    return "" if len(outcome.differences) >= SEEDS else _seeds(outcome)


def _tails(outcome: Outcome) -> tuple[float, float]:
    """Return the two-sided p-values for the claim and against it."""
    margin, differences = outcome.claim.margin, np.array(outcome.differences)

    def above(bound: float) -> float:
        return _one_sided(differences - bound)

    def below(bound: float) -> float:
        return _one_sided(bound - differences)

    tails = {
        "higher": (above(margin), below(-margin)),
        "lower": (below(-margin), above(margin)),
        "not_lower": (above(-margin), below(-margin)),
        "equal": (max(above(-margin), below(margin)), min(above(margin), below(-margin))),
    }
    claimed, other = tails[outcome.claim.direction]
    return 2 * claimed, 2 * other


def _one_sided(values: np.ndarray) -> float:
    """Return the p of a mean above 0; equal values, as of accuracies that are all 50 or 100, need no test."""
    if np.ptp(values) == 0:
        return float(values[0] <= 0)
    return float(ttest_1samp(values, 0, alternative="greater").pvalue)


def _visible(outcome: Outcome, tests: int) -> float:
    """Return the smallest mean difference beyond the margin that has p < 0.05 after correction for so many tests."""
    count = len(outcome.differences)
    return float(student.ppf(1 - SIGNIFICANT / 2 / tests, count - 1)) * stdev(outcome.differences) / sqrt(count)


def _seeds(outcome: Outcome) -> str:
    count = len(outcome.differences)
    return f"{count} seeds" if count > 1 else "1 seed"


def _reason(outcome: Outcome, *parts: str) -> str:
    interval = outcome.interval if len(outcome.differences) >= FEWEST else None
    ends = [f"95% {interval_text(interval, outcome.decimals)}"] if interval else []
    return ", ".join([*parts, *ends])
