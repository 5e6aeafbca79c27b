"""The numbers of an experiment beside those that a paper has published, table by table."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from context_nmt.report.papers.published import COSTS, Column, Paper, Row, Table
from context_nmt.results.speeds import Speeds
from context_nmt.results.table import Difference
from context_nmt.settings.experiment import ExperimentSettings


class Numbers(Protocol):
    """What is known of an experiment: all its `Results`, or the rows that it has written of them."""

    @property
    def settings(self) -> ExperimentSettings: ...
    @property
    def models(self) -> dict[str, dict[str, Any]]: ...
    @property
    def speeds(self) -> Speeds: ...
    @property
    def test_sets(self) -> list[str]: ...
    @property
    def contrastive_sets(self) -> list[str]: ...
    @property
    def probing_sets(self) -> list[str]: ...
    def has(self, test_set: str, metric: str) -> bool: ...
    def summary(self, variant: str, test_set: str, metric: str) -> dict[str, Any] | None: ...
    def difference(self, variant: str, test_set: str, metric: str) -> Difference | None: ...


@dataclass(frozen=True)
class Measure:
    """What an experiment has for a column: a score or measure on a test set, or a cost."""

    metric: str
    test_set: str | None = None  # None: a cost


@dataclass(frozen=True)
class Cell:
    """One reproduced number; a system of which the paper's table has no baseline is compared with none."""

    value: float  # parameters as they are, speeds relative to the Transformer
    deviation: float = 0.0  # of scores, over seeds
    seeds: int = 1
    difference: float | None = None  # to the variant's baseline
    interval: tuple[float, float] | None = None  # of the difference, over seeds
    p: float | None = None  # of the difference, where it was tested
    ratio: float | None = None  # of parameters, to those of the variant's baseline
    baseline: str | None = None  # of the variant, where it is another one than the paper's


@dataclass(frozen=True)
class Beside:
    """One table; each column is a published one, what is reproduced of it, or both."""

    table: Table
    results: Numbers
    columns: tuple[tuple[Column | None, Measure | None], ...]
    is_replica: bool  # the experiment has other test sets than the paper

    def label(self, row: Row) -> str:
        """The row's label, and the settings of this experiment's own system that are not the paper's."""
        model = self.results.models.get(row.variant or "", {"slots": {}})
        fillings = [filling for layers in model["slots"].values() for filling in layers]
        own = {name: {filling[name] for filling in fillings if name in filling} for name in row.settings}
        others = [
            f"{name} {', '.join(map(str, sorted(values, key=str)))}"
            for name, values in own.items()
            if values not in (set(), {row.settings[name]})
        ]
        return f"{row.label} (here: {'; '.join(others)})" if others else row.label

    def cell(self, row: Row, measure: Measure) -> Cell | None:
        """What the experiment has measured of a row's system; None if it has no such variant or number."""
        results, variant = self.results, row.variant
        if variant is None or variant not in results.models:
            return None
        if measure.metric in COSTS and measure.metric != "parameters":
            speed = results.speeds.ratio(results.models[variant], measure.metric.removesuffix("_speed"))
            return None if speed is None else Cell(speed)
        own = results.settings.variants[variant].baseline if row.baseline else None
        own = own if own in results.models else None
        baseline = own if own != row.baseline else None
        if measure.test_set is None:
            parameters = results.models[variant]["parameters"]
            if own is None:
                return Cell(parameters)
            others = results.models[own]["parameters"]
            return Cell(parameters, difference=parameters - others, ratio=parameters / others, baseline=baseline)
        summary = results.summary(variant, measure.test_set, measure.metric)
        if summary is None:
            return None
        cell = Cell(summary["mean"], summary["deviation"], summary["seeds"])
        gain = results.difference(variant, measure.test_set, measure.metric) if own else None
        if gain is None:
            return cell
        return replace(cell, difference=gain.mean, interval=gain.interval, p=gain.p, baseline=baseline)


def set_paper_beside(paper: Paper, results: Numbers) -> list[Beside]:
    """Find what an experiment has for a paper's tables: those on its own text, or replicas where it has none."""
    found = [beside for table in paper.tables if (beside := set_beside(table, results))]
    if any(beside.table.has_scores and not beside.is_replica for beside in found):
        return [beside for beside in found if not beside.is_replica]
    return [replace(beside, is_replica=True) for beside in found]


def set_beside(table: Table, results: Numbers) -> Beside | None:
    """Find what an experiment has for a table; None if no variant of it is compared there with a baseline.

    Where a table compares nothing, any variant of it will do.
    """
    compared = [row for row in table.rows if row.baseline] or table.rows
    if not any(row.variant in results.models for row in compared):
        return None
    found = [_measure(table, column, results) for column in table.columns]
    # two columns may show one measure: it stands beside the last of them
    columns: list[tuple[Column | None, Measure | None]] = [
        (column, measure if measure not in found[place + 1 :] else None)
        for place, (column, measure) in enumerate(zip(table.columns, found, strict=True))
    ]
    is_replica = table.has_scores and not any(measure and measure.test_set for measure in found)
    if is_replica:
        measures = list(_replica_measures(table, results))
        if not measures:
            return None
        columns += [(None, measure) for measure in measures]
    return Beside(table, results, tuple(columns), is_replica)


def _measure(table: Table, column: Column, results: Numbers) -> Measure | None:
    corpus = results.settings.corpus
    languages = f"{corpus.source}-{corpus.target}"
    matches = (column.languages or table.languages) == languages
    if column.metric in COSTS:
        others = [other for other in table.columns if other.metric == column.metric]
        elsewhere = any((other.languages or table.languages) == languages for other in others)
        return Measure(column.metric) if matches or not elsewhere else None
    here = column.test_set in (*results.test_sets, *results.contrastive_sets, *results.probing_sets)
    if not (matches and here and results.has(str(column.test_set), column.metric)):
        return None
    return Measure(column.metric, column.test_set)


def _replica_measures(table: Table, results: Numbers) -> Iterator[Measure]:
    metrics = table.of_replicas or (results.settings.significance.metric,)
    sets = [
        name
        for name in (*results.test_sets, *results.contrastive_sets, *results.probing_sets)
        if any(results.has(name, metric) for metric in metrics)
    ]
    for name in sets[-1:] if table.across else sets:  # a curve is that of one
        for metric in metrics:
            if results.has(name, metric):
                yield Measure(metric, name)
