"""One table or figure of a paper: the published numbers beside those of every experiment with some of its systems."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from context_nmt.measures.probes.tasks import UNIT_METRICS
from context_nmt.measures.rows import Measure
from context_nmt.report.cells import DASH, NOTHING, TIMES, Cell, number_cell
from context_nmt.report.grid import Column, Fill, Grid, GridRow
from context_nmt.report.papers import published
from context_nmt.report.papers.beside import Beside, Reproduced, set_paper_beside
from context_nmt.report.papers.published import COSTS, Paper, Row, Table
from context_nmt.results.printed import signed
from context_nmt.results.table import Results, is_score, name_of

SPEED = "make speed (of systems in benchmarks/params.yaml)"
NO_EXPERIMENT = "add it to the variants of a params.yaml, then make repro"


@dataclass(frozen=True)
class Entry:
    """One table or figure of a paper with everything that is known of it."""

    paper: str  # the name of its file
    table: Table
    blocks: tuple[Beside, ...]  # what each experiment has for it
    experiments: tuple[Results, ...]

    @property
    def name(self) -> str:
        """The name of its files and of its place on the page."""
        return re.sub(r"\W+", "-", f"{self.paper}-{self.table.id}".lower())

    def grid(self) -> Grid:
        """Its table: what is published, then a group of columns per experiment."""
        return Grid(
            name=self.name,
            title=f"{self.table.id}: {self.table.title}",
            columns=tuple(self._columns()),
            rows=tuple(self._row(row) for row in self.table.rows),
            fills=tuple(self.fills()),
            notes=tuple(self._notes()),
        )

    @property
    def _published(self) -> list[published.Column]:
        """The published columns; of a figure's many, those with a number."""
        known = {name for row in self.table.rows for name in row.published}
        return [column for column in self.table.columns if column.id in known or not self.table.across]

    @property
    def _is_bare(self) -> bool:
        """Whether nothing of it is reproduced although something could be."""
        return not self.blocks and (any(row.variant for row in self.table.rows) or bool(self.table.command))

    def _columns(self) -> Iterator[Column]:
        for column in self._published:
            yield Column("Published", column.label + (", difference" if column.difference else ""))
        for block in self.blocks:
            for measure in _shown(block):
                yield Column(block.results.title, _title(measure))
        if self._is_bare:
            yield Column("Reproduced", "nothing yet")

    def _row(self, row: Row) -> GridRow:
        cells = [_published_cell(self.table, row, column) for column in self._published]
        for block in self.blocks:
            for measure in _shown(block):
                found = block.cell(row, measure)
                if found:
                    cells.append(self._reproduced(block, measure, found))
                else:
                    cells.append(self._missing(row, block, measure))
        if self._is_bare:
            cells.append(Cell(DASH, command=self.command(row)))
        labels = dict.fromkeys(block.label(row) for block in self.blocks)
        return GridRow("; ".join(labels) or row.label, row.variant, tuple(cells))

    def _reproduced(self, block: Beside, measure: Measure, found: Reproduced) -> Cell:
        """A number of an experiment; a baseline that is not the paper's is named."""
        other = block.results.settings.label(found.baseline) if found.baseline else ""
        if measure.metric != "parameters":
            return number_cell(found.number, decimals_of(self.table, measure), against=other)
        against = f" to {other}" if other else ""
        ratio = f" ({TIMES} {found.ratio:.2f}{against})" if found.ratio else ""
        return replace(number_cell(found.number), text=f"{found.number.mean:,.0f}{ratio}")

    def _missing(self, row: Row, block: Beside, measure: Measure) -> Cell:
        """A dash; nothing would fill one of a system that has no such number or that other experiments have."""
        if row.variant in block.results.scored:
            return Cell(DASH, command=_measuring(block.results, row.variant, measure))
        if row.variant in block.results.settings.variants:
            return Cell(DASH, command=block.results.command)
        elsewhere = any(row.variant in other.results.models for other in self.blocks)
        return NOTHING if elsewhere else Cell(DASH, command=self.command(row))

    def command(self, row: Row) -> str:
        """What would run a row's system, or measure it: the experiment with most systems of the table."""
        if row.variant is None or self.table.command:
            return self.table.command
        known = [results for results in self.experiments if row.variant in results.settings.variants]
        known.sort(key=lambda results: -len(self._systems(results)))
        shown = {block.results.name for block in self.blocks}
        others = [results for results in known if results.name not in shown]
        return (others or known)[0].command if known else NO_EXPERIMENT

    def _systems(self, results: Results) -> list[str]:
        return [row.label for row in self.table.rows if row.variant in results.settings.variants]

    def _is_own_text(self, results: Results) -> bool:
        """Whether it has the paper's own test set, and a system that the table compares with a baseline."""
        corpus, variants = results.settings.corpus, results.settings.variants
        names = results.sets
        return any(row.baseline and row.variant in variants for row in self.table.rows) and any(
            column.test_set in names and (column.languages or self.table.languages) == corpus.direction
            for column in self.table.columns
        )

    def fills(self) -> Iterator[Fill]:
        """For every command that would fill missing cells, the systems that have some."""
        systems: dict[str, list[str]] = {}
        for row in self.table.rows:
            for command in dict.fromkeys(cell.command for cell in self._row(row).cells if cell.command):
                systems.setdefault(command, []).append(row.label)
        for results in self.experiments:
            if self._is_own_text(results) and not results.models:
                systems[results.command] = self._systems(results)
        for command, labels in systems.items():
            yield Fill(command, tuple(labels))

    def _notes(self) -> Iterator[str]:
        if any(block.is_replica for block in self.blocks):
            yield (
                "A replica: other text than the paper's and models of another size. Scores and sizes cannot be compared"
                " with the published ones; what a system gains, loses and costs against its baseline can."
            )
        found: dict[str, set[str]] = {}
        for block in self.blocks:
            for measure in block.measures:
                found.setdefault(name_of(measure), set()).update(block.results.signatures(measure))
        for name, signatures in found.items():
            if signatures:
                yield f"{name}: {'; '.join(sorted(signatures))}"


def entries_of(name: str, paper: Paper, experiments: Sequence[Results]) -> list[Entry]:
    """Find what all experiments have for each table and figure of a paper."""
    found = {results.name: set_paper_beside(paper, results) for results in experiments if results.models}
    return [
        Entry(
            paper=name,
            table=table,
            blocks=tuple(
                beside
                for results in experiments
                for beside in found.get(results.name, ())
                if beside.table.id == table.id
            ),
            experiments=tuple(experiments),
        )
        for table in paper.tables
    ]


def _published_cell(table: Table, row: Row, column: published.Column) -> Cell:
    """A published number, in brackets its difference or ratio to the baseline and what the paper says of it."""
    value = row.published.get(column.id)
    if value is None:
        return NOTHING
    said = [row.marks[column.id]] if column.id in row.marks else []
    gain, ratio = table.published_gain(row, column), table.published_ratio(row, column)
    if column.difference:
        text = signed(value, column.decimals)
    else:
        text = f"{value:,.{column.decimals}f}"
        if column.metric in COSTS:
            said = ([f"{TIMES} {ratio:.2f}"] if ratio else []) + said
        elif gain is not None:
            said = [signed(gain, column.decimals), *said]
    text += f" ({'; '.join(said)})" if said else ""
    return Cell(text, value=None if column.difference else value, difference=gain)


def _shown(block: Beside) -> list[Measure]:
    """Its measures; beside scores also parameters and speed of training, where the entry has no such columns."""
    metrics = {measure.metric for measure in block.measures}
    if metrics & set(COSTS) or not any(map(is_score, metrics)):
        return block.measures
    return [*block.measures, Measure("", "parameters"), Measure("", "training_speed")]


def decimals_of(table: Table, measure: Measure) -> int:
    """As many as the table's own column of a metric has, and at least two."""
    return max([2, *(column.decimals for column in table.columns if column.metric == measure.metric)])


def _measuring(results: Results, variant: str, measure: Measure) -> str:
    """What would measure a system that has run; empty if it has no such number."""
    if measure.metric.endswith("_speed"):
        return SPEED
    probing = results.settings.probing
    if measure.test_set in results.probing_sets and variant not in probing.sentences:
        return f"{results.command} (after naming it under probing.sentences in params.yaml)"
    if measure.metric in UNIT_METRICS and variant not in probing.words:
        return f"{results.command} (after naming it under probing.words in params.yaml)"
    return ""


def _title(measure: Measure) -> str:
    if not measure.test_set:
        name = measure.metric.replace("_", " ")
        return name if measure.metric == "parameters" else f"{name} / Transformer"
    return f"{measure.test_set}, {name_of(measure)}"
