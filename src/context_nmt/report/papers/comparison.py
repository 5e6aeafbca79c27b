"""Compare a table or figure of a paper with the numbers of every experiment that has some of its systems."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from context_nmt.measures.probes.tasks import UNIT_METRICS
from context_nmt.measures.rows import Measure
from context_nmt.report.cells import DASH, NOTHING, TIMES, Cell, estimate_cell
from context_nmt.report.grid import Grid, GridRow, Heading, systems_by_command
from context_nmt.report.papers.published import COSTS, Paper, PaperColumn, PaperRow, PaperTable
from context_nmt.report.papers.reproduction import Reproduction, reproduce_paper
from context_nmt.results.number_text import signed
from context_nmt.results.table import Results, is_score, name_of

SPEED = "make speed (for systems in benchmarks/params.yaml)"
NO_EXPERIMENT = "make repro (after adding it to the variants of a params.yaml)"
REPLICA = (
    "An experiment on other test sets than the paper's is a replica: text and model size differ from the paper's. Its"
    " scores and sizes cannot be compared with the published ones; a system's gains, losses and costs relative to its"
    " baseline can."
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
        """The published columns; of a figure's many columns, those with a number."""
        known = {name for row in self.table.rows for name in row.published}
        return [column for column in self.table.columns if column.id in known or not self.table.across]

    @property
    def _reproduced(self) -> list[tuple[Reproduction, Measure]]:
        return [(reproduction, measure) for reproduction in self.reproductions for measure in _shown(reproduction)]

    @property
    def _is_bare(self) -> bool:
        """Whether nothing of it is reproduced although something could be."""
        return not self.reproductions and (any(row.variant for row in self.table.rows) or bool(self.table.command))

    def _headings(self) -> Iterator[Heading]:
        for column in self._published:
            yield Heading("Published", column.label + (", difference" if column.difference else ""))
        for reproduction, measure in self._reproduced:
            yield Heading(reproduction.results.title, _title(measure))
        if self._is_bare:
            yield Heading("Reproduced", "nothing yet")

    def _row(self, row: PaperRow) -> GridRow:
        cells = [_published_cell(self.table, row, column) for column in self._published]
        cells += [self._reproduced_cell(row, reproduction, measure) for reproduction, measure in self._reproduced]
        if self._is_bare:
            cells.append(Cell(DASH, command=self.command(row)))
        labels = dict.fromkeys(reproduction.label(row) for reproduction in self.reproductions)
        return GridRow("; ".join(labels) or row.label, row.variant, tuple(cells))

    def _reproduced_cell(self, row: PaperRow, reproduction: Reproduction, measure: Measure) -> Cell:
        """Return an experiment's number, naming its baseline if that is not the paper's, or a dash."""
        number = reproduction.number(row, measure)
        if number is None:
            return self._missing_cell(row, reproduction.results, measure)
        baseline = reproduction.results.settings.label(number.baseline) if number.baseline else ""
        if measure.metric != "parameters":
            return estimate_cell(number.estimate, self.table.decimals_of(measure.metric), against=baseline)
        against = f" to {baseline}" if baseline else ""
        ratio = f" ({TIMES} {number.ratio:.2f}{against})" if number.ratio else ""
        return replace(estimate_cell(number.estimate), text=f"{number.estimate.mean:,.0f}{ratio}")

    def _missing_cell(self, row: PaperRow, results: Results, measure: Measure) -> Cell:
        """Return a dash; no command fills it if the system has no such number or other experiments have it."""
        if row.variant in results.scored:
            return Cell(DASH, command=_measuring(results, row.variant, measure))
        if row.variant in results.settings.variants:
            return Cell(DASH, command=results.command)
        elsewhere = any(row.variant in reproduction.results.models for reproduction in self.reproductions)
        return NOTHING if elsewhere else Cell(DASH, command=self.command(row))

    def command(self, row: PaperRow) -> str:
        """Return the command that runs or measures a row's system, in the experiment with most systems of the table."""
        if row.variant is None or self.table.command:
            return self.table.command
        candidates = [results for results in self.experiments if row.variant in results.settings.variants]
        candidates.sort(key=lambda results: -len(self._systems(results)))
        shown = {reproduction.results.name for reproduction in self.reproductions}
        others = [results for results in candidates if results.name not in shown]
        return (others or candidates)[0].command if candidates else NO_EXPERIMENT

    def _systems(self, results: Results) -> list[str]:
        return [row.label for row in self.table.rows if row.variant in results.settings.variants]

    def _is_own_text(self, results: Results) -> bool:
        """Return whether an experiment has the paper's test set and a system that the table compares."""
        test_sets = [
            column.test_set for column in self.table.columns if column.languages == results.settings.corpus.direction
        ]
        is_compared = any(row.variant in results.settings.variants for row in self.table.compared)
        return is_compared and any(test_set in results.sets for test_set in test_sets)

    def _fills(self, rows: Sequence[GridRow]) -> dict[str, list[str]]:
        """Return the systems with empty cells by the command that would fill them."""
        labels = [row.label for row in self.table.rows]
        systems = systems_by_command(zip(labels, (row.cells for row in rows), strict=True))
        for results in self.experiments:
            if self._is_own_text(results) and not results.models:
                systems[results.command] = self._systems(results)
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
        return NOTHING
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
    if metrics & set(COSTS) or not any(map(is_score, metrics)):
        return reproduction.measures
    return [*reproduction.measures, Measure("", "parameters"), Measure("", "training_speed")]


def _measuring(results: Results, variant: str, measure: Measure) -> str:
    """Return the command that measures a system that has run; empty if it has no such number."""
    if measure.metric.endswith("_speed"):
        return SPEED
    probing = results.settings.probing
    if measure.test_set in results.probing_sets and variant not in probing.sentences:
        return f"{results.command} (after adding it to probing.sentences in params.yaml)"
    if measure.metric in UNIT_METRICS and variant not in probing.words:
        return f"{results.command} (after adding it to probing.words in params.yaml)"
    return ""


def _title(measure: Measure) -> str:
    if measure.test_set:
        return f"{measure.test_set}, {name_of(measure)}"
    name = measure.metric.replace("_", " ")
    return name if measure.metric == "parameters" else f"{name} / Transformer"
