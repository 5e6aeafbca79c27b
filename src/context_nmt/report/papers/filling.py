"""The commands that would fill the cells of a table, from the params.yaml of all experiments."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from context_nmt.measures.probes.tasks import UNIT_METRICS
from context_nmt.report.papers.columns import ANY, COSTS, PaperColumn
from context_nmt.report.papers.published import PaperRow, PaperTable
from context_nmt.results.table import Results

NO_EXPERIMENT = "make experiment (none has this text and this system)"


@dataclass(frozen=True)
class Gap:
    """The columns of a table on one text, and the experiments that have this text, those with most systems first."""

    table: PaperTable
    columns: tuple[PaperColumn, ...]
    able: tuple[Results, ...]
    shown: frozenset[str]  # names of experiments that have columns in the comparison, with commands of their own

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

    def command(self, row: PaperRow) -> str:
        """Return the command that fills a row; empty if nothing does, or if its numbers are elsewhere in the table."""
        if self.obstacle:
            return ""
        if row.experiment:
            holders = [results for results in self.able if results.folder == row.experiment]
            if not holders:
                return NO_EXPERIMENT
            return "" if holders[0].scored else filling(holders[0], next(iter(holders[0].settings.variants)), ())
        holders = [results for results in self.able if row.variant in results.settings.variants]
        is_empty = all(column.id in row.empty for column in self.columns)
        if row.variant is None or is_empty or any(row.variant in results.scored for results in holders):
            return ""
        if holders:
            return "" if holders[0].name in self.shown else filling(holders[0], row.variant, self.columns)
        return "" if self.able and (row.added or self.able[0].name in self.shown) else NO_EXPERIMENT


def gaps(table: PaperTable, experiments: Sequence[Results], shown: frozenset[str]) -> list[Gap]:
    """Return the columns of a table by the experiment that can fill most of them, if it has not run."""
    columns_by_names: dict[tuple[str, ...], list[PaperColumn]] = {}
    found: dict[tuple[str, ...], tuple[Results, ...]] = {}
    for column in table.columns:
        if column.metric in COSTS and (table.has_scores or column.metric != "parameters"):
            continue  # the systems that have scores have them, too; `make speed` measures speeds
        able = () if column.obstacle else tuple(_able(table, column, experiments))
        key = (able[0].name,) if able else ("", str(column.languages), str(column.test_set))
        found.setdefault(key, able)
        columns_by_names.setdefault(key, []).append(column)
    return [Gap(table, tuple(columns), found[key], shown) for key, columns in columns_by_names.items()]


def _able(table: PaperTable, column: PaperColumn, experiments: Sequence[Results]) -> Iterator[Results]:
    """Yield the experiments that can fill a column, those with most systems of the table first."""
    counts = [
        (sum(_has(results, row) for row in table.compared or table.rows), results)
        for results in experiments
        if column.is_of(results.settings.corpus)
        and (column.metric in COSTS or column.test_set in (*results.sets, results.settings.corpus.train))
    ]
    yield from (results for count, results in sorted(counts, key=lambda counted: -counted[0]) if count)


def _has(results: Results, row: PaperRow) -> bool:
    return row.variant in results.settings.variants or row.experiment == results.folder


def filling(results: Results, variant: str, columns: Sequence[PaperColumn]) -> str:
    """Return the command that runs one system of an experiment, with what all of its columns need before."""
    needed = {unprobed(results, variant, str(column.test_set), column.metric) for column in columns}
    return f"{results.command} ONLY={variant}{needed.pop() if len(needed) == 1 else ''}"


def unprobed(results: Results, variant: str, test_set: str, metric: str) -> str:
    """Return the list of params.yaml that a variant must be added to, in brackets, before a probe measures it."""
    probing = results.settings.probing
    if test_set in results.probing_sets and variant not in probing.sentences:
        return " (after adding it to probing.sentences in params.yaml)"
    if metric in UNIT_METRICS and variant not in probing.words:
        return " (after adding it to probing.words in params.yaml)"
    return ""


def of_any_system(command: str) -> str:
    """Return a command with SYSTEM instead of the name of one."""
    return re.sub(r" ONLY=\S+", " ONLY=SYSTEM", command)
