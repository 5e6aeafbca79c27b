"""Collect the numbers that one experiment has for a paper's tables."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from context_nmt.measures.rows import TEXT, Measure
from context_nmt.report.papers.columns import COSTS, ITERATIONS, PaperColumn, Wanted
from context_nmt.report.papers.confounds import unmarked
from context_nmt.report.papers.published import Paper, PaperRow, PaperTable
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
    """The numbers of an experiment for a table: each column is a published one, a reproduced one, or both.

    A reproduced column is a measure; that of a cost has no test set.
    """

    table: PaperTable
    results: Results
    columns: tuple[tuple[PaperColumn | None, Measure | None], ...]
    is_replica: bool  # the experiment has other test sets than the paper

    @property
    def measures(self) -> list[Measure]:
        """The measures of its columns; those of replicas are not on the validation set if there is another set."""
        measures = list(dict.fromkeys(measure for _, measure in self.columns if measure))
        validation = self.results.settings.corpus.validation
        if self.is_replica and any(measure.test_set not in ("", validation) for measure in measures):
            return [measure for measure in measures if measure.test_set != validation]
        return measures

    def label(self, row: PaperRow) -> str:
        """Return the row's label, with the settings in which the experiment's system differs from the paper's."""
        model = self.results.models.get(row.variant or "", {"slots": {}})
        fillings = [filling for layers in model["slots"].values() for filling in layers]
        used = {name: {filling[name] for filling in fillings if name in filling} for name in row.settings}
        differing = [
            f"{name} {', '.join(map(str, sorted(values, key=str)))}"
            for name, values in used.items()
            if values not in (set(), {row.settings[name]})
        ]
        return f"{row.label} (here: {'; '.join(differing)})" if differing else row.label

    def number(self, row: PaperRow, measure: Measure) -> ReproducedNumber | None:
        """Return the number of a row's system; None if the experiment has no such variant or number."""
        results, variant = self.results, row.variant
        if row.subject:
            is_other_text = row.experiment not in (None, results.folder)
            value = None if is_other_text else results.reference_value(row.subject, measure)
            return None if value is None else ReproducedNumber(Estimate(value))
        if variant is None or variant not in results.models:
            return None
        if measure.metric == ITERATIONS:
            iterations = results.settings.recipe(variant).decoding.iterations
            return ReproducedNumber(Estimate(iterations)) if results.models[variant]["kind"] == "masked" else None
        if measure.metric in COSTS and measure.metric != "parameters":
            speed = results.speeds.ratio(results.models[variant], measure.metric.removesuffix("_speed"))
            return None if speed is None else ReproducedNumber(Estimate(speed))
        own_baseline = results.settings.variants[variant].baseline if row.baseline else None
        own_baseline = own_baseline if own_baseline in results.models else None
        baseline = own_baseline if own_baseline != row.baseline else None
        if measure.metric == "parameters":
            parameters = results.models[variant]["parameters"]
            if own_baseline is None:
                return ReproducedNumber(Estimate(parameters))
            baseline_parameters = results.models[own_baseline]["parameters"]
            gain = Difference(parameters - baseline_parameters, None, None)
            return ReproducedNumber(
                Estimate(parameters, gain=gain), ratio=parameters / baseline_parameters, baseline=baseline
            )
        estimate = unmarked(results, variant, measure)
        if estimate is None:
            return None
        if own_baseline is None or estimate.gain is None:
            return ReproducedNumber(replace(estimate, gain=None))
        return ReproducedNumber(estimate, baseline=baseline)


def reproduce_paper(paper: Paper, results: Results) -> list[Reproduction]:
    """Return an experiment's reproductions of a paper's tables: those on the paper's text or, without any, replicas."""
    reproductions = [reproduction for table in paper.tables if (reproduction := reproduce(table, results))]
    on_own_text = [reproduction for reproduction in reproductions if not reproduction.is_replica]
    return (
        on_own_text
        if any(reproduction.table.has_scores for reproduction in on_own_text)
        else [replace(reproduction, is_replica=True) for reproduction in reproductions]
    )


def reproduce(table: PaperTable, results: Results) -> Reproduction | None:
    """Return the reproduction of a table; None if the experiment has none of the variants compared with a baseline.

    If the table compares nothing, any of its variants suffices.
    """
    rows = table.compared or table.rows
    if not any(row.variant in results.models or row.experiment == results.folder for row in rows):
        return None
    column_measures = [_measure(table, column, results) for column in table.columns]
    # two columns may have the same measure: it belongs to the last of them
    columns: list[tuple[PaperColumn | None, Measure | None]] = [
        (column, measure if measure not in column_measures[index + 1 :] else None)
        for index, (column, measure) in enumerate(zip(table.columns, column_measures, strict=True))
    ]
    is_replica = table.has_scores and not any(measure and measure.test_set for measure in column_measures)
    if is_replica:
        measures = list(_replica_measures(table, results))
        if not measures:
            return None
        columns += [(None, measure) for measure in measures]
    return Reproduction(table, results, tuple(columns), is_replica)


def _measure(table: PaperTable, column: PaperColumn, results: Results) -> Measure | None:
    matches = column.is_of(results.settings.corpus)
    if column.metric in COSTS:
        cost_languages = [cost_column.languages for cost_column in table.columns if cost_column.metric == column.metric]
        return (
            Measure("", column.metric) if matches or results.settings.corpus.direction not in cost_languages else None
        )
    measure = column.on(str(column.test_set))
    is_measured = measure in results.measures or (TEXT, measure) in results.reference_values
    return measure if matches and is_measured else None


def _replica_measures(table: PaperTable, results: Results) -> Iterator[Measure]:
    wanted = table.replica_measures or (Wanted(metric=results.settings.significance.metric),)
    measures_by_set = [[measure.on(name) for measure in wanted if measure.is_on(name)] for name in results.sets]
    available = [[measure for measure in measures if measure in results.measures] for measures in measures_by_set]
    available = [measures for measures in available if measures]
    for measures in available[-1:] if table.across else available:  # a figure's curves are on one set
        yield from measures


class OfResults(Protocol):
    """An object that belongs to the results of an experiment."""

    @property
    def results(self) -> Results: ...


Found = TypeVar("Found", bound=OfResults)


def with_most_seeds(found: Iterable[Found], key: Callable[[Found], object]) -> list[Found]:
    """Return one object per key: the first from an experiment with the most seeds."""
    best: dict[object, Found] = {}
    for candidate in found:
        current = best.setdefault(key(candidate), candidate)
        if len(candidate.results.settings.seeds) > len(current.results.settings.seeds):
            best[key(candidate)] = candidate
    return list(best.values())
