"""Draw comparisons, readable without colour: gains of systems as points, curves of figures as lines."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from context_nmt.measures.rows import Measure
from context_nmt.report.papers.comparison import Comparison, Reproduction
from context_nmt.report.papers.published import PaperColumn, PaperRow, PaperTable
from context_nmt.report.pictures.panels import COLOURS, MARKERS, label_rows, legend, panels_of, style
from context_nmt.results.metrics import is_score
from context_nmt.results.table import Difference

PUBLISHED: dict[str, Any] = {"marker": "D", "markerfacecolor": "white", "color": "black", "linestyle": "none"}
LETTERS = 60  # below one panel, side by side
Lines = dict[str, dict[str, float]]  # by label, values by place on the axis
Gains = dict[int, list[Difference]]  # by row, one per test set


def draw_comparison(comparison: Comparison, path: Path) -> bool:
    """Draw the reproductions of a table or figure; return whether there is anything to draw."""
    reproductions = comparison.reproductions
    curves = [(reproduction, *_curves(reproduction)) for reproduction in reproductions if comparison.table.across]
    curves = [
        (reproduction, ours, theirs)
        for reproduction, ours, theirs in curves
        if any(len(line) > 1 for line in ours.values())
    ]
    if curves:
        with panels_of(path, len(curves), heights=[3.2] * len(curves), as_text=True) as (_, panels):
            for panel, (reproduction, ours, theirs) in zip(panels, curves, strict=True):
                _draw_curves(panel, reproduction, ours, theirs)
        return True
    gains = {
        reproduction.results.title: reproduction_gains
        for reproduction in reproductions
        if (reproduction_gains := _gains(reproduction))
    }
    if gains:
        _draw_gains(comparison.table, gains, path)
    return bool(gains)


def _gains(reproduction: Reproduction) -> Gains:
    measures = [measure for measure in reproduction.measures if measure.test_set and is_score(measure.metric)]
    gains: Gains = {}
    for row_number, row in enumerate(reproduction.table.compared):
        for number in (reproduction.number(row, measure) for measure in measures):
            if number and number.estimate.gain and not number.baseline:
                gains.setdefault(row_number, []).append(number.estimate.gain)
    return gains


def _draw_gains(table: PaperTable, found: dict[str, Gains], path: Path) -> None:
    rows = table.compared
    with panels_of(path, 1, heights=[1.4 + (0.17 + 0.11 * len(found)) * len(rows)], as_text=True) as (figure, (panel,)):
        step = 0.7 / (len(found) + 1)
        _draw_published(table, panel, -0.35 + step / 2)
        for number, (title, gains) in enumerate(found.items()):
            for row_number, gain in (
                (row_number, gain) for row_number, row_gains in gains.items() for gain in row_gains
            ):
                panel.errorbar(
                    [gain.mean],
                    [row_number - 0.35 + step * (number + 1.5)],
                    xerr=[[gain.mean - gain.interval[0]], [gain.interval[1] - gain.mean]] if gain.interval else None,
                    label=title,
                    linestyle="none",
                    marker=MARKERS[number % len(MARKERS)],
                    color=COLOURS[number % len(COLOURS)],
                    capsize=3,
                    markersize=5,
                    linewidth=1,
                )
        panel.axvline(0, color="black", linewidth=0.8)
        label_rows(panel, [row.label for row in rows], fontsize=9)
        panel.set_xlabel(
            "difference from the system's baseline, one mark per test set; bars: 95% interval over seeds", fontsize=8
        )
        for row_number in range(1, len(rows)):
            panel.axhline(row_number - 0.5, color="0.85", linewidth=0.6)
        legend(figure, [panel], columns=2)
        figure.suptitle(f"{table.id}: {table.title}", fontsize=10)


def _draw_published(table: PaperTable, panel: Axes, shift: float) -> None:
    columns = [column for column in table.columns if is_score(column.metric)]
    for row_number, row in enumerate(table.compared):
        gains = [gain for column in columns if (gain := table.published_gain(row, column)) is not None]
        if gains:
            panel.plot(gains, [row_number + shift] * len(gains), label="published", markersize=5, **PUBLISHED)


def _curves(reproduction: Reproduction) -> tuple[Lines, Lines]:
    """Return the reproduced and the published lines."""
    reproduced: Lines = {}
    published: Lines = {}
    for row, column, measure in _measured(reproduction):
        # either the rows have a place on the axis, or the columns
        line = reproduction.label(row) + (f", {column.line}" if column.line else "")
        at, label = (row.at, column.label) if row.at is not None else (column.at, line)
        number = reproduction.number(row, measure)
        value = number and (number.estimate.gain if column.difference else number.estimate)
        if at is not None and value:
            reproduced.setdefault(label, {})[str(at)] = value.mean
        if at is not None and column.id in row.published and (column.difference or not reproduction.is_replica):
            published.setdefault(label, {})[str(at)] = row.published[column.id]
    return reproduced, published


def _measured(reproduction: Reproduction) -> Iterator[tuple[PaperRow, PaperColumn, Measure]]:
    """Yield each row with each measure on a test set and its column: that of its metric, or the first."""
    table = reproduction.table
    columns = {column.on(""): column for column in table.columns}
    for row in table.rows:
        for column, measure in reproduction.columns:
            if measure and measure.test_set:
                yield row, column or columns.get(replace(measure, test_set=""), table.columns[0]), measure


def _draw_curves(panel: Axes, reproduction: Reproduction, ours: Lines, theirs: Lines) -> None:
    """Draw a figure: a line per system or measure, open marks for published values."""
    table = reproduction.table
    positions = (*(column.at for column in table.columns), *(row.at for row in table.rows))
    order = [str(at) for at in positions if at is not None]
    known = {at for line in (*ours.values(), *theirs.values()) for at in line}
    places = {at: place for place, at in enumerate(dict.fromkeys(at for at in order if at in known))}
    joined = not all(at[:1].isalpha() for at in places)  # no values lie between two tags
    for number, (label, line) in enumerate(ours.items()):
        panel.plot([places[at] for at in line], list(line.values()), **style(number, joined=joined), label=label)
    published = [(places[at], value) for line in theirs.values() for at, value in line.items()]
    if published:
        panel.plot(*zip(*published, strict=True), **PUBLISHED, markersize=8, label="published")
    is_difference = table.columns[0].difference
    if is_difference:
        panel.axhline(0, color="black", linewidth=0.8)
    test_set = next(measure.test_set for _, measure in reproduction.columns if measure and measure.test_set)
    panel.set_title(reproduction.results.title, fontsize=9, loc="left")
    upright = sum(map(len, places)) > LETTERS
    panel.set_xticks(range(len(places)), list(places), rotation=90 if upright else 0)
    panel.set_xlabel(table.across, fontsize=8)
    panel.set_ylabel(f"{'gain' if is_difference else 'value'}, {test_set}", fontsize=8)
    panel.grid(alpha=0.3)
    panel.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=7)
