"""Entries as pictures: gains of systems as points, measures by layer, length or class as lines; without colour too."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from context_nmt.evaluation.figures import COLOURS, LINES, MARKERS, panels_of
from context_nmt.evaluation.papers.published import is_score
from context_nmt.evaluation.papers.replicas import Cell, Measure
from context_nmt.evaluation.report.entries import Block, Entry

PUBLISHED: dict[str, Any] = {"marker": "D", "markerfacecolor": "white", "color": "black", "linestyle": "none"}


@dataclass(frozen=True)
class Family:
    """Measures of one experiment that differ in their last part alone: a layer, a length or a class."""

    block: Block
    stem: str
    measures: tuple[Measure, ...]

    @property
    def items(self) -> list[str]:
        """What they differ in."""
        return [measure.metric.removeprefix(f"{self.stem}_") for measure in self.measures]


def draw_entry(entry: Entry, path: Path) -> bool:
    """Draw what has been reproduced of an entry; returns whether there is something to draw."""
    families = [family for block in entry.blocks for family in _families(entry, block) if _lines(entry, family)]
    if families:
        _draw_families(entry, families, path)
        return True
    points = [(block, found) for block in entry.blocks if (found := _gains(entry, block))]
    if points:
        _draw_gains(entry, points, path)
    return bool(points)


def _families(entry: Entry, block: Block) -> Iterator[Family]:
    stems = {column.metric: column.family for column in entry.table.columns if column.family}
    found: dict[tuple[str, str | None], list[Measure]] = {}
    for measure in block.measures:
        if measure.metric in stems:
            found.setdefault((stems[measure.metric], measure.test_set), []).append(measure)
    for (stem, _), measures in found.items():
        yield Family(block, stem, tuple(measures))


def _lines(entry: Entry, family: Family) -> list[tuple[str, list[Cell | None]]]:
    rows = [
        (row.label, [family.block.beside.cell(row, measure) for measure in family.measures]) for row in entry.table.rows
    ]
    return [(label, cells) for label, cells in rows if any(cells)]


def _draw_families(entry: Entry, families: Sequence[Family], path: Path) -> None:
    with panels_of(path, len(families), height=3.2) as (figure, panels):
        matplotlib.rcParams["svg.fonttype"] = "none"
        labels = list(dict.fromkeys(label for family in families for label, _ in _lines(entry, family)))
        for panel, family in zip(panels, families, strict=True):
            for label, cells in _lines(entry, family):
                at = [place for place, cell in enumerate(cells) if cell]
                known = [cell for cell in cells if cell]
                panel.errorbar(
                    at,
                    [cell.value for cell in known],
                    yerr=[cell.deviation for cell in known] if any(cell.seeds > 1 for cell in known) else None,
                    label=label,
                    capsize=3,
                    **_style(labels.index(label)),
                )
            is_long = any(len(item) > 3 for item in family.items)
            panel.set_xticks(range(len(family.items)), family.items, rotation=60 if is_long else 0, fontsize=8)
            panel.set_title(f"{family.stem}, {family.measures[0].test_set}\n{family.block.written.title}", fontsize=9)
            panel.grid(alpha=0.3)
        _finish(figure, panels, entry)


def _style(number: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": LINES[number % len(LINES)],
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": 5,
        "linewidth": 1.4,
    }


Gains = dict[int, list[tuple[float, tuple[float, float] | None]]]  # by row: a gain and its interval per test set


def _gains(entry: Entry, block: Block) -> Gains:
    measures = [measure for measure in block.measures if measure.test_set and is_score(measure.metric)]
    found: Gains = {}
    for place, row in enumerate(_compared(entry)):
        cells = [block.beside.cell(row, measure) for measure in measures]
        known = [cell for cell in cells if cell and cell.difference is not None and not cell.baseline]
        if known:
            found[place] = [(float(cell.difference or 0), cell.interval) for cell in known]
    return found


def _compared(entry: Entry) -> list[Any]:
    return [row for row in entry.table.rows if row.baseline]


def _draw_gains(entry: Entry, points: list[tuple[Block, Gains]], path: Path) -> None:
    rows = _compared(entry)
    with panels_of(path, 1, heights=[1.4 + (0.17 + 0.11 * len(points)) * len(rows)]) as (figure, panels):
        matplotlib.rcParams["svg.fonttype"] = "none"
        panel = panels[0]
        step = 0.7 / (len(points) + 1)
        _draw_published(entry, panel, -0.35 + step / 2)
        for number, (block, gains) in enumerate(points):
            for place, found in gains.items():
                at = place - 0.35 + step * (number + 1.5)
                for gain, interval in found:
                    panel.errorbar(
                        [gain],
                        [at],
                        xerr=[[gain - interval[0]], [interval[1] - gain]] if interval else None,
                        label=block.written.title,
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
        _finish(figure, panels, entry)


def _draw_published(entry: Entry, panel: Axes, shift: float) -> None:
    columns = [column for column in entry.table.columns if is_score(column.metric)]
    for place, row in enumerate(_compared(entry)):
        known = [gain for column in columns if (gain := entry.table.published_gain(row, column)) is not None]
        if known:
            panel.plot(known, [place + shift] * len(known), label="published", markersize=5, **PUBLISHED)


def _finish(figure: Figure, panels: Sequence[Axes], entry: Entry) -> None:
    """A title and one legend; systems with several points stand there once."""
    found: dict[str, Any] = {}
    for panel in panels:
        handles, labels = panel.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    figure.legend(found.values(), found, loc="outside lower center", ncols=2, fontsize=8)
    figure.suptitle(f"{entry.table.id}: {entry.table.title}", fontsize=10)
