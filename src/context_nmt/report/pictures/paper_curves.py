"""The figures of papers that are curves, as an experiment has reproduced them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from matplotlib.axes import Axes

from context_nmt.measures.rows import Measure
from context_nmt.report.papers.beside import Beside
from context_nmt.report.papers.published import Column, Row
from context_nmt.report.pictures.panels import style

Lines = dict[str, dict[str, float]]  # by label, values by their place
PUBLISHED: dict[str, Any] = {"marker": "D", "markerfacecolor": "white", "markersize": 8, "color": "black"}


def curves_of(beside: Beside) -> tuple[Lines, Lines]:
    """What is reproduced, and what is published."""
    ours: Lines = {}
    theirs: Lines = {}
    for row, column, measure in _cells(beside):
        # either the rows have a place on the axis, or the columns
        at, label = (row.at, column.label) if row.at is not None else (column.at, _label(beside, row, column))
        cell = beside.cell(row, measure)
        value = None if cell is None else cell.number.mean
        if cell and column.difference:
            value = cell.number.gain and cell.number.gain.mean
        if at is None:
            continue
        if value is not None:
            ours.setdefault(label, {})[str(at)] = value
        if column.id in row.published and (column.difference or not beside.is_replica):
            theirs.setdefault(label, {})[str(at)] = row.published[column.id]
    return ours, theirs


def _cells(beside: Beside) -> Iterator[tuple[Row, Column, Measure]]:
    """Each row with each score or measure, and the column that it is of: that of its metric, or the first."""
    columns = {column.on(""): column for column in beside.table.columns}
    for row in beside.table.rows:
        for column, measure in beside.columns:
            if measure and measure.test_set:
                own = column or columns.get(replace(measure, test_set=""), beside.table.columns[0])
                yield row, own, measure


def _label(beside: Beside, row: Row, column: Column) -> str:
    return beside.label(row) + (f", {column.line}" if column.line else "")


def draw_panel(panel: Axes, beside: Beside, ours: Lines, theirs: Lines) -> None:
    """Draw one figure: a line per system or measure, open marks for what is published."""
    table = beside.table
    parts = (*(column.at for column in table.columns), *(row.at for row in table.rows))
    order = [str(at) for at in parts if at is not None]
    known = {at for line in (*ours.values(), *theirs.values()) for at in line}
    places = {at: place for place, at in enumerate(dict.fromkeys(at for at in order if at in known))}
    between = not all(at.isalpha() for at in places)  # nothing lies between two tags
    for number, (label, line) in enumerate(ours.items()):
        look = style(number) if between else style(number, linestyle="none")
        panel.plot([places[at] for at in line], list(line.values()), **look, label=label)
    published = [(places[at], value) for line in theirs.values() for at, value in line.items()]
    if published:
        across, up = zip(*published, strict=True)
        panel.plot(across, up, **PUBLISHED, linestyle="none", label="published")
    if table.columns[0].difference:
        panel.axhline(0, color="black", linewidth=0.8)
    panel.set_xticks(range(len(places)), list(places))
    panel.set_xlabel(table.across, fontsize=8)
    panel.set_ylabel(_value(beside), fontsize=8)
    panel.grid(alpha=0.3)
    panel.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=7)


def _value(beside: Beside) -> str:
    test_set = next(measure.test_set for _, measure in beside.columns if measure and measure.test_set)
    return f"{'gain' if beside.table.columns[0].difference else 'value'}, {test_set}"
