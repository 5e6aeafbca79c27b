"""One table or figure of a paper: the published numbers beside those of every experiment with some of its systems."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from context_nmt.report.cells import published_cell, reproduced_cell
from context_nmt.report.grid import DASH, NOTHING, Cell, Column, Fill, Grid, GridRow
from context_nmt.report.papers import published
from context_nmt.report.papers.published import COSTS, Paper, Row, Table, is_score
from context_nmt.report.papers.replicas import Beside, Measure, set_paper_beside
from context_nmt.report.written import Written

SPEED = "make speed (of systems in benchmarks/params.yaml)"
NO_EXPERIMENT = "add it to the variants of a params.yaml, then make repro"


@dataclass(frozen=True)
class Block:
    """What one experiment has for an entry."""

    written: Written
    beside: Beside

    @property
    def measures(self) -> list[Measure]:
        """Its measures; where the paper's own test sets are missing, not those on the validation set."""
        found = list(dict.fromkeys(measure for _, measure in self.beside.columns if measure))
        corpus = self.written.settings.corpus
        others = [measure for measure in found if measure.test_set not in (None, corpus.validation)]
        if not self.beside.is_replica or not others:
            return found
        return [measure for measure in found if measure.test_set != corpus.validation]

    def costs(self) -> list[Measure]:
        """Parameters and speed of training beside scores, where the entry has no such columns itself."""
        shown = {measure.metric for measure in self.measures}
        if shown & set(COSTS) or not any(map(is_score, shown)):
            return []
        return [Measure("parameters"), Measure("training_speed")]


@dataclass(frozen=True)
class Entry:
    """One table or figure of a paper with everything that is known of it."""

    paper: str  # the name of its file
    table: Table
    blocks: tuple[Block, ...]
    experiments: tuple[Written, ...]

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
            for measure in (*block.measures, *block.costs()):
                yield Column(block.written.title, _title(measure))
        if self._is_bare:
            yield Column("Reproduced", "nothing yet")

    def _row(self, row: Row) -> GridRow:
        cells = [published_cell(self.table, row, column) for column in self._published]
        for block in self.blocks:
            for measure in (*block.measures, *block.costs()):
                found = block.beside.cell(row, measure)
                if found:
                    other = block.written.settings.label(found.baseline) if found.baseline else None
                    cells.append(reproduced_cell(self.table, measure, found, other))
                else:
                    cells.append(self._missing(row, block, measure))
        if self._is_bare:
            cells.append(Cell(DASH, command=self.command(row)))
        labels = dict.fromkeys(block.beside.label(row) for block in self.blocks)
        return GridRow("; ".join(labels) or row.label, row.variant, tuple(cells))

    def _missing(self, row: Row, block: Block, measure: Measure) -> Cell:
        """A dash; nothing would fill one of a system that has no such number or that other experiments have."""
        if row.variant in block.written.models:
            return Cell(DASH, command=_measuring(block.written, row.variant, measure))
        if row.variant in block.written.settings.variants:
            return Cell(DASH, command=block.written.command)
        elsewhere = any(row.variant in other.written.models for other in self.blocks)
        return NOTHING if elsewhere else Cell(DASH, command=self.command(row))

    def command(self, row: Row) -> str:
        """What would run a row's system, or measure it: the experiment with most systems of the table."""
        if row.variant is None or self.table.command:
            return self.table.command
        known = [written for written in self.experiments if row.variant in written.settings.variants]
        known.sort(key=lambda written: -len(self._systems(written)))
        shown = {block.written.name for block in self.blocks}
        others = [written for written in known if written.name not in shown]
        return (others or known)[0].command if known else NO_EXPERIMENT

    def _systems(self, written: Written) -> list[str]:
        return [row.label for row in self.table.rows if row.variant in written.settings.variants]

    def _is_own_text(self, written: Written) -> bool:
        """Whether it has the paper's own test set, and a system that the table compares with a baseline."""
        corpus, variants = written.settings.corpus, written.settings.variants
        names = (*written.test_sets, *written.contrastive_sets, *written.probing_sets)
        return any(row.baseline and row.variant in variants for row in self.table.rows) and any(
            column.test_set in names
            and (column.languages or self.table.languages) == f"{corpus.source}-{corpus.target}"
            for column in self.table.columns
        )

    def fills(self) -> Iterator[Fill]:
        """For every command that would fill missing cells, the systems that have some."""
        systems: dict[str, list[str]] = {}
        for row in self.table.rows:
            for command in dict.fromkeys(cell.command for cell in self._row(row).cells if cell.command):
                systems.setdefault(command, []).append(row.label)
        for written in self.experiments:
            if self._is_own_text(written) and not written.models:
                systems[written.command] = self._systems(written)
        for command, labels in systems.items():
            yield Fill(command, tuple(labels))

    def _notes(self) -> Iterator[str]:
        if any(block.beside.is_replica for block in self.blocks):
            yield (
                "A replica: other text than the paper's and models of another size. Scores and sizes cannot be compared"
                " with the published ones; what a system gains, loses and costs against its baseline can."
            )
        metrics = dict.fromkeys(measure.metric for block in self.blocks for measure in block.measures)
        for metric in metrics:
            signatures = {one for block in self.blocks for one in block.written.signatures(metric)}
            if signatures:
                yield f"{metric}: {'; '.join(sorted(signatures))}"


def entries_of(name: str, paper: Paper, experiments: Sequence[Written]) -> list[Entry]:
    """Find what all experiments have for each table and figure of a paper."""
    found = {written.name: set_paper_beside(paper, written) for written in experiments if written.models}
    return [
        Entry(
            paper=name,
            table=table,
            blocks=tuple(
                Block(written, beside)
                for written in experiments
                for beside in found.get(written.name, ())
                if beside.table.id == table.id
            ),
            experiments=tuple(experiments),
        )
        for table in paper.tables
    ]


def _measuring(written: Written, variant: str, measure: Measure) -> str:
    """What would measure a system that has run; empty if it has no such number."""
    if measure.metric.endswith("_speed"):
        return SPEED
    probing = written.settings.probing
    if measure.test_set in written.probing_sets and variant not in probing.sentences:
        return f"{written.command} (after naming it under probing.sentences in params.yaml)"
    if measure.metric.startswith(("lexical_", "cosine_")) and variant not in probing.words:
        return f"{written.command} (after naming it under probing.words in params.yaml)"
    return ""


def _title(measure: Measure) -> str:
    if measure.test_set is None:
        name = measure.metric.replace("_", " ")
        return name if measure.metric == "parameters" else f"{name} / Transformer"
    return f"{measure.test_set}, {measure.metric}"
