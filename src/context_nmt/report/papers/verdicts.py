"""Judge the claims of a paper by their differences over seeds, corrected for the number of tests that were made."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from scipy.stats import false_discovery_control

from context_nmt.report.papers.claims import ALIKE, Claim
from context_nmt.report.papers.confounds import confound_of
from context_nmt.report.papers.outcomes import Outcome, p_values
from context_nmt.report.papers.seed_tests import Prior, Sample, holm, prior_of
from context_nmt.results.number_text import SIGNIFICANT

SEEDS = 5  # for a verdict
FEWEST = 3  # seeds for an interval
SUPPORTED, LEANING, ALIKE_SYSTEMS, LEANING_AGAINST, AGAINST, OPEN, NOT_TESTABLE = WORDS = (
    "supported",
    "leaning",
    "no difference",
    "leaning against",
    "against",
    "open",
    "cannot be tested here",
)


class Obstacle(NamedTuple):
    """Why a claim has no verdict: a kind, a few words and a sentence."""

    kind: str
    short: str
    says: str


@dataclass(frozen=True)
class Verdict:
    """What the experiment that judges a claim says about it."""

    claim: Claim
    outcome: Outcome | None  # there or, if it has not run there, elsewhere; None if no experiment has the systems
    word: str  # one of WORDS
    obstacle: Obstacle | None = None
    samples: tuple[Sample, ...] = ()  # one for each of the others: the differences that were tested
    p: float | None = None  # of its own test, on the side that the differences are on
    adjusted_p: float | None = None  # for all tests of the paper's claims of its kind, primary or secondary
    supports: bool | None = None  # whether p is that for the claim

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval of the difference from the hardest of the others."""
        if self.samples:
            return self.samples[0].interval()
        return self.outcome.interval if self.outcome and len(self.outcome.differences) >= FEWEST else None


def verdicts_of(
    claims: Sequence[Claim], outcomes: Sequence[Outcome | None], *, shares_variance: bool = True
) -> list[Verdict]:
    """Judge the claims of one paper, each by its outcome.

    Primary claims share Holm's correction, the others Benjamini and Hochberg's. Unless `shares_variance` is False, the
    variances of an experiment's comparisons on one measure say what each of them is likely to be.
    """
    obstacles = [obstacle_of(claim, outcome) for claim, outcome in zip(claims, outcomes, strict=True)]
    tested = [outcome for outcome, obstacle in zip(outcomes, obstacles, strict=True) if outcome and not obstacle]
    priors = _priors(tested) if shares_variance else {}
    verdicts = [
        Verdict(claim, outcome, OPEN if obstacle and obstacle.kind == "seeds" else NOT_TESTABLE, obstacle)
        if outcome is None or obstacle
        else _tested(claim, outcome, priors.get(_pool(outcome)))
        for claim, outcome, obstacle in zip(claims, outcomes, obstacles, strict=True)
    ]
    for primary in (True, False):
        family = [n for n, one in enumerate(verdicts) if one.p is not None and one.claim.primary == primary]
        if family:
            p = [verdicts[n].p or 0.0 for n in family]
            corrected = holm(p) if primary else false_discovery_control(p).tolist()
            for number, adjusted in zip(family, corrected, strict=True):
                one = replace(verdicts[number], adjusted_p=adjusted)
                verdicts[number] = replace(one, word=_word(one))
    return verdicts


def obstacle_of(claim: Claim, outcome: Outcome | None) -> Obstacle | None:
    """Return why there can be no verdict on a claim; None if there is one."""
    if outcome is None:
        command = "make speed" if claim.is_cost else f"make repro NAME={claim.experiment}"
        return Obstacle("not run", "has not been run", f"has not been run: `{command}`")
    if claim.is_cost:
        return Obstacle("cost", "cost: measured once", "costs are measured once, not per seed")
    if not outcome.judges:
        return Obstacle("not run", "has not been run", f"to be judged in {claim.experiment}, which has not been run")
    if confound := confound_of(outcome):
        return Obstacle(confound.kind, confound.short, confound.says)
    return fault_of(outcome)


def fault_of(outcome: Outcome) -> Obstacle | None:
    """Return why the numbers of a comparison must not be tested; None if they may."""
    if outcome.is_out_of_date:
        return Obstacle("old", "out of date", "out of date: its code, settings or text have changed since then")
    if outcome.missing:
        missing = ", ".join(outcome.missing)
        return Obstacle("not run", "some systems not run", f"not compared with {missing}")
    if not outcome.is_comparable:
        return Obstacle("signatures", "scored differently", "scores computed differently")
    count = len(outcome.differences)
    return Obstacle("seeds", "too few seeds", f"too few seeds: {count} of {SEEDS}") if count < SEEDS else None


def _pool(outcome: Outcome) -> Hashable:
    """Return what comparisons have in common that share what is known of their variance."""
    others = tuple((other.measures, other.over_baseline) for other in outcome.others)
    return outcome.results.folder, outcome.side.measures, outcome.side.over_baseline, others[:1]


def _priors(outcomes: Sequence[Outcome]) -> dict[Hashable, Prior | None]:
    """Return, by pool, what the differing comparisons of the claims say about a variance."""
    pools: dict[Hashable, dict[Hashable, Sample]] = defaultdict(dict)
    for outcome in outcomes:
        for pair, differences in zip(outcome.pairs, outcome.all_differences, strict=True):
            pools[_pool(outcome)][frozenset(pair)] = Sample(differences)
    return {pool: _prior(list(samples.values())) for pool, samples in pools.items()}


def _prior(samples: Sequence[Sample]) -> Prior | None:
    return prior_of([sample.variance for sample in samples], len(samples[0].differences) - 1)


def _tested(claim: Claim, outcome: Outcome, prior: Prior | None) -> Verdict:
    samples = tuple(Sample(differences, prior) for differences in outcome.all_differences)
    if not all(sample.error for sample in samples):
        reason = Obstacle("seeds", "seeds do not vary", "all seeds have the same difference, so there is no test")
        return Verdict(claim, outcome, OPEN, reason)
    claimed, other = p_values(claim, samples)
    return Verdict(claim, outcome, OPEN, samples=samples, p=min(claimed, other), supports=claimed < other)


def _word(verdict: Verdict) -> str:
    """Return the verdict of a test; the first rule that holds decides."""
    p, adjusted_p = verdict.p or 0.0, verdict.adjusted_p or 0.0
    if adjusted_p < SIGNIFICANT:
        return SUPPORTED if verdict.supports else AGAINST
    if p < SIGNIFICANT:
        return LEANING if verdict.supports else LEANING_AGAINST
    is_bleu = all("bleu" in measure.metric for measure in verdict.outcome.side.measures) if verdict.outcome else False
    if is_bleu and all(max(one.p_above(-ALIKE), one.p_below(ALIKE)) < SIGNIFICANT for one in verdict.samples):
        return ALIKE_SYSTEMS
    return OPEN
