"""Draw claims in BLEU: a row per claim, published and found."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from context_nmt.report.papers.claim_rows import ClaimRow
from context_nmt.report.papers.published import ALIKE
from context_nmt.report.papers.verdicts import (
    AGAINST,
    ALIKE_SYSTEMS,
    LEANING,
    LEANING_AGAINST,
    NOT_TESTABLE,
    OPEN,
    SUPPORTED,
)
from context_nmt.report.pictures.panels import COLOURS, draw_legend, label_rows, panels_of

BLUE, RED, GREEN = COLOURS[:3]
# shape and filling tell the verdicts apart without colour
MARKS: dict[str, dict[str, Any]] = {
    SUPPORTED: {"color": GREEN, "marker": "o"},
    LEANING: {"color": GREEN, "marker": "o", "markerfacecolor": "white"},
    ALIKE_SYSTEMS: {"color": BLUE, "marker": "|", "markersize": 9},
    LEANING_AGAINST: {"color": RED, "marker": "X", "markerfacecolor": "white"},
    AGAINST: {"color": RED, "marker": "X"},
    OPEN: {"color": "black", "marker": "s", "markerfacecolor": "white"},
    NOT_TESTABLE: {"color": "0.6", "marker": ".", "markersize": 5, "linewidth": 0.8},
}
BARS: dict[str, Any] = {"linestyle": "none", "capsize": 2, "linewidth": 1.4}
PUBLISHED: dict[str, Any] = {"marker": "D", "color": "black", "markerfacecolor": "white", "markersize": 4.5}
ACROSS = (
    "Difference in BLEU, to the right of 0 as the paper claims; bars: 95% interval over seeds;\n"
    "grey: does not answer the claim; no bar: not run, or out of date"
)
LETTERS = 40  # of a claim on one line
INCHES = 0.36  # per row


def draw_claims(claims: dict[str, Sequence[ClaimRow]], path: Path) -> bool:
    """Draw claims whose difference is in BLEU, by the name of their paper; return whether any has a number."""
    rows: list[str | ClaimRow] = []
    for name, of_paper in claims.items():
        drawn = [row for row in of_paper if row.is_bleu and (row.difference is not None or row.published)]
        rows += [name, *drawn] if drawn else []
    drawn = [row for row in rows if isinstance(row, ClaimRow)]
    if all(row.difference is None for row in drawn):
        return False
    with panels_of(path, 1, heights=[0.5 + INCHES * len(rows)], width=6.2, as_text=True) as (figure, (panel,)):
        panel.axvspan(-ALIKE, ALIKE, color="0.93", zorder=0)
        panel.axvline(0, color="black", linewidth=0.8)
        for place, row in enumerate(rows):
            if isinstance(row, ClaimRow):
                _draw_row(panel, place, row)
            else:
                panel.axhline(place - 0.5, color="0.7", linewidth=0.6)
        label_rows(panel, [row if isinstance(row, str) else fill(row.says, LETTERS) for row in rows], fontsize=9)
        for row, label in zip(rows, panel.get_yticklabels(), strict=True):
            label.set_fontweight("bold" if isinstance(row, str) else "normal")
        panel.tick_params(axis="x", top=True, labeltop=True, labelsize=9)
        panel.tick_params(axis="y", length=0)
        words = {row.verdict for row in drawn if row.difference is not None}
        handles = {word: Line2D([], [], linestyle="none", **marks) for word, marks in MARKS.items() if word in words}
        if any(row.published for row in drawn):
            handles["published"] = Line2D([], [], linestyle="none", **PUBLISHED)
        handles[f"±{ALIKE} BLEU"] = Line2D([], [], color="0.88", linewidth=8)
        draw_legend(figure, handles, columns=3, title=ACROSS)
    return True


def _draw_row(panel: Axes, place: int, row: ClaimRow) -> None:
    sign = -1 if row.direction == "lower" else 1
    published = sorted({sign * value for value in row.published})
    if published:
        panel.plot(published, [place - 0.2] * len(published), linewidth=0.6, **PUBLISHED)
    if row.difference is None:
        return
    mean = sign * row.difference
    ends = sorted(sign * end for end in (row.low, row.high) if end is not None)
    bar = [[mean - ends[0]], [ends[1] - mean]] if ends else None
    panel.errorbar([mean], [place + (0.2 if published else 0)], xerr=bar, **BARS | MARKS[row.verdict])
