"""Entries as pictures: gains of systems as points, measures by layer, length or class as lines; without colour too."""

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes

from context_nmt.report.papers.beside import Beside
from context_nmt.report.papers.entries import Entry
from context_nmt.report.pictures.panels import COLOURS, MARKERS, legend, panels_of
from context_nmt.report.pictures.paper_curves import curves_of, draw_panel
from context_nmt.results.numbers import Difference
from context_nmt.results.table import is_score

PUBLISHED: dict[str, Any] = {"marker": "D", "markerfacecolor": "white", "color": "black", "linestyle": "none"}


def draw_entry(entry: Entry, path: Path) -> bool:
    """Draw what has been reproduced of an entry; returns whether there is something to draw."""
    curves = [(block, *curves_of(block)) for block in entry.blocks if entry.table.across]
    curves = [(block, ours, theirs) for block, ours, theirs in curves if any(len(line) > 1 for line in ours.values())]
    if curves:
        with panels_of(path, len(curves), heights=[3.2] * len(curves)) as (_, panels):
            matplotlib.rcParams["svg.fonttype"] = "none"
            for panel, (block, ours, theirs) in zip(panels, curves, strict=True):
                draw_panel(panel, block, ours, theirs)
                panel.set_title(block.results.title, fontsize=9, loc="left")
        return True
    points = [(block, found) for block in entry.blocks if (found := _gains(entry, block))]
    if points:
        _draw_gains(entry, points, path)
    return bool(points)


Gains = dict[int, list[Difference]]  # by row: the gain on each test set


def _gains(entry: Entry, block: Beside) -> Gains:
    measures = [measure for measure in block.measures if measure.test_set and is_score(measure.metric)]
    found: Gains = {}
    for place, row in enumerate(_compared(entry)):
        cells = [block.cell(row, measure) for measure in measures]
        known = [cell.number.gain for cell in cells if cell and cell.number.gain and not cell.baseline]
        if known:
            found[place] = known
    return found


def _compared(entry: Entry) -> list[Any]:
    return [row for row in entry.table.rows if row.baseline]


def _draw_gains(entry: Entry, points: list[tuple[Beside, Gains]], path: Path) -> None:
    rows = _compared(entry)
    with panels_of(path, 1, heights=[1.4 + (0.17 + 0.11 * len(points)) * len(rows)]) as (figure, panels):
        matplotlib.rcParams["svg.fonttype"] = "none"
        panel = panels[0]
        step = 0.7 / (len(points) + 1)
        _draw_published(entry, panel, -0.35 + step / 2)
        for number, (block, gains) in enumerate(points):
            for place, found in gains.items():
                at = place - 0.35 + step * (number + 1.5)
                for gain in found:
                    low, high = gain.interval or (gain.mean, gain.mean)
                    panel.errorbar(
                        [gain.mean],
                        [at],
                        xerr=[[gain.mean - low], [high - gain.mean]] if gain.interval else None,
                        label=block.results.title,
                        linestyle="none",
                        marker=MARKERS[number % len(MARKERS)],
                        color=COLOURS[number % len(COLOURS)],
                        capsize=3,
                        markersize=5,
                        linewidth=1,
                    )
        panel.axvline(0, color="black", linewidth=0.8)
        panel.set_yticks(range(len(rows)), [row.label for row in rows], fontsize=9)
        panel.set_ylim(len(rows) - 0.5, -0.5)
        panel.set_xlabel(
            "difference to the system's baseline, a mark per test set; bars: 95% interval over seeds", fontsize=8
        )
        panel.grid(axis="x", alpha=0.3)
        for place in range(1, len(rows)):
            panel.axhline(place - 0.5, color="0.85", linewidth=0.6)
        legend(figure, panels, columns=2)
        figure.suptitle(f"{entry.table.id}: {entry.table.title}", fontsize=10)


def _draw_published(entry: Entry, panel: Axes, shift: float) -> None:
    columns = [column for column in entry.table.columns if is_score(column.metric)]
    for place, row in enumerate(_compared(entry)):
        known = [gain for column in columns if (gain := entry.table.published_gain(row, column)) is not None]
        if known:
            panel.plot(known, [place + shift] * len(known), label="published", markersize=5, **PUBLISHED)
