"""Compare the tables and figures of a paper with the numbers of all experiments that have some of its systems."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from context_nmt.measures.rows import TEXT, Measure
from context_nmt.report.published import (
    COST_METRICS,
    ITERATIONS_METRIC,
    MeasureSpec,
    Paper,
    PaperColumn,
    PaperRow,
    PaperTable,
)
from context_nmt.report.tables import (
    DASH_CELL,
    EMPTY_CELL,
    TIMES,
    Cell,
    Grid,
    GridRow,
    Heading,
    estimate_cell,
    value_cell,
)
from context_nmt.report.verdicts import without_invalid_p
from context_nmt.results.metrics import format_difference, is_score, measure_name
from context_nmt.results.table import Difference, Estimate, Results

CITED_CELL = Cell("cited")
REPLICA_NOTE = (
    "An experiment on test sets other than the paper's also has other text and other model sizes. Its scores and sizes"
    " cannot be compared with the published ones; a system's gains, losses and costs relative to its baseline can."
)


@dataclass(frozen=True)
class Reproduction:
    """An experiment's numbers for a table: its measures, each with the corresponding published column, if any."""

    table: PaperTable
    results: Results
    columns: dict[Measure, PaperColumn | None]  # the measure of a cost has no test set
    is_replica: bool  # whether the experiment has other test sets than the paper

    @property
    def measures(self) -> list[Measure]:
        """The measures of its columns; replicas leave out the validation set if they have another set."""
        measures, validation = list(self.columns), self.results.settings.corpus.validation
        if self.is_replica and any(measure.test_set not in ("", validation) for measure in measures):
            return [measure for measure in measures if measure.test_set != validation]
        return measures

    @property
    def shown_measures(self) -> list[Measure]:
        """Its measures and, if the table has scores but no costs, parameters and training speed."""
        measures = self.measures
        metrics = {measure.metric for measure in measures}
        if metrics & set(COST_METRICS) - {ITERATIONS_METRIC} or not any(map(is_score, metrics)):
            return measures
        return [*measures, Measure("", "parameters"), Measure("", "training_speed")]

    @property
    def labels(self) -> list[str]:
        """The experiment's labels of the systems in the table that have been run."""
        variants = dict.fromkeys(row.variant for row in self.table.rows if row.variant)
        return [self.results.settings.label(name) for name in variants if name in self.results.measured_systems]

    def baseline(self, row: PaperRow) -> str | None:
        """Return the baseline of a row's system in the experiment; None if the paper compares the row with nothing."""
        variant = self.results.settings.variants.get(row.variant or "")
        baseline = variant.baseline if variant and row.baseline else None
        return baseline if baseline in self.results.systems else None

    def has_other_baseline(self, row: PaperRow) -> bool:
        """Return whether the experiment compares a row with another baseline than the paper does."""
        return self.baseline(row) not in (None, row.baseline)

    def number(self, row: PaperRow, measure: Measure) -> Estimate | None:
        """Return the number of a row's system; None if the experiment lacks the variant or the number.

        Speeds are relative to the Transformer. There is no gain where the paper's table has no baseline.
        """
        results, variant, metric = self.results, row.variant or "", measure.metric
        if row.subject:
            is_other_text = row.experiment not in (None, results.folder)
            value = None if is_other_text else results.reference_value(row.subject, measure)
            return None if value is None else Estimate(value)
        if variant not in results.models:
            return None
        model, baseline = results.models[variant], self.baseline(row)
        if metric == ITERATIONS_METRIC:
            iterations = results.settings.recipe(variant).decoding.iterations
            return Estimate(iterations) if model["kind"] == "masked" else None
        if metric == "parameters":
            parameters = model["parameters"]
            added = parameters - results.models[baseline]["parameters"] if baseline in results.models else None
            return Estimate(parameters, gain=None if added is None else Difference(added, None, None))
        if metric in COST_METRICS:
            speed = results.speeds.ratio(model, metric.removesuffix("_speed"))
            return None if speed is None else Estimate(speed)
        estimate = without_invalid_p(results, variant, measure)
        return estimate and (estimate if baseline else replace(estimate, gain=None))


def reproduce_paper(paper: Paper, results: Results) -> list[Reproduction]:
    """Return an experiment's reproductions of a paper's tables: on the paper's text or, if there are none, replicas."""
    reproductions = [reproduction for table in paper.tables if (reproduction := reproduce(table, results))]
    on_own_text = [reproduction for reproduction in reproductions if not reproduction.is_replica]
    if any(reproduction.table.has_scores for reproduction in on_own_text):
        return on_own_text
    return [replace(reproduction, is_replica=True) for reproduction in reproductions]


def reproduce(table: PaperTable, results: Results) -> Reproduction | None:
    """Return the reproduction of a table; None if the experiment has none of the variants that it compares.

    If the table compares nothing, any of its variants suffices.
    """
    rows = table.compared or table.rows
    if not any(row.variant in results.models or row.experiment == results.folder for row in rows):
        return None
    columns: dict[Measure, PaperColumn | None] = {
        column.measure: column for column in table.columns if _has_column(results, table, column)
    }
    is_replica = table.has_scores and not any(measure.test_set for measure in columns)
    measures = _replica_measures(table, results) if is_replica else []
    if is_replica and not measures:
        return None
    return Reproduction(table, results, columns | dict.fromkeys(measures), is_replica)


def _has_column(results: Results, table: PaperTable, column: PaperColumn) -> bool:
    """Return whether an experiment has the numbers of a column."""
    matches, measure = column.has_languages_of(results.settings.corpus), column.measure
    if column.metric in COST_METRICS:  # if no column has the experiment's languages, any will do
        languages = [other.languages for other in table.columns if other.metric == column.metric]
        return matches or results.settings.corpus.direction not in languages
    return matches and (measure in results.measures or (TEXT, measure) in results.reference_values)


def _replica_measures(table: PaperTable, results: Results) -> list[Measure]:
    """Return the measures of a replica: those that the table asks for or, if it names none, the tested metric."""
    columns = (column for column in table.columns if not is_score(column.metric) and column.metric not in COST_METRICS)
    table_specs = dict.fromkeys(
        MeasureSpec(metric=column.metric, layer=column.layer, tag=column.tag) for column in columns
    )
    specs = table.replica or tuple(table_specs) or (MeasureSpec(metric=results.settings.significance.bleu),)
    by_set = [
        [measure for spec in specs for measure in spec.measures_on(name) if measure in results.measures]
        for name in results.sets
    ]
    measures_of_sets = list(filter(None, by_set))
    chosen = measures_of_sets[-1:] if table.across else measures_of_sets  # curves are drawn for one set
    return [measure for measures in chosen for measure in measures]


@dataclass(frozen=True)
class Comparison:
    """A table or figure of a paper with its reproductions by all experiments."""

    paper: str  # the name of the paper's file
    table: PaperTable
    reproductions: tuple[Reproduction, ...]
    experiments: tuple[Results, ...]

    @property
    def name(self) -> str:
        """The name of its files and of its anchor on the page."""
        return re.sub(r"\W+", "-", f"{self.paper}-{self.table.id}".lower())

    @cached_property
    def grid(self) -> Grid:
        """The published columns, then a group of columns per experiment."""
        return Grid(
            name=self.name,
            title=f"{self.table.id}: {self.table.title}",
            headings=tuple(self._headings()),
            rows=tuple(self._row(row) for row in self.table.rows),
            notes=(*self._missing_notes(), *self._notes(), *self._unpublished_notes()),
        )

    @cached_property
    def page_grid(self) -> Grid:
        """The grid for a page: what has a number, with notes on its numbers."""
        return replace(self.grid.without_gaps(), notes=tuple(self._notes()))

    @cached_property
    def _published(self) -> list[PaperColumn]:
        """The published columns with a number, or all columns if there is nothing else to show."""
        published_ids = {name for row in self.table.rows for name in row.published}
        is_shown = bool(published_ids or self._reproduced)
        return [column for column in self.table.columns if column.id in published_ids or not is_shown]

    @cached_property
    def _reproduced(self) -> list[tuple[Reproduction, Measure]]:
        return [
            (reproduction, measure) for reproduction in self.reproductions for measure in reproduction.shown_measures
        ]

    @property
    def not_run(self) -> dict[str, list[str]]:
        """The test sets that still lack some systems, by the command that would run these systems."""
        sets: dict[str, list[str]] = {}
        rows, columns = self.table.rows, (column for column in self.table.columns if not column.obstacle)
        by_coverage = sorted(
            self.experiments, key=lambda results: -sum(row.variant in results.settings.variants for row in rows)
        )
        for column, row in product(columns, rows):
            capable = [results for results in by_coverage if _can_fill(results, row, column)]
            if capable and not any(
                row.variant in results.measured_systems or (row.experiment and results.measured_systems)
                for results in capable
            ):
                test_sets = sets.setdefault(capable[0].command, [])
                test_sets += [str(column.test_set)] if str(column.test_set) not in test_sets else []
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
        """Return an experiment's number, naming a baseline other than the paper's; a dash if it has not run."""
        results, estimate = reproduction.results, reproduction.number(row, measure)
        if estimate is None:
            is_left = row.variant in results.settings.variants and row.variant not in results.measured_systems
            return DASH_CELL if is_left else EMPTY_CELL if row.variant or row.subject else CITED_CELL
        if row.subject == "text" or measure.metric == ITERATIONS_METRIC:
            return value_cell(estimate.mean, "{:,.0f}")
        is_other = reproduction.has_other_baseline(row)
        baseline = results.settings.label(str(reproduction.baseline(row))) if is_other else ""
        if measure.metric != "parameters":
            return estimate_cell(estimate, self.table.decimals_of(measure.metric), against=baseline)
        gain, against = estimate.gain, f" to {baseline}" if baseline else ""
        ratio = f" ({TIMES} {estimate.mean / (estimate.mean - gain.mean):.2f}{against})" if gain else ""
        return replace(estimate_cell(estimate), text=f"{estimate.mean:,.0f}{ratio}")

    def _missing_notes(self) -> Iterator[str]:
        missing = [f"`{command}` ({', '.join(names)})" for command, names in self.not_run.items()]
        if missing:
            yield f"Not run: {'; '.join(missing)}"
        for obstacle in dict.fromkeys(column.obstacle for column in self.table.columns if column.obstacle):
            yield f"Cannot be filled: {obstacle}"

    def _notes(self) -> Iterator[str]:
        if any(reproduction.is_replica for reproduction in self.reproductions):
            yield REPLICA_NOTE
        signatures_by_name: dict[str, set[str]] = {}
        for reproduction in self.reproductions:
            labels = reproduction.labels if self.table.has_scores and not reproduction.is_replica else []
            if labels:  # they say if a training was shortened
                yield f"Systems of {reproduction.results.title}: {'; '.join(labels)}"
            for measure in reproduction.measures:
                signatures_by_name.setdefault(measure_name(measure), set()).update(
                    reproduction.results.signatures(measure)
                )
        for name, signatures in signatures_by_name.items():
            if signatures:
                yield f"{name}: {'; '.join(sorted(signatures))}"

    def _unpublished_notes(self) -> Iterator[str]:
        labels = [column.label for column in self.table.columns if column not in self._published]
        if labels and not self.table.across:
            yield f"Without a published number here: {', '.join(dict.fromkeys(labels))}."


def comparisons_of(name: str, paper: Paper, experiments: Sequence[Results]) -> list[Comparison]:
    """Compare each table and figure of a paper with its reproductions by all experiments."""
    reproductions = [
        reproduction for results in experiments if results.models for reproduction in reproduce_paper(paper, results)
    ]
    return [
        Comparison(
            name,
            table,
            tuple(reproduction for reproduction in reproductions if reproduction.table.id == table.id),
            tuple(experiments),
        )
        for table in paper.tables
    ]


def _published_cell(table: PaperTable, row: PaperRow, column: PaperColumn) -> Cell:
    """Return a published number; in brackets, its difference from or ratio to the baseline, and the paper's remark."""
    value = row.published.get(column.id)
    if value is None:
        return EMPTY_CELL
    gain, ratio = table.published_gain(row, column), table.published_ratio(row, column)
    remarks = [row.marks[column.id]] if column.id in row.marks else []
    if not column.difference and ratio:
        remarks.insert(0, f"{TIMES} {ratio:.2f}")
    elif not column.difference and gain is not None and column.metric not in COST_METRICS:
        remarks.insert(0, format_difference(gain, column.decimals))
    text = format_difference(value, column.decimals) if column.difference else f"{value:,.{column.decimals}f}"
    text += f" ({'; '.join(remarks)})" if remarks else ""
    return Cell(text, value=None if column.difference else value, difference=gain)


def _can_fill(results: Results, row: PaperRow, column: PaperColumn) -> bool:
    """Return whether an experiment has a row's system, or its text, and a column's test set."""
    corpus = results.settings.corpus
    is_of_row = row.experiment == results.folder if row.experiment else row.variant in results.settings.variants
    is_of_column = column.has_languages_of(corpus) and column.test_set in (*results.sets, corpus.train)
    return is_of_row and is_of_column and column.id not in row.empty
