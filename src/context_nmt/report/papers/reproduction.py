"""What one experiment has reproduced of a paper's tables."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from context_nmt.measures.rows import Measure
from context_nmt.report.papers.published import COSTS, Paper, PaperColumn, PaperRow, PaperTable, Wanted
from context_nmt.results.estimates import Difference, Estimate
from context_nmt.results.table import Results


@dataclass(frozen=True)
class ReproducedNumber:
    """A number of an experiment; its gain is missing where the paper's table has no baseline."""

    estimate: Estimate  # parameters as they are, speeds relative to the Transformer
    ratio: float | None = None  # of parameters, to those of the variant's baseline
    baseline: str | None = None  # of the variant, where it is not the paper's


@dataclass(frozen=True)
class Reproduction:
    """What an experiment has for a table: each column is a published one, a reproduced one, or both.

    A reproduced column is a measure; that of a cost has no test set.
    """

    table: PaperTable
    results: Results
    columns: tuple[tuple[PaperColumn | None, Measure | None], ...]
    is_replica: bool  # the experiment has other test sets than the paper

    @property
    def measures(self) -> list[Measure]:
        """The measures of its columns; those of replicas are not on the validation set if there is another set."""
        found = list(dict.fromkeys(measure for _, measure in self.columns if measure))
        validation = self.results.settings.corpus.validation
        if self.is_replica and any(measure.test_set not in ("", validation) for measure in found):
            return [measure for measure in found if measure.test_set != validation]
        return found

    def label(self, row: PaperRow) -> str:
        """Return the row's label, with the settings in which the experiment's system is not the paper's."""
        model = self.results.models.get(row.variant or "", {"slots": {}})
        fillings = [filling for layers in model["slots"].values() for filling in layers]
        own = {name: {filling[name] for filling in fillings if name in filling} for name in row.settings}
        others = [
            f"{name} {', '.join(map(str, sorted(values, key=str)))}"
            for name, values in own.items()
            if values not in (set(), {row.settings[name]})
        ]
        return f"{row.label} (here: {'; '.join(others)})" if others else row.label

    def number(self, row: PaperRow, measure: Measure) -> ReproducedNumber | None:
        """Return the number of a row's system; None if the experiment has no such variant or number."""
        results, variant = self.results, row.variant
        if variant is None or variant not in results.models:
            return None
        if measure.metric in COSTS and measure.metric != "parameters":
            speed = results.speeds.ratio(results.models[variant], measure.metric.removesuffix("_speed"))
            return None if speed is None else ReproducedNumber(Estimate(speed))
        own = results.settings.variants[variant].baseline if row.baseline else None
        own = own if own in results.models else None
        baseline = own if own != row.baseline else None
        if measure.metric == "parameters":
            parameters = results.models[variant]["parameters"]
            if own is None:
                return ReproducedNumber(Estimate(parameters))
            others = results.models[own]["parameters"]
            gain = Difference(parameters - others, None, None)
            return ReproducedNumber(Estimate(parameters, gain=gain), ratio=parameters / others, baseline=baseline)
        estimate = results.estimate(variant, measure)
        if estimate is None:
            return None
        if own is None or estimate.gain is None:
            return ReproducedNumber(replace(estimate, gain=None))
        return ReproducedNumber(estimate, baseline=baseline)


def reproduce_paper(paper: Paper, results: Results) -> list[Reproduction]:
    """Return what an experiment has for a paper's tables: those on its own text or, if there is none, replicas."""
    found = [one for table in paper.tables if (one := reproduce(table, results))]
    own = [one for one in found if not one.is_replica]
    return own if any(one.table.has_scores for one in own) else [replace(one, is_replica=True) for one in found]


def reproduce(table: PaperTable, results: Results) -> Reproduction | None:
    """Return what an experiment has for a table; None if it has no variant that the table compares with a baseline.

    If the table compares nothing, any of its variants will do.
    """
    if not any(row.variant in results.models for row in table.compared or table.rows):
        return None
    found = [_measure(table, column, results) for column in table.columns]
    # two columns may have the same measure: it belongs to the last of them
    columns: list[tuple[PaperColumn | None, Measure | None]] = [
        (column, measure if measure not in found[place + 1 :] else None)
        for place, (column, measure) in enumerate(zip(table.columns, found, strict=True))
    ]
    is_replica = table.has_scores and not any(measure and measure.test_set for measure in found)
    if is_replica:
        measures = list(_replica_measures(table, results))
        if not measures:
            return None
        columns += [(None, measure) for measure in measures]
    return Reproduction(table, results, tuple(columns), is_replica)


def _measure(table: PaperTable, column: PaperColumn, results: Results) -> Measure | None:
    matches = column.languages == results.settings.corpus.direction
    if column.metric in COSTS:
        others = [other.languages for other in table.columns if other.metric == column.metric]
        return Measure("", column.metric) if matches or results.settings.corpus.direction not in others else None
    measure = column.on(str(column.test_set))
    return measure if matches and measure in results.measures else None


def _replica_measures(table: PaperTable, results: Results) -> Iterator[Measure]:
    wanted = table.replica_measures or (Wanted(metric=results.settings.significance.metric),)
    found = [[one.on(name) for one in wanted if one.is_on(name)] for name in results.sets]
    known = [[one for one in measures if one in results.measures] for measures in found]
    known = [measures for measures in known if measures]
    for measures in known[-1:] if table.across else known:  # curves are those of one set
        yield from measures


class OfResults(Protocol):
    """Something found in the results of an experiment."""

    @property
    def results(self) -> Results: ...


Found = TypeVar("Found", bound=OfResults)


def with_most_seeds(found: Iterable[Found], key: Callable[[Found], object]) -> list[Found]:
    """Return, of those with equal keys, the first one from an experiment with most seeds."""
    best: dict[object, Found] = {}
    for one in found:
        before = best.setdefault(key(one), one)
        if len(one.results.settings.seeds) > len(before.results.settings.seeds):
            best[key(one)] = one
    return list(best.values())
