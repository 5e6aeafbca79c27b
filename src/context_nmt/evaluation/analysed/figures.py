"""What goes on inside systems as pictures: a panel per system, a line per test set."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from context_nmt.evaluation.figures import COLOURS, LINES, MARKERS, corpus_name, panels_of
from context_nmt.evaluation.results import Results

Points = list[tuple[int, float, float]]  # number, mean, deviation over seeds
BASELINE: dict[str, Any] = {"color": "0.6", "linewidth": 3.5, "alpha": 0.5, "marker": "o", "markersize": 8}


@dataclass(frozen=True)
class Picture:
    """What is drawn over the numbers of a measure: `MEASURE_NUMBER`."""

    measure: str
    title: str
    across: str  # label of the numbers
    up: str  # label of the values
    gains: bool = False  # over the system's baseline, in place of its values


PICTURES = (
    Picture("locality_entropy", "Locality entropy of cross-attention", "decoder layer", "bits"),
    Picture("local_share", "Share of local cross-attention", "decoder layer", "1 - g"),
    Picture("ngram_accuracy", "N-gram accuracy", "n", "points above the baseline", gains=True),
)


def draw_analyses(results: Results, folder: Path) -> list[str]:
    """Draw MEASURE.svg for every measure of which there is something to draw; returns the names of these measures."""
    drawn = []
    for picture in PICTURES:
        found = {variant: _lines(results, picture, variant) for variant in results.settings.variants}
        panels = {variant: lines for variant, lines in found.items() if lines}
        if panels:
            _draw(results, picture, panels, folder / f"{picture.measure}.svg")
            drawn.append(picture.measure)
    return drawn


def _lines(results: Results, picture: Picture, variant: str) -> dict[str, Points]:
    """By test set, what a system has; test sets of which it has nothing are left out."""
    lines = {}
    for test_set in results.test_sets:
        points: Points = []
        for number in results.numbers(test_set, picture.measure):
            name = f"{picture.measure}_{number}"
            if picture.gains:
                gain = results.difference(variant, test_set, name)
                points += [(number, gain.mean, 0.0)] if gain else []
            else:
                summary = results.summary(variant, test_set, name)
                points += [(number, summary["mean"], summary["deviation"])] if summary else []
        if points:
            lines[test_set] = points
    return lines


def _draw(results: Results, picture: Picture, panels: dict[str, dict[str, Points]], path: Path) -> None:
    settings = results.settings
    styles = {test_set: _style(number) for number, test_set in enumerate(results.test_sets)}
    legend = {name: Line2D([], [], **styles[name]) for lines in panels.values() for name in lines}
    with panels_of(path, len(panels), height=2.8) as (figure, axes):
        for axis, (variant, lines) in zip(axes, panels.items(), strict=True):
            baseline = settings.variants[variant].baseline
            title = settings.label(variant)
            if picture.gains:
                axis.axhline(0, color="black", linewidth=0.8)
                title += f"\nagainst {settings.label(str(baseline))}"
            elif baseline in panels:
                for points in panels[baseline].values():
                    axis.plot([number for number, _, _ in points], [mean for _, mean, _ in points], **BASELINE)
                legend["the system's baseline"] = Line2D([], [], **BASELINE)
            for test_set, points in lines.items():
                _plot(axis, points, styles[test_set], bars=not picture.gains and len(settings.seeds) > 1)
            axis.set_title(title, fontsize=9)
            axis.set_xlabel(picture.across, fontsize=8)
            axis.set_ylabel(picture.up, fontsize=8)
            axis.grid(alpha=0.3)
        _share_limits(
            axes, sorted({number for lines in panels.values() for points in lines.values() for number, _, _ in points})
        )
        figure.suptitle(f"{picture.title}, {corpus_name(settings)}")
        figure.legend(legend.values(), legend, loc="outside lower center", ncols=4, fontsize=8)


def _plot(axis: Axes, points: Points, style: dict[str, Any], *, bars: bool) -> None:
    numbers, means, deviations = zip(*points, strict=True)
    axis.errorbar(numbers, means, yerr=deviations if bars else None, capsize=3, **style)


def _style(number: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": LINES[number % len(LINES)],
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": 5,
        "linewidth": 1.4,
    }


def _share_limits(axes: list[Axes], numbers: list[int]) -> None:
    lowest, highest = min(axis.get_ylim()[0] for axis in axes), max(axis.get_ylim()[1] for axis in axes)
    for axis in axes:
        axis.set_ylim(lowest, highest)
        axis.set_xlim(numbers[0] - 0.5, numbers[-1] + 0.5)
        axis.set_xticks(numbers)
