"""Judge the claims of a paper over seeds: a paired t-test each, corrected for their number."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import stdev

import numpy as np
from scipy.stats import t as student

from context_nmt.report.papers.claims import Claim
from context_nmt.report.papers.outcomes import Outcome, one_sided_p_values
from context_nmt.results.number_text import SIGNIFICANT, interval_text, p_text

SEEDS = 5  # for a verdict
FEWEST = 3  # seeds for an interval
AS_CLAIMED, OTHER_WAY, NOT_DECIDED, NO_VERDICT, NOT_RUN = WORDS = (
    "as claimed",
    "the other way",
    "not decided",
    "no verdict",
    "not run",
)
FEW_SEEDS = "too few seeds"
ANSWERS = {AS_CLAIMED: "yes", OTHER_WAY: "no"}  # to our own questions


@dataclass(frozen=True)
class Verdict:
    """What the claim's own experiment says about it."""

    claim: Claim
    outcome: Outcome | None  # there or, if it has not run there, elsewhere; None if no experiment can test it
    word: str  # one of WORDS
    reason: str  # p, interval and seeds, or why there is no verdict
    decisive: float | None = None  # the smallest difference that would have decided, if known and not reached

    def __str__(self) -> str:
        word = ANSWERS.get(self.word, self.word) if self.claim.is_question else self.word
        return f"{word} ({self.reason})" if self.reason else word


def verdicts_of(claims: Sequence[Claim], outcomes: Sequence[Outcome | None]) -> list[Verdict]:
    """Judge the claims of one paper, with Holm's correction for the number of all of them, run or not."""
    obstacles = ["not run" if outcome is None else _obstacle(outcome) for outcome in outcomes]
    tails = [
        (1.0, 1.0) if outcome is None or obstacle else _p_values(outcome)
        for outcome, obstacle in zip(outcomes, obstacles, strict=True)
    ]
    corrected = holm([min(pair) for pair in tails])
    open_claims = sum(p >= SIGNIFICANT for p in corrected)
    verdicts = []
    for claim, outcome, obstacle, (claimed, other), p in zip(
        claims, outcomes, obstacles, tails, corrected, strict=True
    ):
        if outcome is None:
            command = "make speed" if claim.is_cost else f"make repro NAME={claim.experiment}"
            verdicts.append(Verdict(claim, None, NOT_RUN, f"`{command}`"))
        elif obstacle:
            is_open = obstacle == FEW_SEEDS and len(outcome.differences) >= FEWEST
            verdicts.append(
                Verdict(claim, outcome, NOT_DECIDED if is_open else NO_VERDICT, evidence(outcome, obstacle))
            )
        else:
            word = _word(p, claimed, other)
            reason, decisive = evidence(outcome, f"adjusted p {p_text(p)}"), None
            if word == NOT_DECIDED and not claim.margin and len(outcome.all_differences) == 1:
                decisive = _smallest_decisive(outcome, open_claims)
                reason += f"; smallest decisive difference {decisive:.{outcome.decimals}f}"
            verdicts.append(Verdict(claim, outcome, word, reason, decisive))
    return verdicts


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number (Holm 1979)."""
    order = np.argsort(p_values, kind="stable")
    corrected = np.empty(len(p_values))
    corrected[order] = np.maximum.accumulate(np.array(p_values)[order] * np.arange(len(p_values), 0, -1))
    return np.minimum(corrected, 1.0).tolist()


def _obstacle(outcome: Outcome) -> str:
    """Return why there is no verdict; empty if there is one."""
    if outcome.claim.is_cost:
        return "costs are measured once, not per seed"
    if not outcome.is_primary:
        return f"to be judged in {outcome.claim.experiment}"
    return _fault(outcome) or ("" if len(outcome.differences) >= SEEDS else FEW_SEEDS)


def _fault(outcome: Outcome) -> str:
    """Return why its numbers must not be compared; empty if they may."""
    if outcome.is_out_of_date:
        return "out of date"
    if outcome.missing:
        return f"not compared with {', '.join(outcome.missing)}"
    return "" if outcome.is_comparable else "scores computed differently"


def word_alone(outcome: Outcome) -> str:
    """Return the verdict on a claim by an experiment that does not judge it, not corrected for other claims."""
    if outcome.claim.is_cost or _fault(outcome) or len(outcome.differences) < FEWEST:
        return NO_VERDICT
    claimed, other = _p_values(outcome)
    return _word(min(claimed, other), claimed, other)


def _word(p: float, claimed: float, other: float) -> str:
    return NOT_DECIDED if p >= SIGNIFICANT else AS_CLAIMED if claimed < other else OTHER_WAY


def _p_values(outcome: Outcome) -> tuple[float, float]:
    """Return the two-sided p-values for the claim, against the hardest of the others, and against the claim."""
    pairs = [one_sided_p_values(outcome.claim, values) for values in outcome.all_differences]
    return 2 * max(claimed for claimed, _ in pairs), 2 * min(other for _, other in pairs) * len(pairs)


def _smallest_decisive(outcome: Outcome, tests: int) -> float:
    """Return the smallest mean difference that decides a claim without a margin when so many are still open."""
    count = len(outcome.differences)
    return float(student.ppf(1 - SIGNIFICANT / 2 / tests, count - 1)) * stdev(outcome.differences) / sqrt(count)


def evidence(outcome: Outcome, *parts: str) -> str:
    """Return parts of a reason, then the number of seeds and the interval over them."""
    count = len(outcome.differences)
    seeds = [] if outcome.claim.is_cost else [f"{count} seeds" if count > 1 else "1 seed"]
    interval = outcome.interval if count >= FEWEST else None
    ends = [f"95% {interval_text(interval, outcome.decimals)}"] if interval else []
    return ", ".join([*parts, *seeds, *ends])
