"""What papers have published and what an experiment has reproduced as gains over the baseline: a picture per paper."""

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from context_nmt.report.figures import COLOURS, panels_of
from context_nmt.report.papers.published import Paper, Row, is_score
from context_nmt.report.papers.replicas import Beside

PUBLISHED: dict[str, Any] = {
    "marker": "D",
    "markerfacecolor": "white",
    "markersize": 6,
    "color": COLOURS[1],
    "linestyle": "none",
}
REPRODUCED: dict[str, Any] = {"marker": "o", "markersize": 6, "color": COLOURS[0], "linestyle": "none"}


def draw_gains(paper: Paper, tables: list[Beside], path: Path) -> None:
    """Draw a panel per table without curves, a mark per system and test set; no picture if no gain is reproduced."""
    found = {beside.table.id: (beside, _rows(beside)) for beside in tables if not beside.table.across}
    shown = {name: (beside, rows) for name, (beside, rows) in found.items() if any(ours for _, _, ours in rows)}
    if not shown:
        return
    heights = [1.2 + 0.3 * len(rows) for _, rows in shown.values()]
    with panels_of(path, len(shown), heights=heights) as (figure, panels):
        for panel, (beside, rows) in zip(panels, shown.values(), strict=True):
            _draw(panel, beside, rows)
            panel.set_title(f"{beside.table.id}: {beside.table.title}", fontsize=10, loc="left")
        corpus = tables[0].results.settings.corpus
        figure.suptitle(paper.name)
        figure.legend(
            [Line2D([], [], **PUBLISHED), Line2D([], [], **REPRODUCED)],
            ["published", f"{corpus.name} {corpus.source}-{corpus.target}"],
            title="difference to the system's baseline, a mark per test set",
            title_fontsize=8,
            loc="outside lower center",
            ncols=2,
            fontsize=8,
        )


def _rows(beside: Beside) -> list[tuple[Row, list[float], list[float]]]:
    """Rows that are compared with a baseline: published gains, and ours over the same one."""
    columns = [column for column, _ in beside.columns if column and is_score(column.metric)]
    measures = [measure for _, measure in beside.columns if measure and is_score(measure.metric)]
    rows = []
    for row in beside.table.rows:
        published = [beside.table.published_gain(row, column) for column in columns]
        cells = [beside.cell(row, measure) for measure in measures]
        known = [gain for gain in published if gain is not None]
        same = [cell for cell in cells if cell and not cell.baseline]
        ours = [cell.difference for cell in same if cell.difference is not None]
        if row.baseline and (known or ours):
            rows.append((row, known, ours))
    return rows


def _draw(panel: Axes, beside: Beside, rows: list[tuple[Row, list[float], list[float]]]) -> None:
    for place, (_, published, ours) in enumerate(rows):
        panel.plot(published, [place - 0.12] * len(published), **PUBLISHED)
        panel.plot(ours, [place + 0.12] * len(ours), **REPRODUCED)
    panel.axvline(0, color="black", linewidth=0.8)
    panel.set_yticks(range(len(rows)), [beside.label(row) for row, _, _ in rows], fontsize=9)
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.grid(axis="x", alpha=0.3)
