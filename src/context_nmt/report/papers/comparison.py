"""Compare a table or figure of a paper with the numbers of every experiment that has some of its systems."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from context_nmt.measures.probing_tasks import UNIT_METRICS
from context_nmt.measures.rows import TEXT, Measure
from context_nmt.report.papers.all_systems import SPEED
from context_nmt.report.papers.published import (
    ANY,
    COSTS,
    ITERATIONS,
    MeasureSpec,
    Paper,
    PaperColumn,
    PaperRow,
    PaperTable,
)
from context_nmt.report.papers.verdicts import unmarked
from context_nmt.report.tables import DASH, TIMES, Cell, Grid, GridRow, Heading, estimate_cell, value_cell
from context_nmt.results.metrics import is_score, name_of, signed
from context_nmt.results.table import Difference, Estimate, Results

NO_EXPERIMENT = "make experiment (none has this text and this system)"
BLANK = Cell("")  # not published, or nothing that a command could fill
CITED = Cell("cited")
WITH_ANY = Cell("with any system")
REPLICA = (
    "In an experiment on other test sets than the paper's, text and model size differ from the paper's, too. Its scores"
    " and sizes cannot be compared with the published ones; a system's gains, losses and costs relative to its baseline"
    " can."
)


@dataclass(frozen=True)
class ReproducedNumber:
    """A number of an experiment; its gain is missing where the paper's table has no baseline."""

    estimate: Estimate  # parameters as they are, speeds relative to the Transformer
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

    @property
    def shown(self) -> list[Measure]:
        """Its measures; with parameters and training speed beside scores if the table has no such columns."""
        measures = self.measures
        metrics = {measure.metric for measure in measures}
        if metrics & set(COSTS) - {ITERATIONS} or not any(map(is_score, metrics)):
            return measures
        return [*measures, Measure("", "parameters"), Measure("", "training_speed")]

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
        results, variant, metric = self.results, row.variant, measure.metric
        if row.subject:
            is_other_text = row.experiment not in (None, results.folder)
            value = None if is_other_text else results.reference_value(row.subject, measure)
            return None if value is None else ReproducedNumber(Estimate(value))
        if variant is None or variant not in results.models:
            return None
        model = results.models[variant]
        if metric == ITERATIONS:
            iterations = results.settings.recipe(variant).decoding.iterations
            return ReproducedNumber(Estimate(iterations)) if model["kind"] == "masked" else None
        own_baseline = results.settings.variants[variant].baseline if row.baseline else None
        own_baseline = own_baseline if own_baseline in results.models else None
        if metric == "parameters":
            parameters, estimate = model["parameters"], Estimate(model["parameters"])
            if own_baseline:
                gain = Difference(parameters - results.models[own_baseline]["parameters"], None, None)
                estimate = Estimate(parameters, gain=gain)
        elif metric in COSTS:
            speed = results.speeds.ratio(model, metric.removesuffix("_speed"))
            return None if speed is None else ReproducedNumber(Estimate(speed))
        elif (found := unmarked(results, variant, measure)) is None:
            return None
        else:
            estimate = found
        if own_baseline is None or estimate.gain is None:
            return ReproducedNumber(replace(estimate, gain=None))
        return ReproducedNumber(estimate, baseline=own_baseline if own_baseline != row.baseline else None)


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
    found = [_measure(table, column, results) for column in table.columns]
    # two columns may have the same measure: it belongs to the last of them
    columns: list[tuple[PaperColumn | None, Measure | None]] = [
        (column, measure if measure not in found[index + 1 :] else None)
        for index, (column, measure) in enumerate(zip(table.columns, found, strict=True))
    ]
    is_replica = table.has_scores and not any(measure and measure.test_set for measure in found)
    measures = _replica_measures(table, results) if is_replica else []
    if is_replica and not measures:
        return None
    return Reproduction(table, results, (*columns, *((None, measure) for measure in measures)), is_replica)


def _measure(table: PaperTable, column: PaperColumn, results: Results) -> Measure | None:
    matches = column.is_of(results.settings.corpus)
    if column.metric in COSTS:  # if no column of this cost is for the experiment's languages, that of others is as good
        languages = [other.languages for other in table.columns if other.metric == column.metric]
        return Measure("", column.metric) if matches or results.settings.corpus.direction not in languages else None
    measure = column.on(str(column.test_set))
    is_measured = measure in results.measures or (TEXT, measure) in results.reference_values
    return measure if matches and is_measured else None


def _replica_measures(table: PaperTable, results: Results) -> list[Measure]:
    """Return what an experiment on other text has of what the table asks for or, if nothing, the tested metric."""
    columns = (column for column in table.columns if not is_score(column.metric) and column.metric not in COSTS)
    own = dict.fromkeys(MeasureSpec(metric=column.metric, layer=column.layer, tag=column.tag) for column in columns)
    specs = table.replica or tuple(own) or (MeasureSpec(metric=results.settings.significance.metric),)
    by_set = [
        [measure for spec in specs if spec.test_set in (None, name) and (measure := spec.on(name)) in results.measures]
        for name in results.sets
    ]
    found = list(filter(None, by_set))
    return [measure for measures in (found[-1:] if table.across else found) for measure in measures]  # curves: one set


@dataclass(frozen=True)
class Gap:
    """The columns of a table on one text, and the experiments that have this text, those with most systems first."""

    columns: tuple[PaperColumn, ...]
    able: tuple[Results, ...]

    @property
    def experiment(self) -> str:
        """The name of the experiment that can fill most of it."""
        if self.obstacle:
            return "cannot be filled"
        if self.columns[0].languages == ANY:
            return "the text of each"
        return (self.able[0].name or self.able[0].title) if self.able else "no experiment"

    @property
    def obstacle(self) -> str:
        """Why no command can fill it."""
        return self.columns[0].obstacle

    @property
    def test_sets(self) -> list[str]:
        """The test sets of its columns; the languages, too, if no experiment has this text."""
        names = dict.fromkeys(str(column.test_set) for column in self.columns if column.test_set)
        return [*names] if self.able else [f"{self.columns[0].languages} {name}" for name in names]


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
        rows = tuple(self._row(row) for row in self.table.rows)
        return Grid(
            name=self.name,
            title=f"{self.table.id}: {self.table.title}",
            headings=tuple(self._headings()),
            rows=rows,
            fills=self._fills(rows),
            notes=tuple(self._notes()),
        )

    @cached_property
    def _published(self) -> list[PaperColumn]:
        """The published columns with a number; all columns if there is nothing else to show."""
        known = {name for row in self.table.rows for name in row.published}
        is_shown = bool(known or self._reproduced or self.gaps or self.table.command)
        return [column for column in self.table.columns if column.id in known or not is_shown]

    @cached_property
    def _reproduced(self) -> list[tuple[Reproduction, Measure]]:
        return [(reproduction, measure) for reproduction in self.reproductions for measure in reproduction.shown]

    @cached_property
    def gaps(self) -> list[Gap]:
        """The columns that no experiment has measured yet, by the experiment that can fill most of them."""
        columns: dict[tuple[str, ...], list[PaperColumn]] = {}
        found: dict[tuple[str, ...], tuple[Results, ...]] = {}
        for column in self.table.columns if not self.table.command else ():
            if column.metric in COSTS and (self.table.has_scores or column.metric != "parameters"):
                continue  # the systems that have scores have them, too; `make speed` measures speeds
            able = () if column.obstacle else tuple(self._able(column))
            key = (able[0].name,) if able else ("", str(column.languages), str(column.test_set))
            found.setdefault(key, able)
            columns.setdefault(key, []).append(column)
        gaps = [Gap(tuple(columns[key]), able) for key, able in found.items()]
        return [gap for gap in gaps if gap.obstacle or any(self.command(gap, row) for row in self.table.rows)]

    def _able(self, column: PaperColumn) -> Iterator[Results]:
        """Yield the experiments that can fill a column, those with most systems of the table first."""
        rows = self.table.compared or self.table.rows
        counts = [
            (sum(row.variant in one.settings.variants or row.experiment == one.folder for row in rows), one)
            for one in self.experiments
            if column.is_of(one.settings.corpus)
            and (column.metric in COSTS or column.test_set in (*one.sets, one.settings.corpus.train))
        ]
        yield from (results for count, results in sorted(counts, key=lambda counted: -counted[0]) if count)

    @property
    def _is_of_all(self) -> bool:
        """Whether its experiments are all of the project: only the report in the root reads the others."""
        return not self.experiments[0].folder

    def command(self, gap: Gap, row: PaperRow) -> str:
        """Return the command that fills a row's gap; empty if nothing does, if its numbers are elsewhere in the table.

        It is empty, too, if only an experiment that was not read may have such a number.
        """
        if gap.obstacle:
            return ""
        nowhere = NO_EXPERIMENT if self._is_of_all else ""
        if row.experiment:
            holders = [results for results in gap.able if results.folder == row.experiment]
            if not holders:
                return nowhere
            return "" if holders[0].scored else filling(holders[0], next(iter(holders[0].settings.variants)), ())
        holders = [results for results in gap.able if row.variant in results.settings.variants]
        is_empty = all(column.id in row.empty for column in gap.columns)
        if row.variant is None or is_empty or any(row.variant in results.scored for results in holders):
            return ""
        shown = {one.results.name for one in self.reproductions if not one.is_replica}  # with commands of their own
        if holders:
            return "" if holders[0].name in shown else filling(holders[0], row.variant, gap.columns)
        return "" if gap.able and (row.added or gap.able[0].name in shown) else nowhere

    def _headings(self) -> Iterator[Heading]:
        for column in self._published:
            yield Heading("Published", column.label + (", difference" if column.difference else ""))
        for reproduction, measure in self._reproduced:
            name = measure.metric.replace("_", " ")
            cost = f"{name} / Transformer" if name.endswith("speed") else name
            title = f"{measure.test_set}, {name_of(measure)}" if measure.test_set else cost
            yield Heading(reproduction.results.title, title)
        for gap in self.gaps:
            yield Heading(f"Not run: {gap.experiment}", ", ".join(gap.test_sets) or "costs")
        if self.table.command:
            yield Heading("Not in tables", "see below")

    def _row(self, row: PaperRow) -> GridRow:
        cells = [_published_cell(self.table, row, column) for column in self._published]
        cells += [self._reproduced_cell(row, reproduction, measure) for reproduction, measure in self._reproduced]
        for gap in self.gaps:
            command = self.command(gap, row)
            if row.variant is None and not row.experiment:
                cells.append(WITH_ANY if row.subject else CITED)
            else:
                cells.append(Cell(DASH, command=command) if command else Cell(gap.obstacle))
        if self.table.command:
            cells.append(Cell(DASH, command=self.table.command.replace("SYSTEM", str(row.variant))))
        labels = dict.fromkeys(reproduction.label(row) for reproduction in self.reproductions)
        return GridRow("; ".join(labels) or row.label, row.variant, tuple(cells))

    def _reproduced_cell(self, row: PaperRow, reproduction: Reproduction, measure: Measure) -> Cell:
        """Return an experiment's number, naming its baseline if that is not the paper's, or a dash."""
        number = reproduction.number(row, measure)
        if number is None:
            return self._missing_cell(row, reproduction.results, measure)
        estimate, gain = number.estimate, number.estimate.gain
        baseline = reproduction.results.settings.label(number.baseline) if number.baseline else ""
        if row.subject == "text" or measure.metric == ITERATIONS:
            return value_cell(estimate.mean, "{:,.0f}")
        if measure.metric != "parameters":
            return estimate_cell(estimate, self.table.decimals_of(measure.metric), against=baseline)
        against = f" to {baseline}" if baseline else ""
        ratio = f" ({TIMES} {estimate.mean / (estimate.mean - gain.mean):.2f}{against})" if gain else ""
        return replace(estimate_cell(estimate), text=f"{estimate.mean:,.0f}{ratio}")

    def _missing_cell(self, row: PaperRow, results: Results, measure: Measure) -> Cell:
        """Return a dash with the command that fills it; a blank if the experiment does not have such a number."""
        if row.variant is None:
            return BLANK if row.subject else CITED
        if row.variant not in results.settings.variants:
            is_elsewhere = any(row.variant in found.settings.variants for found in self.experiments)
            is_blank = is_elsewhere or not self._is_of_all or row.added
            return BLANK if is_blank else Cell(DASH, command=NO_EXPERIMENT)
        if row.variant not in results.scored:
            return Cell(DASH, command=filling(results, row.variant, self.table.columns))
        if measure.metric.endswith("_speed"):
            return Cell(DASH, command=SPEED)
        needed = _unprobed(results, row.variant, measure.test_set, measure.metric)
        return Cell(DASH, command=f"{results.command} ONLY={row.variant}{needed}") if needed else BLANK

    def _fills(self, rows: Sequence[GridRow]) -> dict[str, list[str]]:
        """Return the systems with empty cells by the command that would fill them."""
        systems: dict[str, list[str]] = {}
        for row, grid_row in zip(self.table.rows, rows, strict=True):
            for command in dict.fromkeys(cell.command for cell in grid_row.cells if cell.command):
                any_system = re.sub(r" ONLY=\S+", " ONLY=SYSTEM", command)
                general = (self.table.command or any_system) if row.variant else command
                label = row.label if general == command else f"{row.label} ({row.variant})"
                systems.setdefault(general, []).append(label)
        return systems

    def _notes(self) -> Iterator[str]:
        if any(reproduction.is_replica for reproduction in self.reproductions):
            yield REPLICA
        signatures_by_name: dict[str, set[str]] = {}
        for reproduction in self.reproductions:
            for measure in reproduction.measures:
                signatures_by_name.setdefault(name_of(measure), set()).update(reproduction.results.signatures(measure))
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
        remarks.insert(0, signed(gain, column.decimals))
    text = signed(value, column.decimals) if column.difference else f"{value:,.{column.decimals}f}"
    text += f" ({'; '.join(remarks)})" if remarks else ""
    return Cell(text, value=None if column.difference else value, difference=gain)


def filling(results: Results, variant: str, columns: Sequence[PaperColumn]) -> str:
    """Return the command that runs one system of an experiment, with what all of its columns need before."""
    needed = {_unprobed(results, variant, str(column.test_set), column.metric) for column in columns}
    return f"{results.command} ONLY={variant}{needed.pop() if len(needed) == 1 else ''}"


def _unprobed(results: Results, variant: str, test_set: str, metric: str) -> str:
    """Return the list of params.yaml that a variant must be added to, in brackets, before a probe measures it."""
    probing = results.settings.probing
    if test_set in results.probing_sets and variant not in probing.sentences:
        return " (after adding it to probing.sentences in params.yaml)"
    if metric in UNIT_METRICS and variant not in probing.words:
        return " (after adding it to probing.words in params.yaml)"
    return ""
