"""Compare a table or figure of a paper with the numbers of every experiment that has some of its systems."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from context_nmt.measures.rows import TEXT, Measure
from context_nmt.report.papers.published import (
    COSTS,
    ITERATIONS,
    MeasureSpec,
    Paper,
    PaperColumn,
    PaperRow,
    PaperTable,
)
from context_nmt.report.papers.verdicts import unmarked
from context_nmt.report.tables import BLANK, NOTHING, TIMES, Cell, Grid, GridRow, Heading, estimate_cell, value_cell
from context_nmt.results.metrics import format_difference, is_score, measure_name
from context_nmt.results.table import Difference, Estimate, Results

CITED = Cell("cited")
REPLICA = (
    "In an experiment on other test sets than the paper's, text and model size differ from the paper's, too. Its scores"
    " and sizes cannot be compared with the published ones; a system's gains, losses and costs relative to its baseline"
    " can."
)


@dataclass(frozen=True)
class Reproduction:
    """The numbers of an experiment for a table: its measures, each with the published column of the same, if any."""

    table: PaperTable
    results: Results
    columns: dict[Measure, PaperColumn | None]  # the measure of a cost has no test set
    is_replica: bool  # the experiment has other test sets than the paper

    @property
    def measures(self) -> list[Measure]:
        """The measures of its columns; those of replicas are not on the validation set if there is another set."""
        measures, validation = list(self.columns), self.results.settings.corpus.validation
        if self.is_replica and any(measure.test_set not in ("", validation) for measure in measures):
            return [measure for measure in measures if measure.test_set != validation]
        return measures

    @property
    def shown(self) -> list[Measure]:
        """Its measures; with parameters and training speed beside scores if the table has no such columns."""
        measures = self.measures
        metrics = {measure.metric for measure in measures}
        if metrics & set(COSTS) - {ITERATIONS} or not any(map(is_score, metrics)):
            return measures
        return [*measures, Measure("", "parameters"), Measure("", "training_speed")]

    def baseline(self, row: PaperRow) -> str | None:
        """Return the baseline that the row's system has in the experiment, if the paper compares it with one."""
        variant = self.results.settings.variants.get(row.variant or "")
        baseline = variant.baseline if variant and row.baseline else None
        return baseline if baseline in self.results.models else None

    def has_other_baseline(self, row: PaperRow) -> bool:
        """Return whether the experiment compares a row with another baseline than the paper."""
        return self.baseline(row) not in (None, row.baseline)

    def number(self, row: PaperRow, measure: Measure) -> Estimate | None:
        """Return the number of a row's system; None if the experiment has no such variant or number.

        A speed is relative to the Transformer's. The gain is missing where the paper's table has no baseline.
        """
        results, variant, metric = self.results, row.variant or "", measure.metric
        if row.subject:
            is_other_text = row.experiment not in (None, results.folder)
            value = None if is_other_text else results.reference_value(row.subject, measure)
            return None if value is None else Estimate(value)
        if variant not in results.models:
            return None
        model, baseline = results.models[variant], self.baseline(row)
        if metric == ITERATIONS:
            iterations = results.settings.recipe(variant).decoding.iterations
            return Estimate(iterations) if model["kind"] == "masked" else None
        if metric == "parameters":
            parameters = model["parameters"]
            added = parameters - results.models[baseline]["parameters"] if baseline else None
            return Estimate(parameters, gain=None if added is None else Difference(added, None, None))
        if metric in COSTS:
            speed = results.speeds.ratio(model, metric.removesuffix("_speed"))
            return None if speed is None else Estimate(speed)
        estimate = unmarked(results, variant, measure)
        return estimate and (estimate if baseline else replace(estimate, gain=None))


def reproduce_paper(paper: Paper, results: Results) -> list[Reproduction]:
    """Return an experiment's reproductions of a paper's tables: those on the paper's text or, without any, replicas."""
    reproductions = [reproduction for table in paper.tables if (reproduction := reproduce(table, results))]
    on_own_text = [reproduction for reproduction in reproductions if not reproduction.is_replica]
    if any(reproduction.table.has_scores for reproduction in on_own_text):
        return on_own_text
    return [replace(reproduction, is_replica=True) for reproduction in reproductions]


def reproduce(table: PaperTable, results: Results) -> Reproduction | None:
    """Return the reproduction of a table; None if the experiment has none of the variants compared with a baseline.

    If the table compares nothing, any of its variants suffices.
    """
    rows = table.compared or table.rows
    if not any(row.variant in results.models or row.experiment == results.folder for row in rows):
        return None
    columns: dict[Measure, PaperColumn | None] = {
        column.measure: column for column in table.columns if _has(results, table, column)
    }
    is_replica = table.has_scores and not any(measure.test_set for measure in columns)
    measures = _replica_measures(table, results) if is_replica else []
    if is_replica and not measures:
        return None
    return Reproduction(table, results, columns | dict.fromkeys(measures), is_replica)


def _has(results: Results, table: PaperTable, column: PaperColumn) -> bool:
    """Return whether an experiment has the numbers of a column."""
    matches, measure = column.is_of(results.settings.corpus), column.measure
    if column.metric in COSTS:  # if no column of this cost is for the experiment's languages, that of others is as good
        languages = [other.languages for other in table.columns if other.metric == column.metric]
        return matches or results.settings.corpus.direction not in languages
    return matches and (measure in results.measures or (TEXT, measure) in results.reference_values)


def _replica_measures(table: PaperTable, results: Results) -> list[Measure]:
    """Return what an experiment on other text has of what the table asks for or, if nothing, the tested metric."""
    columns = (column for column in table.columns if not is_score(column.metric) and column.metric not in COSTS)
    own = dict.fromkeys(MeasureSpec(metric=column.metric, layer=column.layer, tag=column.tag) for column in columns)
    specs = table.replica or tuple(own) or (MeasureSpec(metric=results.settings.significance.metric),)
    by_set = [
        [measure for spec in specs for measure in spec.on(name) if measure in results.measures] for name in results.sets
    ]
    found = list(filter(None, by_set))
    return [measure for measures in (found[-1:] if table.across else found) for measure in measures]  # curves: one set


@dataclass(frozen=True)
class Comparison:
    """A table or figure of a paper with its reproductions by all experiments."""

    paper: str  # the name of its file
    table: PaperTable
    reproductions: tuple[Reproduction, ...]
    experiments: tuple[Results, ...]

    @property
    def name(self) -> str:
        """The name of its files and of its place on the page."""
        return re.sub(r"\W+", "-", f"{self.paper}-{self.table.id}".lower())

    @cached_property
    def grid(self) -> Grid:
        """The published columns, then a group of columns per experiment."""
        return Grid(
            name=self.name,
            title=f"{self.table.id}: {self.table.title}",
            headings=tuple(self._headings()),
            rows=tuple(self._row(row) for row in self.table.rows),
            notes=tuple(self._notes()),
        )

    @cached_property
    def _published(self) -> list[PaperColumn]:
        """The published columns with a number; all columns if there is nothing else to show."""
        known = {name for row in self.table.rows for name in row.published}
        is_shown = bool(known or self._reproduced)
        return [column for column in self.table.columns if column.id in known or not is_shown]

    @cached_property
    def _reproduced(self) -> list[tuple[Reproduction, Measure]]:
        return [(reproduction, measure) for reproduction in self.reproductions for measure in reproduction.shown]

    @property
    def not_run(self) -> dict[str, list[str]]:
        """The test sets that are still missing some systems, by the command of an experiment that would run them."""
        sets: dict[str, list[str]] = {}
        rows, columns = self.table.rows, (column for column in self.table.columns if not column.obstacle)
        best = sorted(self.experiments, key=lambda one: -sum(row.variant in one.settings.variants for row in rows))
        for column, row in product(columns, rows):
            able = [results for results in best if _can_fill(results, row, column)]
            if able and not any(
                row.variant in one.measured_systems or (row.experiment and one.measured_systems) for one in able
            ):
                names = sets.setdefault(able[0].command, [])
                names += [str(column.test_set)] if str(column.test_set) not in names else []
        return sets

    def _headings(self) -> Iterator[Heading]:
        for column in self._published:
            yield Heading("Published", column.label + (", difference" if column.difference else ""))
        for reproduction, measure in self._reproduced:
            name = measure.metric.replace("_", " ")
            cost = f"{name} / Transformer" if name.endswith("speed") else name
            title = f"{measure.test_set}, {measure_name(measure)}" if measure.test_set else cost
            yield Heading(reproduction.results.title, title)

    def _row(self, row: PaperRow) -> GridRow:
        cells = [_published_cell(self.table, row, column) for column in self._published]
        cells += [self._reproduced_cell(row, reproduction, measure) for reproduction, measure in self._reproduced]
        return GridRow(row.label, row.variant, tuple(cells))

    def _reproduced_cell(self, row: PaperRow, reproduction: Reproduction, measure: Measure) -> Cell:
        """Return an experiment's number, naming its baseline if that is not the paper's; a dash if it has not run."""
        results, estimate = reproduction.results, reproduction.number(row, measure)
        if estimate is None:
            is_left = row.variant in results.settings.variants and row.variant not in results.measured_systems
            return NOTHING if is_left else BLANK if row.variant or row.subject else CITED
        if row.subject == "text" or measure.metric == ITERATIONS:
            return value_cell(estimate.mean, "{:,.0f}")
        is_other = reproduction.has_other_baseline(row)
        baseline = results.settings.label(str(reproduction.baseline(row))) if is_other else ""
        if measure.metric != "parameters":
            return estimate_cell(estimate, self.table.decimals_of(measure.metric), against=baseline)
        gain, against = estimate.gain, f" to {baseline}" if baseline else ""
        ratio = f" ({TIMES} {estimate.mean / (estimate.mean - gain.mean):.2f}{against})" if gain else ""
        return replace(estimate_cell(estimate), text=f"{estimate.mean:,.0f}{ratio}")

    def _notes(self) -> Iterator[str]:
        missing = [f"`{command}` ({', '.join(names)})" for command, names in self.not_run.items()]
        if missing:
            yield f"Not run: {'; '.join(missing)}"
        for obstacle in dict.fromkeys(column.obstacle for column in self.table.columns if column.obstacle):
            yield f"Cannot be filled: {obstacle}"
        if any(reproduction.is_replica for reproduction in self.reproductions):
            yield REPLICA
        signatures_by_name: dict[str, set[str]] = {}
        for reproduction in self.reproductions:
            for measure in reproduction.measures:
                signatures_by_name.setdefault(measure_name(measure), set()).update(
                    reproduction.results.signatures(measure)
                )
        for name, signatures in signatures_by_name.items():
            if signatures:
                yield f"{name}: {'; '.join(sorted(signatures))}"
        labels = [column.label for column in self.table.columns if column not in self._published]
        if labels and not self.table.across:
            yield f"Without a published number here: {', '.join(dict.fromkeys(labels))}."


def comparisons_of(name: str, paper: Paper, experiments: Sequence[Results]) -> list[Comparison]:
    """Compare each table and figure of a paper with its reproductions by all experiments."""
    found = [one for results in experiments if results.models for one in reproduce_paper(paper, results)]
    return [
        Comparison(name, table, tuple(one for one in found if one.table.id == table.id), tuple(experiments))
        for table in paper.tables
    ]


def _published_cell(table: PaperTable, row: PaperRow, column: PaperColumn) -> Cell:
    """Return a published number and, in brackets, its difference or ratio to the baseline and the paper's remark."""
    value = row.published.get(column.id)
    if value is None:
        return BLANK
    gain, ratio = table.published_gain(row, column), table.published_ratio(row, column)
    remarks = [row.marks[column.id]] if column.id in row.marks else []
    if not column.difference and ratio:
        remarks.insert(0, f"{TIMES} {ratio:.2f}")
    elif not column.difference and gain is not None and column.metric not in COSTS:
        remarks.insert(0, format_difference(gain, column.decimals))
    text = format_difference(value, column.decimals) if column.difference else f"{value:,.{column.decimals}f}"
    text += f" ({'; '.join(remarks)})" if remarks else ""
    return Cell(text, value=None if column.difference else value, difference=gain)


def _can_fill(results: Results, row: PaperRow, column: PaperColumn) -> bool:
    """Return whether an experiment has a row's system, or its text, and a column's test set, if it has one."""
    corpus = results.settings.corpus
    is_of_row = row.experiment == results.folder if row.experiment else row.variant in results.settings.variants
    is_of_column = column.is_of(corpus) and column.test_set in (*results.sets, corpus.train)
    return is_of_row and is_of_column and column.id not in row.empty
