"""One table or figure of a paper: the published numbers beside those of every experiment that has some of its systems."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from context_nmt.evaluation.markdown import mark, signed
from context_nmt.evaluation.papers import published
from context_nmt.evaluation.papers.published import COSTS, SHARES, Paper, Row, Table
from context_nmt.evaluation.papers.replicas import Beside, Measure, set_paper_beside
from context_nmt.evaluation.papers.replicas import Cell as Reproduced
from context_nmt.evaluation.report.grid import DASH, NOTHING, Cell, Column, Fill, Grid, GridRow
from context_nmt.evaluation.report.written import Written

SPEED = "make speed"
NO_EXPERIMENT = "add it to the variants of a params.yaml, then run its dvc repro"


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
        """Parameters and speed of training, where the entry has no such columns itself."""
        shown = {measure.metric for measure in self.measures}
        return [Measure(metric) for metric in ("parameters", "training_speed") if not shown & set(COSTS)]


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

    def _columns(self) -> Iterator[Column]:
        for column in self.table.columns:
            yield Column("Published", column.label + (", difference" if column.difference else ""))
        for block in self.blocks:
            for measure in (*block.measures, *block.costs()):
                yield Column(block.written.title, _title(measure))
        if not self.blocks:
            yield Column("Reproduced", "nothing yet")

    def _row(self, row: Row) -> GridRow:
        cells = [published_cell(self.table, row, column) for column in self.table.columns]
        for block in self.blocks:
            for measure in (*block.measures, *block.costs()):
                found = block.beside.cell(row, measure)
                cells.append(reproduced_cell(block, measure, found) if found else self._missing(row, block, measure))
        if not self.blocks:
            cells.append(Cell(DASH, command=self.command(row)))
        labels = dict.fromkeys(block.beside.label(row) for block in self.blocks)
        return GridRow("; ".join(labels) or row.label, row.variant, tuple(cells))

    def _missing(self, row: Row, block: Block, measure: Measure) -> Cell:
        """A dash; nothing would fill one of a system that has no such number or that other experiments have."""
        if row.variant in block.written.models:
            return Cell(DASH, command=SPEED if measure.metric.endswith("_speed") else "")
        if row.variant in block.written.settings.variants:
            return Cell(DASH, command=block.written.command)
        elsewhere = any(row.variant in other.written.models for other in self.blocks)
        return NOTHING if elsewhere else Cell(DASH, command=self.command(row))

    def command(self, row: Row) -> str:
        """What would run a row's system: the experiment with the paper's own text first, then any other."""
        if row.variant is None:
            return ""
        known = [written for written in self.experiments if row.variant in written.settings.variants]
        known.sort(key=lambda written: (row.variant in written.models, not self._is_own_text(written)))
        return known[0].command if known else NO_EXPERIMENT

    def _is_own_text(self, written: Written) -> bool:
        corpus = written.settings.corpus
        names = (*written.test_sets, *written.contrastive_sets)
        return any(
            column.test_set in names and (column.languages or self.table.languages) == f"{corpus.source}-{corpus.target}"
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
                named = [row.label for row in self.table.rows if row.variant in written.settings.variants]
                systems[written.command] = named + [
                    label for label in systems.get(written.command, ()) if label not in named
                ]
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


def _title(measure: Measure) -> str:
    if measure.test_set is None:
        name = measure.metric.replace("_", " ")
        return name if measure.metric == "parameters" else f"{name} / Transformer"
    return f"{measure.test_set}, {measure.metric}"


def published_cell(table: Table, row: Row, column: published.Column) -> Cell:
    """A published number, in brackets its difference or ratio to the baseline and what the paper says beside it."""
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
            said = ([f"× {ratio:.2f}"] if ratio else []) + said  # noqa: RUF001
        elif gain is not None:
            said = [signed(gain, column.decimals), *said]
    text += f" ({'; '.join(said)})" if said else ""
    return Cell(text, value=None if column.difference else value, difference=gain)


def reproduced_cell(block: Block, measure: Measure, found: Reproduced) -> Cell:
    """A number of an experiment, its deviation over seeds, and the difference to the baseline with its mark."""
    other = f" to {block.written.settings.label(found.baseline)}" if found.baseline else ""
    decimals = 4 if measure.metric in SHARES else 2
    if measure.metric == "parameters":
        ratio = f" (× {found.ratio:.2f}{other})" if found.ratio else ""  # noqa: RUF001
        text = f"{found.value:,.0f}{ratio}"
    else:
        text = scored(found, decimals, other)
    return Cell(
        text,
        value=found.value,
        deviation=found.deviation if found.seeds > 1 else None,
        seeds=found.seeds,
        difference=found.difference,
        interval=found.interval,
        p=found.p,
    )


def scored(found: Reproduced, decimals: int, other: str = "") -> str:
    """The mean over seeds, its deviation, and the difference to the baseline with its mark."""
    deviation = f" ± {found.deviation:.{decimals}f}" if found.seeds > 1 else ""
    gain = "" if found.difference is None else f" ({signed(found.difference, decimals)}{mark(found.p)}{other})"
    return f"{found.value:.{decimals}f}{deviation}{gain}"
