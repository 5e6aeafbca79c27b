"""Judge the claims of a paper by their differences over seeds, corrected for the number of tests that were made.

What is known to be wrong with comparisons is in confounds.yaml; `Confound` has the meaning of its keys.
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
from context_nmt.report.papers.outcomes import Outcome
from context_nmt.report.papers.published import ALIKE, Claim
from context_nmt.results.metrics import SIGNIFICANCE_LEVEL
from context_nmt.results.seed_tests import holm
from context_nmt.results.table import Estimate, Results
from context_nmt.settings import Checked, check

PATH = Path(__file__).parents[1] / "confounds.yaml"
SAME_RATE = 0.9  # the smallest ratio of peak rates that counts as the same; curves have the rates of some updates
SEEDS = 5  # for a verdict; of costs, rounds
SUPPORTED, LEANING, ALIKE_SYSTEMS, LEANING_AGAINST, AGAINST, OPEN, NOT_TESTABLE = WORDS = (
    "supported",
    "leaning",
    "no difference",
    "leaning against",
    "against",
    "open",
    "cannot be tested here",
)


@dataclass(frozen=True, kw_only=True)
class Confound(Checked):
    """Comparisons whose numbers do not answer their claim; every key that is given must fit.

    Names of systems and metrics are patterns such as `lexical_*`.
    """

    short: str  # a few words
    says: str  # a sentence or two
    kind: Literal["confounded", "ceiling", "text"] = (
        "confounded"  # ceiling: both near the best; text: unlike the paper's
    )
    corpora: tuple[str, ...] = ()  # of experiments
    experiments: tuple[str, ...] = ()  # their folders
    updates: int | None = None  # those of an experiment's recipe
    metrics: tuple[str, ...] = ()  # one of which fits each metric that is compared
    systems: tuple[str, ...] = ()  # one of which is compared
    against: tuple[str, ...] = ()  # with one of these
    from_scratch: bool = False  # no system continues the training of another one
    rates: bool = False  # the systems are trained with a cosine schedule, but with different peak rates

    def fits(self, results: Results, variants: Collection[str], metrics: Collection[str]) -> bool:
        """Return whether a comparison of variants of an experiment, on some metrics, does not answer its claim."""
        settings, train = results.settings, results.settings.train
        return (
            (not self.corpora or settings.corpus.name in self.corpora)
            and (not self.experiments or results.folder in self.experiments)
            and self.updates in (None, settings.training.maximum_updates)
            and (not self.metrics or all(_any_fits([metric], self.metrics) for metric in metrics))
            and (not self.systems or _any_fits(variants, self.systems))
            and (not self.against or _any_fits(variants, self.against))
            and (not self.from_scratch or {*variants}.isdisjoint((*train.document, *train.continued)))
            and (not self.rates or _differ_in_rate(results, variants))
        )


def _any_fits(names: Collection[str], patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for name in names for pattern in patterns)


def _differ_in_rate(results: Results, variants: Collection[str]) -> bool:
    """Return whether variants were trained with a cosine schedule and peak rates that differ, as curves show."""
    kinds = {results.settings.recipe(name).training.schedule.kind for name in variants}
    curves = [curve for name in variants for curve in results.curves.get(name, ()) if "learning_rate" in curve]
    peaks = [float(curve["learning_rate"].max()) for curve in curves if len(curve)]
    return kinds == {"cosine"} and bool(peaks) and min(peaks) < SAME_RATE * max(peaks)


@cache
def read_confounds() -> list[Confound]:
    """Read confounds.yaml; raise UserError for a broken rule."""
    return [
        check(Confound, entry, where=f"{PATH.name}, entry {number}") for number, entry in enumerate(read_yaml(PATH))
    ]


def confound_of(outcome: Outcome) -> Confound | None:
    """Return the first entry of confounds.yaml that fits a comparison; None for costs, which no training changes."""
    if outcome.claim.is_cost:
        return None
    metrics = {measure.metric for measure in outcome.side.measures}
    found = (one for one in read_confounds() if one.fits(outcome.results, outcome.systems, metrics))
    return next(found, None)


def is_answer(results: Results, variant: str, measure: Measure) -> bool:
    """Return whether nothing is known to be wrong with a system's difference from its baseline."""
    compared = {variant, results.baseline(variant) or variant}
    return not any(one.fits(results, compared & {*results.models}, [measure.metric]) for one in read_confounds())


def unmarked(results: Results, variant: str, measure: Measure) -> Estimate | None:
    """Return a system's estimate, without p if its difference from the baseline answers no claim."""
    estimate = results.estimate(variant, measure)
    if estimate is None or estimate.gain is None or is_answer(results, variant, measure):
        return estimate
    return replace(estimate, gain=replace(estimate.gain, p=None))


def confounds_of(results: Results, metrics: Collection[str]) -> list[Confound]:
    """Return the entries that fit a system's difference from its baseline, in one of the metrics."""
    pairs = [
        (name, results.settings.variants[name].baseline) for name in results.models if name in results.measured_systems
    ]
    compared = [(name, baseline) for name, baseline in pairs if baseline in results.measured_systems]
    return [
        confound
        for confound in read_confounds()
        if any(confound.fits(results, pair, [metric]) for pair in compared for metric in metrics)
    ]


class Obstacle(NamedTuple):
    """Why a claim has no verdict: a kind, a few words and a sentence."""

    kind: str
    short: str
    says: str


def obstacle_of(claim: Claim, outcome: Outcome | None) -> Obstacle | Confound | None:
    """Return why the experiment that judges a claim, which has run if there is an outcome, cannot test it."""
    if outcome is None:
        return Obstacle("not run", "has not been run", f"has not been run: `{claim.command}`")
    if found := confound_of(outcome) or fault_of(outcome):
        return found
    if not all(sample.variance for sample in outcome.samples):
        return Obstacle("seeds", "seeds do not vary", "all seeds have the same difference, so there is no test")
    return None


def fault_of(outcome: Outcome) -> Obstacle | None:
    """Return why the numbers of a comparison must not be tested; None if they may."""
    if outcome.is_out_of_date:
        return Obstacle("old", "out of date", "out of date: its code, settings or text have changed since then")
    if outcome.missing:
        return Obstacle("not run", "some systems not run", f"not compared with {', '.join(outcome.missing)}")
    if not outcome.is_comparable:
        return Obstacle("signatures", "scored differently", "scores computed differently")
    count = len(outcome.differences)
    kind, short = ("cost", "too few rounds") if outcome.claim.is_cost else ("seeds", "too few seeds")
    return Obstacle(kind, short, f"{short}: {count} of {SEEDS}") if count < SEEDS else None


def adjusted_p_values(judges: Sequence[Outcome | None]) -> list[float | None]:
    """Correct the p-values of one paper's claims for their number; None for those that cannot be tested.

    Primary claims share Holm's correction, the others Benjamini and Hochberg's.
    """
    tested = {n: one for n, one in enumerate(judges) if one and not obstacle_of(one.claim, one)}
    adjusted: list[float | None] = [None] * len(judges)
    for primary in (True, False):
        family = {number: min(one.p_values) for number, one in tested.items() if one.claim.primary == primary}
        found = list(family.values())
        corrected = holm(found) if primary or not found else false_discovery_control(found).tolist()
        for number, p in zip(family, corrected, strict=True):
            adjusted[number] = p
    return adjusted


def verdict_of(outcome: Outcome, adjusted_p: float) -> str:
    """Return the verdict of a test; the first rule that holds decides."""
    claimed, other = outcome.p_values
    if adjusted_p < SIGNIFICANCE_LEVEL:
        return SUPPORTED if claimed < other else AGAINST
    if min(claimed, other) < SIGNIFICANCE_LEVEL:
        return LEANING if claimed < other else LEANING_AGAINST
    is_directed = outcome.claim.direction in ("higher", "lower")
    is_within = all(max(one.p_above(-ALIKE), one.p_below(ALIKE)) < SIGNIFICANCE_LEVEL for one in outcome.samples)
    return ALIKE_SYSTEMS if outcome.claim.is_bleu and is_directed and is_within else OPEN
