"""Judge the claims of a paper by their differences over seeds, corrected for the number of tests that were made.

What is known to be wrong with comparisons is in confounds.yaml; `Confound` has the meaning of its keys.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cache
from itertools import combinations
from operator import sub
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple

from scipy.stats import false_discovery_control

from context_nmt.files import read_yaml
from context_nmt.measures.rows import Measure
from context_nmt.report.papers.outcomes import Outcome
from context_nmt.report.papers.published import ALIKE, Claim
from context_nmt.report.papers.seed_tests import Prior, Sample, holm, p_values, prior_of
from context_nmt.results.metrics import SIGNIFICANT
from context_nmt.results.table import Estimate, Results
from context_nmt.settings import Checked, check, require

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

    def __post_init__(self) -> None:
        require(not self.against or bool(self.systems), f"against is {list(self.against)}, but systems is missing")

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
    pairs = [(name, results.settings.variants[name].baseline) for name in results.models if name in results.scored]
    compared = [(name, baseline) for name, baseline in pairs if baseline in results.scored]
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


@dataclass(frozen=True)
class Verdict:
    """What the experiment that judges a claim says about it."""

    claim: Claim
    outcome: Outcome | None  # there, with the hardest of the others first; None if it has not run
    word: str  # one of WORDS
    obstacle: Obstacle | Confound | None = None  # why there is no verdict
    samples: tuple[Sample, ...] = ()  # the differences that were tested, from each of the others
    p: float | None = None  # of its own test, on the side that the differences are on
    adjusted_p: float | None = None  # for all tests of its family: the paper's primary claims, or all others
    supports: bool | None = None  # whether p is that for the claim

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval of the difference from the hardest of the others."""
        if self.samples or self.outcome is None:
            return self.samples[0].interval() if self.samples else None
        return self.outcome.interval


def verdicts_of(
    claims: Sequence[Claim], outcomes: Sequence[Outcome | None], *, shares_variance: bool = True
) -> list[Verdict]:
    """Judge the claims of one paper, each by its outcome in the experiment that judges it.

    Primary claims share Holm's correction, the others Benjamini and Hochberg's. Unless `shares_variance` is False, the
    variances between an experiment's systems say what the variance of a comparison is likely to be.
    """
    verdicts = [
        _verdict(claim, outcome, shares_variance=shares_variance)
        for claim, outcome in zip(claims, outcomes, strict=True)
    ]
    for primary in (True, False):
        family = {n: one.p for n, one in enumerate(verdicts) if one.p is not None and one.claim.primary == primary}
        found = list(family.values())
        corrected = holm(found) if primary or not found else false_discovery_control(found).tolist()
        for (number, p), adjusted_p in zip(family.items(), corrected, strict=True):
            word = _word(verdicts[number], p, adjusted_p)
            verdicts[number] = replace(verdicts[number], word=word, adjusted_p=adjusted_p)
    return verdicts


def _verdict(claim: Claim, outcome: Outcome | None, *, shares_variance: bool) -> Verdict:
    """Test a claim; its word is that of an open one until p is corrected."""
    if outcome is None:
        obstacle = Obstacle("not run", "has not been run", f"has not been run: `{claim.command}`")
        return Verdict(claim, outcome, NOT_TESTABLE, obstacle)
    if found := confound_of(outcome) or fault_of(outcome):
        return Verdict(claim, outcome, OPEN if found.kind == "seeds" else NOT_TESTABLE, found)
    prior = _prior(outcome) if shares_variance else None
    samples = [Sample(differences, prior) for differences in outcome.all_differences]
    if not all(sample.variance for sample in samples):
        reason = Obstacle("seeds", "seeds do not vary", "all seeds have the same difference, so there is no test")
        return Verdict(claim, outcome, OPEN, reason)
    # with what is known of variances, another system may be the hardest
    margin, rivals = claim.alike or 0.0, samples[: max(1, len(outcome.others))]
    order = sorted(range(len(rivals)), key=lambda number: -p_values(claim.direction, margin, [rivals[number]])[0])
    if outcome.others:
        outcome = replace(outcome, others=tuple(outcome.others[number] for number in order))
    samples = [*(rivals[number] for number in order), *samples[len(rivals) :]]
    claimed, other = p_values(claim.direction, margin, samples)
    return Verdict(claim, outcome, OPEN, samples=tuple(samples), p=min(claimed, other), supports=claimed < other)


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


def _prior(outcome: Outcome) -> Prior | None:
    """Return what an experiment's systems say of the variance of a difference: all pairs that are trained alike."""
    results, measures, train = outcome.results, outcome.side.measures, outcome.results.settings.train
    if outcome.side.over_baseline or not outcome.others or any(one.measures != measures for one in outcome.others):
        return None
    groups = (train.bitext, train.distilled, train.document, train.continued)
    group = next((group for group in groups if {*outcome.systems} <= {*group}), ())
    found = [[results.by_seed(name, measure) for measure in measures] for name in group if name in results.models]
    values = [[fmean(seed) for seed in zip(*numbers, strict=True)] for numbers in found if all(numbers)]
    samples = [Sample(tuple(map(sub, one, other))) for one, other in combinations(values, 2)]
    return prior_of([sample.variance for sample in samples], len(outcome.differences) - 1)


def _word(verdict: Verdict, p: float, adjusted_p: float) -> str:
    """Return the verdict of a test; the first rule that holds decides."""
    if adjusted_p < SIGNIFICANT:
        return SUPPORTED if verdict.supports else AGAINST
    if p < SIGNIFICANT:
        return LEANING if verdict.supports else LEANING_AGAINST
    is_directed = verdict.claim.direction in ("higher", "lower")
    is_within = all(max(one.p_above(-ALIKE), one.p_below(ALIKE)) < SIGNIFICANT for one in verdict.samples)
    return ALIKE_SYSTEMS if verdict.claim.is_bleu and is_directed and is_within else OPEN
