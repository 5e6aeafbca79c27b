"""Judge the claims of a paper by their differences over seeds, corrected for the number of tests.

Known faults of comparisons are in confounds.yaml; `Confound` explains its keys.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from scipy.stats import false_discovery_control

from context_nmt.files import read_yaml
from context_nmt.measures.rows import Measure
from context_nmt.report.outcomes import Outcome
from context_nmt.report.published import Claim
from context_nmt.results.metrics import SIGNIFICANCE_LEVEL
from context_nmt.results.seed_tests import holm
from context_nmt.results.table import Estimate, Results
from context_nmt.settings import Checked, check

CONFOUNDS_FILE = Path(__file__).with_name("confounds.yaml")
SEEDS_FOR_VERDICT = 5  # or rounds, for costs
SUPPORTED, LEANING, NO_DIFFERENCE, LEANING_AGAINST, AGAINST, OPEN, NOT_TESTABLE = VERDICTS = (
    "supported",
    "leaning",
    "no difference",
    "leaning against",
    "against",
    "open",
    "cannot be tested here",
)
DECIDED = (SUPPORTED, NO_DIFFERENCE, AGAINST)


@dataclass(frozen=True, kw_only=True)
class Confound(Checked):
    """Comparisons whose numbers do not answer their claim; all keys that are set must fit.

    Names of systems and metrics are patterns such as `lexical_*`.
    """

    short: str  # a few words
    says: str  # a sentence or two
    kind: Literal["confounded", "ceiling"] = "confounded"  # ceiling: both near the best
    corpora: tuple[str, ...] = ()  # of experiments
    updates: int | None = None  # of an experiment's recipe
    metrics: tuple[str, ...] = ()  # each compared metric fits one of them
    systems: tuple[str, ...] = ()  # a compared system fits one of them
    against: tuple[str, ...] = ()  # another compared system fits one of them
    from_scratch: bool = False  # no system continues the training of another system

    def fits(self, results: Results, variants: Collection[str], metrics: Collection[str]) -> bool:
        """Return whether this confound affects a comparison of variants on some metrics."""
        settings, train = results.settings, results.settings.train
        return (
            (not self.corpora or settings.corpus.name in self.corpora)
            and self.updates in (None, settings.training.maximum_updates)
            and (not self.metrics or all(_any_matches([metric], self.metrics) for metric in metrics))
            and (not self.systems or _any_matches(variants, self.systems))
            and (not self.against or _any_matches(variants, self.against))
            and (not self.from_scratch or {*variants}.isdisjoint((*train.document, *train.continued)))
        )


def _any_matches(names: Collection[str], patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for name in names for pattern in patterns)


@cache
def read_confounds() -> list[Confound]:
    """Read confounds.yaml; raise UserError for an invalid entry."""
    return [
        check(Confound, entry, where=f"{CONFOUNDS_FILE.name}, entry {number}")
        for number, entry in enumerate(read_yaml(CONFOUNDS_FILE))
    ]


def find_confound(outcome: Outcome) -> Confound | None:
    """Return the first confound of a comparison; costs have none, since they do not depend on training."""
    if outcome.claim.is_cost:
        return None
    metrics = {measure.metric for measure in outcome.system.measures}
    matches = (
        confound for confound in read_confounds() if confound.fits(outcome.results, outcome.trained_variants, metrics)
    )
    return next(matches, None)


def answers_claim(results: Results, variant: str, measure: Measure) -> bool:
    """Return whether a system's difference from its baseline has no confound.

    Confounds are of systems that are both trained here, so a difference from an external system has none.
    """
    compared = {variant, results.baseline(variant) or variant}
    return not compared.isdisjoint(results.settings.external) or not any(
        confound.fits(results, compared & {*results.models}, [measure.metric]) for confound in read_confounds()
    )


def without_invalid_p(results: Results, variant: str, measure: Measure) -> Estimate | None:
    """Return a system's estimate, without p if its difference from the baseline has a confound."""
    estimate = results.estimate(variant, measure)
    if estimate is None or estimate.gain is None or answers_claim(results, variant, measure):
        return estimate
    return replace(estimate, gain=replace(estimate.gain, p=None))


def baseline_confounds(results: Results, metrics: Collection[str]) -> list[Confound]:
    """Return the confounds of systems' differences from their baselines, in some of the metrics."""
    pairs = [
        (name, results.settings.variants[name].baseline) for name in results.models if name in results.measured_systems
    ]
    trained = results.measured_systems & {*results.models}
    compared = [(name, baseline) for name, baseline in pairs if baseline in trained]
    return [
        confound
        for confound in read_confounds()
        if any(confound.fits(results, pair, [metric]) for pair in compared for metric in metrics)
    ]


class Obstacle(NamedTuple):
    """Why a claim has no verdict: its kind, a few words and a sentence."""

    kind: str
    short: str
    says: str


def find_obstacle(claim: Claim, outcome: Outcome | None) -> Obstacle | Confound | None:
    """Return why the experiment that judges a claim cannot test it; without an outcome, it has not run."""
    if outcome is None:
        return Obstacle("not run", "has not been run", f"has not been run: `{claim.command}`")
    if fault := find_confound(outcome) or find_fault(outcome):
        return fault
    if not all(sample.variance for sample in outcome.samples):
        return Obstacle("seeds", "seeds do not vary", "all seeds have the same difference, so there is no test")
    return None


def find_fault(outcome: Outcome) -> Obstacle | None:
    """Return why the numbers of a comparison cannot be tested; None if they can."""
    if outcome.is_out_of_date:
        return Obstacle("out of date", "out of date", "out of date: code, settings or text have changed since the run")
    if outcome.missing:
        return Obstacle("not run", "some systems not run", f"not compared with {', '.join(outcome.missing)}")
    if not outcome.is_comparable:
        return Obstacle("scored differently", "scored differently", "scores computed differently")
    if outcome.wrong_seeds:
        return Obstacle("seeds", outcome.wrong_seeds, outcome.wrong_seeds)
    count = len(outcome.differences)
    kind, short = ("cost", "too few rounds") if outcome.claim.is_cost else ("seeds", "too few seeds")
    return Obstacle(kind, short, f"{short}: {count} of {SEEDS_FOR_VERDICT}") if count < SEEDS_FOR_VERDICT else None


def adjusted_p_values(
    claims: Sequence[Claim], outcomes: Sequence[Outcome | None], first_looks: Sequence[Outcome | None]
) -> list[float | None]:
    """Correct the p-values of a paper's claims for their number; a claim that cannot be tested has None.

    Primary claims share Holm's correction, all others Benjamini and Hochberg's. Preregistered claims are corrected
    apart from others; one that cannot be tested counts as a test with p = 1. The second look at a claim is corrected
    with the first looks at those that have no second one, and changes nothing for them.
    """
    p_values, first_p_values = (
        [
            min(outcome.p_values) if outcome and not find_obstacle(claim, outcome) else None
            for claim, outcome in zip(claims, look, strict=True)
        ]
        for look in (outcomes, first_looks)
    )
    families: dict[tuple[bool, bool], list[int]] = {}
    for number, claim in enumerate(claims):
        is_preregistered = claim.preregistration is not None
        if is_preregistered or p_values[number] is not None:
            families.setdefault((claim.primary, is_preregistered), []).append(number)
    adjusted = list(p_values)
    for (is_primary, _), numbers in families.items():
        last, first = (
            _corrected([values[number] for number in numbers], is_primary) for values in (p_values, first_p_values)
        )
        for number, last_p, first_p in zip(numbers, last, first, strict=True):
            is_first_look = first_looks[number] is outcomes[number]
            adjusted[number] = None if p_values[number] is None else first_p if is_first_look else last_p
    return adjusted


def _corrected(p_values: Sequence[float | None], is_primary: bool) -> list[float]:
    family = [1.0 if p is None else p for p in p_values]
    corrected: list[float] = holm(family) if is_primary else false_discovery_control(family).tolist()
    return corrected


def verdict_of(outcome: Outcome, adjusted_p: float) -> str:
    """Return the verdict of a test; the first rule that holds decides."""
    p_for, p_against = outcome.p_values
    if adjusted_p < outcome.claim.level:
        return SUPPORTED if p_for < p_against else AGAINST
    if min(p_for, p_against) < SIGNIFICANCE_LEVEL:
        return LEANING if p_for < p_against else LEANING_AGAINST
    within = outcome.p_no_difference
    return NO_DIFFERENCE if within is not None and within < SIGNIFICANCE_LEVEL else OPEN
