"""Figures of several panels that are the same bytes every time, and how lines in them are told apart."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from context_nmt.files import replacing
from context_nmt.settings.parameters import ExperimentSettings

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito, for colour-blind readers
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
COLUMNS_OF_PANELS = 3


def style(number: int, **changes: Any) -> dict[str, Any]:
    """Colour, line and marker of a picture's line of this number, from 0, for matplotlib."""
    own = {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": LINES[number % len(LINES)],
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": 5,
        "linewidth": 1.4,
    }
    return own | changes


def legend(figure: Figure, panels: Sequence[Axes], columns: int = 4) -> None:
    """One legend below the panels; what is in several of them is there once."""
    found: dict[str, Any] = {}
    for panel in panels:
        handles, labels = panel.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    figure.legend(found.values(), found, loc="outside lower center", ncols=columns, fontsize=8)


def corpus_name(settings: ExperimentSettings) -> str:
    """The corpus and its direction, for titles."""
    return f"{settings.corpus.name} {settings.corpus.source}-{settings.corpus.target}"


@contextmanager
def panels_of(
    path: Path, count: int, *, height: float = 0, heights: Sequence[float] | None = None
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield a figure of `count` panels and write it to `path` without date or random names.

    At most three stand in a row, each of the same height; with `heights`, one below the other.
    """
    columns = 1 if heights else min(count, COLUMNS_OF_PANELS)
    rows = -(-count // columns)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams["svg.hashsalt"] = "context-nmt"
        size = (8, sum(heights) + 0.8) if heights else (2 + 3.5 * columns, height * rows)
        figure = Figure(figsize=size, layout="constrained")
        panels = list(figure.subplots(rows, columns, squeeze=False, height_ratios=heights).flat)
        for unused in panels[count:]:
            unused.remove()
        yield figure, panels[:count]
        with replacing(path) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None, "Creator": "context-nmt"})
