"""The tables of papers, published and reproduced side by side, as rows of numbers."""

from collections.abc import Iterator

from context_nmt.report.papers.published import COSTS, Column, Row
from context_nmt.report.papers.replicas import Beside, Cell, Measure

FACTORS = {"": 1, "K": 1_000, "M": 1_000_000}
COLUMNS = (
    *("paper", "table", "row", "variant", "baseline", "languages", "test_set", "metric"),
    *("published", "published_difference", "published_ratio", "mark"),
    *("corpus", "reproduced", "deviation", "seeds", "difference", "p", "ratio", "other_baseline"),
)


def paper_rows(paper: str, beside: Beside) -> Iterator[list[object]]:
    """Yield COLUMNS for every cell that is published or reproduced; parameters are written out."""
    corpus = beside.results.settings.corpus
    for row in beside.table.rows:
        for column, measure in beside.columns:
            cell = beside.cell(row, measure) if measure else None
            published = row.published.get(column.id) if column else None
            if cell is None and published is None:
                continue
            place = column or measure
            assert place is not None
            languages = (column.languages or beside.table.languages) if column else f"{corpus.source}-{corpus.target}"
            yield [
                *(paper, beside.table.id, row.label, row.variant, row.baseline),
                *(languages, place.test_set, place.metric),
                *_published_numbers(beside, row, column),
                corpus.name if cell else None,
                *_reproduced_numbers(cell, measure),
            ]


def _published_numbers(beside: Beside, row: Row, column: Column | None) -> list[object]:
    value = row.published.get(column.id) if column else None
    if column is None or value is None:
        return [None] * 4
    factor = FACTORS[column.unit]
    gain, ratio = beside.table.published_gain(row, column), beside.table.published_ratio(row, column)
    written = None if column.difference else _plain(value * factor)
    difference = None if gain is None else _plain(gain * factor)
    return [written, difference, None if ratio is None else round(ratio, 4), row.marks.get(column.id)]


def _reproduced_numbers(cell: Cell | None, measure: Measure | None) -> list[object]:
    if cell is None or measure is None:
        return [None] * 7
    ratio = None if cell.ratio is None else round(cell.ratio, 4)
    if measure.metric == "parameters":
        return [cell.value, None, None, cell.difference, None, ratio, cell.baseline]
    if measure.metric in COSTS:
        return [*[None] * 5, cell.value, None]
    return [cell.value, cell.deviation, cell.seeds, cell.difference, cell.p, ratio, cell.baseline]


def _plain(value: float) -> float | int:
    """Without what multiplying has left behind the last digit."""
    rounded = round(value, 4)
    return int(rounded) if rounded.is_integer() else rounded
