"""Numbers as the report prints them."""

from context_nmt.report.grid import NOTHING, Cell
from context_nmt.report.markdown import mark, signed
from context_nmt.report.papers.published import COSTS, Column, Row, Table
from context_nmt.report.papers.replicas import Cell as Reproduced
from context_nmt.report.papers.replicas import Measure


def published_cell(table: Table, row: Row, column: Column) -> Cell:
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


def reproduced_cell(table: Table, measure: Measure, found: Reproduced, baseline: str | None) -> Cell:
    """A number of an experiment; `baseline` is the label of one that is not the paper's."""
    other = f" to {baseline}" if baseline else ""
    decimals = decimals_of(table, measure)
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


def decimals_of(table: Table, measure: Measure) -> int:
    """As many as the table's own column of a metric has, and at least two."""
    return max([2, *(column.decimals for column in table.columns if column.metric == measure.metric)])


def scored(found: Reproduced, decimals: int, other: str = "") -> str:
    """The mean over seeds, its deviation, and the difference to the baseline with its mark."""
    deviation = f" ± {found.deviation:.{decimals}f}" if found.seeds > 1 else ""
    gain = "" if found.difference is None else f" ({signed(found.difference, decimals)}{mark(found.p)}{other})"
    return f"{found.value:.{decimals}f}{deviation}{gain}"
