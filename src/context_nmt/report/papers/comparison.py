"""Compare a table or figure of a paper with the numbers of every experiment that has some of its systems."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from context_nmt.measures.rows import Measure
from context_nmt.report.papers.columns import COSTS, ITERATIONS, PaperColumn
from context_nmt.report.papers.filling import NO_EXPERIMENT, Gap, filling, gaps, of_any_system, unprobed
from context_nmt.report.papers.published import Paper, PaperRow, PaperTable
from context_nmt.report.papers.reproduction import Reproduction, reproduce_paper
from context_nmt.report.tables import DASH, TIMES, Cell, Grid, GridRow, Heading, estimate_cell, value_cell
from context_nmt.results.metrics import is_score, name_of
from context_nmt.results.number_text import signed
from context_nmt.results.table import Results

SPEED = "make speed (after adding it to benchmarks/params.yaml)"
BLANK = Cell("")  # not published, or nothing that a command could fill
CITED = Cell("cited")
WITH_ANY = Cell("with any system")
REPLICA = (
    "In an experiment on other test sets than the paper's, text and model size differ from the paper's, too. Its scores"
    " and sizes cannot be compared with the published ones; a system's gains, losses and costs relative to its baseline"
    " can."
)


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

    @property
    def _published(self) -> list[PaperColumn]:
        """The published columns with a number; all columns if there is nothing else to show."""
        known = {name for row in self.table.rows for name in row.published}
        is_shown = bool(known or self._reproduced or self.gaps or self.table.command)
        return [column for column in self.table.columns if column.id in known or not is_shown]

    @property
    def _reproduced(self) -> list[tuple[Reproduction, Measure]]:
        return [(reproduction, measure) for reproduction in self.reproductions for measure in _shown(reproduction)]

    @cached_property
    def gaps(self) -> list[Gap]:
        """The columns on texts that no experiment has measured yet."""
        if self.table.command:
            return []
        shown = frozenset(
            reproduction.results.name for reproduction in self.reproductions if not reproduction.is_replica
        )
        found = gaps(self.table, self.experiments, shown)
        return [gap for gap in found if gap.obstacle or any(self._filling(gap, row) for row in self.table.rows)]

    @property
    def _is_of_all(self) -> bool:
        """Whether its experiments are all of the project: only the report in the root reads the others."""
        return not self.experiments[0].folder

    def _filling(self, gap: Gap, row: PaperRow) -> str:
        """Return the command that fills a row's gap; empty if only an experiment that was not read may have one."""
        command = gap.command(row)
        return command if command != NO_EXPERIMENT or self._is_of_all else ""

    def _headings(self) -> Iterator[Heading]:
        for column in self._published:
            yield Heading("Published", column.label + (", difference" if column.difference else ""))
        for reproduction, measure in self._reproduced:
            yield Heading(reproduction.results.title, _title(measure))
        for gap in self.gaps:
            yield Heading(f"Not run: {gap.experiment}", ", ".join(gap.test_sets) or "costs")
        if self.table.command:
            yield Heading("Not in tables", "see below")

    def _row(self, row: PaperRow) -> GridRow:
        cells = [_published_cell(self.table, row, column) for column in self._published]
        cells += [self._reproduced_cell(row, reproduction, measure) for reproduction, measure in self._reproduced]
        cells += [self._gap_cell(row, gap) for gap in self.gaps]
        if self.table.command:
            cells.append(Cell(DASH, command=self.table.command.replace("SYSTEM", str(row.variant))))
        labels = dict.fromkeys(reproduction.label(row) for reproduction in self.reproductions)
        return GridRow("; ".join(labels) or row.label, row.variant, tuple(cells))

    def _gap_cell(self, row: PaperRow, gap: Gap) -> Cell:
        if row.variant is None and not row.experiment:
            return WITH_ANY if row.subject else CITED
        command = self._filling(gap, row)
        return Cell(DASH, command=command) if command else Cell(gap.obstacle)

    def _reproduced_cell(self, row: PaperRow, reproduction: Reproduction, measure: Measure) -> Cell:
        """Return an experiment's number, naming its baseline if that is not the paper's, or a dash."""
        number = reproduction.number(row, measure)
        if number is None:
            return self._missing_cell(row, reproduction.results, measure)
        baseline = reproduction.results.settings.label(number.baseline) if number.baseline else ""
        if row.subject == "text" or measure.metric == ITERATIONS:
            return value_cell(number.estimate.mean, "{:,.0f}")
        if measure.metric != "parameters":
            return estimate_cell(number.estimate, self.table.decimals_of(measure.metric), against=baseline)
        against = f" to {baseline}" if baseline else ""
        ratio = f" ({TIMES} {number.ratio:.2f}{against})" if number.ratio else ""
        return replace(estimate_cell(number.estimate), text=f"{number.estimate.mean:,.0f}{ratio}")

    def _missing_cell(self, row: PaperRow, results: Results, measure: Measure) -> Cell:
        """Return a dash with the command that fills it; a blank if the experiment does not have such a number."""
        if row.variant is None:
            return BLANK if row.subject else CITED
        if row.variant not in results.settings.variants:
            variants = {name for found in self.experiments for name in found.settings.variants}
            is_elsewhere = row.variant in variants or not self._is_of_all
            return BLANK if is_elsewhere or row.added else Cell(DASH, command=NO_EXPERIMENT)
        if row.variant not in results.scored:
            return Cell(DASH, command=filling(results, row.variant, self.table.columns))
        command = _measuring(results, row.variant, measure)
        return Cell(DASH, command=command) if command else BLANK

    def _fills(self, rows: Sequence[GridRow]) -> dict[str, list[str]]:
        """Return the systems with empty cells by the command that would fill them."""
        systems: dict[str, list[str]] = {}
        for row, grid_row in zip(self.table.rows, rows, strict=True):
            for command in dict.fromkeys(cell.command for cell in grid_row.cells if cell.command):
                general = (self.table.command or of_any_system(command)) if row.variant else command
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
    """Return a published number and, in brackets, its difference or ratio to the baseline and the paper's remark."""
    value = row.published.get(column.id)
    if value is None:
        return BLANK
    gain, ratio = table.published_gain(row, column), table.published_ratio(row, column)
    remarks = [row.marks[column.id]] if column.id in row.marks else []
    if column.difference:
        text = signed(value, column.decimals)
    else:
        text = f"{value:,.{column.decimals}f}"
        if ratio:
            remarks.insert(0, f"{TIMES} {ratio:.2f}")
        elif gain is not None and column.metric not in COSTS:
            remarks.insert(0, signed(gain, column.decimals))
    text += f" ({'; '.join(remarks)})" if remarks else ""
    return Cell(text, value=None if column.difference else value, difference=gain)


def _shown(reproduction: Reproduction) -> list[Measure]:
    """Return its measures; add parameters and training speed to scores if the table has no such columns."""
    metrics = {measure.metric for measure in reproduction.measures}
    if metrics & set(COSTS) - {ITERATIONS} or not any(map(is_score, metrics)):
        return reproduction.measures
    return [*reproduction.measures, Measure("", "parameters"), Measure("", "training_speed")]


def _measuring(results: Results, variant: str, measure: Measure) -> str:
    """Return the command that measures a system that has run; empty if it has no such number."""
    if measure.metric.endswith("_speed"):
        return SPEED
    needed = unprobed(results, variant, measure.test_set, measure.metric)
    return f"{results.command} ONLY={variant}{needed}" if needed else ""


def _title(measure: Measure) -> str:
    if measure.test_set:
        return f"{measure.test_set}, {name_of(measure)}"
    name = measure.metric.replace("_", " ")
    return f"{name} / Transformer" if name.endswith("speed") else name
