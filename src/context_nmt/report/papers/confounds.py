"""What is known to be wrong with comparisons: the meaning of the keys in confounds.yaml."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Literal

from context_nmt.files import read_yaml
from context_nmt.measures.rows import Measure
from context_nmt.report.papers.outcomes import Outcome
from context_nmt.results.table import Estimate, Results
from context_nmt.settings import Checked, require
from context_nmt.settings.checking import check

PATH = Path(__file__).parents[1] / "confounds.yaml"
SAME_RATE = 0.9  # the smallest ratio of peak rates that counts as the same; curves have the rates of some updates


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
