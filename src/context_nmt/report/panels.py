"""Draw figures of several panels, the same bytes every time, with styles that distinguish their lines."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from context_nmt.files import replacing

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito, for colour-blind readers
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINE_STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
PANELS_PER_ROW = 3


def line_style(number: int, *, joined: bool = True, **changes: Any) -> dict[str, Any]:
    """Return matplotlib's colour, line and marker for line `number`, from 0; if not `joined`, only markers."""
    defaults = {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": LINE_STYLES[number % len(LINE_STYLES)] if joined else "none",
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": 5,
        "linewidth": 1.4,
    }
    return defaults | changes


def draw_shared_legend(figure: Figure, panels: Sequence[Axes], columns: int = 4) -> None:
    """Draw one legend below the panels, with each label once."""
    pairs_of_panels = (zip(*panel.get_legend_handles_labels(), strict=True) for panel in panels)
    draw_legend(figure, {label: handle for pairs in pairs_of_panels for handle, label in pairs}, columns)


def draw_legend(figure: Figure, handles: dict[str, Any], columns: int = 4, title: str = "") -> None:
    """Draw a legend from handles by label: below the panels or, with a title, above them."""
    location: Literal["outside upper center", "outside lower center"]
    location = "outside upper center" if title else "outside lower center"
    figure.legend(handles.values(), handles, loc=location, ncols=columns, fontsize=8, title=title, title_fontsize=8)


def label_axes(panel: Axes, title: str, x_label: str, y_label: str) -> None:
    """Draw the title of a panel, the labels of its axes and a grid."""
    panel.set_title(title, fontsize=9)
    panel.set_xlabel(x_label, fontsize=8)
    panel.set_ylabel(y_label, fontsize=8)
    panel.grid(alpha=0.3)


def label_rows(panel: Axes, labels: Sequence[str], top: float = -0.5, **changes: Any) -> None:
    """Label the rows of a panel, the first on top, and draw a grid across them."""
    panel.set_yticks(range(len(labels)), labels, **changes)
    panel.set_ylim(len(labels) - 0.5, top)
    panel.grid(axis="x", alpha=0.3)


def interval_bar(mean: float, interval: Sequence[float] | None) -> list[list[float]] | None:
    """Return the lengths of a point's error bar, down and up; None without an interval."""
    return [[mean - interval[0]], [interval[1] - mean]] if interval else None


@contextmanager
def draw_panels(
    path: Path,
    count: int,
    *,
    height: float = 0,
    heights: Sequence[float] | None = None,
    width: float = 6.2,
    as_text: bool = False,
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield a figure of `count` panels, then write it to `path` without a date or random names.

    Up to three panels of equal height share a row; with `heights`, each panel has its own row. `as_text` keeps letters
    as text instead of drawing them.
    """
    columns = 1 if heights else min(count, PANELS_PER_ROW)
    rows = -(-count // columns)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        font = "none" if as_text else "path"
        matplotlib.rcParams.update({"svg.hashsalt": "context-nmt", "svg.fonttype": font, "text.parse_math": False})
        size = (width, sum(heights) + 0.8) if heights else (2 + 3.5 * columns, height * rows)
        figure = Figure(figsize=size, layout="constrained")
        panels = list(figure.subplots(rows, columns, squeeze=False, height_ratios=heights).flat)
        for unused in panels[count:]:
            unused.remove()
        yield figure, panels[:count]
        with replacing(path) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None, "Creator": "context-nmt"})
