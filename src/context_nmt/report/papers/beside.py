"""The numbers of an experiment beside those that a paper has published, table by table."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from context_nmt.measures.rows import Measure
from context_nmt.report.papers.published import COSTS, Column, Paper, Row, Table, Wanted
from context_nmt.results.numbers import Difference, Number
from context_nmt.results.table import Results


@dataclass(frozen=True)
class Reproduced:
    """One number of an experiment; a system of which the paper's table has no baseline is compared with none."""

    number: Number  # parameters as they are, speeds relative to the Transformer
    ratio: float | None = None  # of parameters, to those of the variant's baseline
    baseline: str | None = None  # of the variant, where it is another one than the paper's


@dataclass(frozen=True)
class Beside:
    """One table; each column is a published one, what is reproduced of it, or both.

    What an experiment has for a column is a measure; that of a cost has no test set.
    """

    table: Table
    results: Results
    columns: tuple[tuple[Column | None, Measure | None], ...]
    is_replica: bool  # the experiment has other test sets than the paper

    @property
    def measures(self) -> list[Measure]:
        """Its measures; where the paper's own test sets are missing, not those on the validation set."""
        found = list(dict.fromkeys(measure for _, measure in self.columns if measure))
        validation = self.results.settings.corpus.validation
        others = [measure for measure in found if measure.test_set not in ("", validation)]
        if not self.is_replica or not others:
            return found
        return [measure for measure in found if measure.test_set != validation]

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

    def cell(self, row: Row, measure: Measure) -> Reproduced | None:
        """What the experiment has measured of a row's system; None if it has no such variant or number."""
        results, variant = self.results, row.variant
        if variant is None or variant not in results.models:
            return None
        if measure.metric in COSTS and measure.metric != "parameters":
            speed = results.speeds.ratio(results.models[variant], measure.metric.removesuffix("_speed"))
            return None if speed is None else Reproduced(Number(speed))
        own = results.settings.variants[variant].baseline if row.baseline else None
        own = own if own in results.models else None
        baseline = own if own != row.baseline else None
        if measure.metric == "parameters":
            parameters = results.models[variant]["parameters"]
            if own is None:
                return Reproduced(Number(parameters))
            others = results.models[own]["parameters"]
            gain = Difference(parameters - others, None, None)
            return Reproduced(Number(parameters, gain=gain), ratio=parameters / others, baseline=baseline)
        number = results.number(variant, measure)
        if number is None:
            return None
        if own is None or number.gain is None:
            return Reproduced(replace(number, gain=None))
        return Reproduced(number, baseline=baseline)


def set_paper_beside(paper: Paper, results: Results) -> list[Beside]:
    """Find what an experiment has for a paper's tables: those on its own text, or replicas where it has none."""
    found = [beside for table in paper.tables if (beside := set_beside(table, results))]
    if any(beside.table.has_scores and not beside.is_replica for beside in found):
        return [beside for beside in found if not beside.is_replica]
    return [replace(beside, is_replica=True) for beside in found]


def set_beside(table: Table, results: Results) -> Beside | None:
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


def _measure(table: Table, column: Column, results: Results) -> Measure | None:
    corpus = results.settings.corpus
    languages = corpus.direction
    matches = (column.languages or table.languages) == languages
    if column.metric in COSTS:
        others = [other for other in table.columns if other.metric == column.metric]
        elsewhere = any((other.languages or table.languages) == languages for other in others)
        return Measure("", column.metric) if matches or not elsewhere else None
    measure = column.on(str(column.test_set))
    return measure if matches and measure in results.measures else None


def _replica_measures(table: Table, results: Results) -> Iterator[Measure]:
    wanted = table.of_replicas or (Wanted(metric=results.settings.significance.metric),)
    found = {name: [one.on(name) for one in wanted if one.is_on(name)] for name in results.sets}
    found = {name: [one for one in measures if one in results.measures] for name, measures in found.items()}
    found = {name: measures for name, measures in found.items() if measures}
    for name in [*found][-1:] if table.across else found:  # a curve is that of one
        yield from found[name]
