"""What goes on inside systems as pictures: a panel per system, a line per test set or measure."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from context_nmt.report.analysed.sections import DIVERGENCES, GATES, NUMBERS, TAGS
from context_nmt.report.figures import COLOURS, LINES, MARKERS, corpus_name, panels_of
from context_nmt.results.table import Results

Points = list[tuple[str, float, float]]  # number or tag, mean, deviation over seeds
BASELINE: dict[str, Any] = {"color": "0.6", "linewidth": 3.5, "alpha": 0.5, "marker": "o", "markersize": 8}


@dataclass(frozen=True)
class Picture:
    """What is drawn over numbers or tags: a line per test set, or of the first test set a line per measure."""

    name: str
    title: str
    across: str  # label of the numbers
    up: str  # label of the values
    measures: tuple[tuple[str, str], ...] = ()  # with their labels; one, of the picture's name, if empty
    pattern: str = NUMBERS
    gains: bool = False  # over the system's baseline, in place of its values


PICTURES = (
    Picture("locality_entropy", "Locality entropy of cross-attention", "decoder layer", "bits"),
    Picture("local_share", "Share of local cross-attention", "decoder layer", "1 - g"),
    Picture("divergence", "Divergence of local and global attention", "layer", "JS in nats", DIVERGENCES),
    Picture("gates", "Gates before attention", "layer", "share of the context", GATES),
    Picture("gates_by_tag", "Gates by part of speech", "", "share of the context", GATES, pattern=TAGS),
    Picture("ngram_accuracy", "N-gram accuracy", "n", "points above the baseline", gains=True),
    Picture("bleu_of_iterations", "BLEU of mask-predict", "iterations", "sacrebleu"),
    Picture("bleu_of_units", "BLEU by length", "source units, from", "sacrebleu"),
    Picture("bleu_of_tenth", "BLEU by length", "tenth, from short to long", "above the baseline", gains=True),
)


def draw_analyses(results: Results, folder: Path) -> list[str]:
    """Draw NAME.svg for every picture of which there is something to draw; returns their names."""
    drawn = []
    for picture in PICTURES:
        found = {variant: _lines(results, picture, variant) for variant in results.settings.variants}
        panels = {variant: lines for variant, lines in found.items() if lines}
        if panels:
            _draw(results, picture, panels, folder / f"{picture.name}.svg")
            drawn.append(picture.name)
    return drawn


def _names(results: Results, picture: Picture) -> dict[str, tuple[str, str]]:
    """By the label of a line, its test set and measure."""
    if not picture.measures:
        return {test_set: (test_set, picture.name) for test_set in results.test_sets}
    return {label: (results.test_sets[0], measure) for measure, label in picture.measures}


def _lines(results: Results, picture: Picture, variant: str) -> dict[str, Points]:
    """By its label, each line that a system has something of."""
    lines = {}
    for label, (test_set, measure) in _names(results, picture).items():
        points: Points = []
        for ending in results.endings(test_set, measure, picture.pattern):
            name = f"{measure}_{ending}"
            if picture.gains:
                gain = results.difference(variant, test_set, name)
                points += [(ending, gain.mean, 0.0)] if gain else []
            else:
                summary = results.summary(variant, test_set, name)
                points += [(ending, summary["mean"], summary["deviation"])] if summary else []
        if points:
            lines[label] = points
    return lines


def _draw(results: Results, picture: Picture, panels: dict[str, dict[str, Points]], path: Path) -> None:
    settings = results.settings
    styles = {label: _style(number) for number, label in enumerate(_names(results, picture))}
    if picture.pattern == TAGS:  # nothing lies between two tags
        styles = {label: style | {"linestyle": "none"} for label, style in styles.items()}
    shown = {ending for lines in panels.values() for points in lines.values() for ending, _, _ in points}
    known = (
        results.endings(test_set, measure, picture.pattern) for test_set, measure in _names(results, picture).values()
    )
    endings = dict.fromkeys(ending for found in known for ending in found if ending in shown)
    places = {ending: place for place, ending in enumerate(endings)}
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
                    axis.plot([places[ending] for ending, _, _ in points], [mean for _, mean, _ in points], **BASELINE)
                legend["the system's baseline"] = Line2D([], [], **BASELINE)
            for label, points in lines.items():
                _plot(axis, places, points, styles[label], bars=not picture.gains and len(settings.seeds) > 1)
            axis.set_title(title, fontsize=9)
            axis.set_xlabel(picture.across, fontsize=8)
            axis.set_ylabel(picture.up, fontsize=8)
            axis.grid(alpha=0.3)
        _share_limits(axes, places)
        of_one = f", {results.test_sets[0]}" if picture.measures else ""
        figure.suptitle(f"{picture.title}, {corpus_name(settings)}{of_one}")
        figure.legend(legend.values(), legend, loc="outside lower center", ncols=4, fontsize=8)


def _plot(axis: Axes, places: dict[str, int], points: Points, style: dict[str, Any], *, bars: bool) -> None:
    endings, means, deviations = zip(*points, strict=True)
    across = [places[ending] for ending in endings]
    axis.errorbar(across, means, yerr=deviations if bars else None, capsize=3, **style)


def _style(number: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": LINES[number % len(LINES)],
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": 5,
        "linewidth": 1.4,
    }


def _share_limits(axes: list[Axes], places: dict[str, int]) -> None:
    lowest, highest = min(axis.get_ylim()[0] for axis in axes), max(axis.get_ylim()[1] for axis in axes)
    upright = 90 if any(not ending.isdecimal() for ending in places) else 0
    for axis in axes:
        axis.set_ylim(lowest, highest)
        axis.set_xlim(-0.5, len(places) - 0.5)
        axis.set_xticks(range(len(places)), list(places), rotation=upright, fontsize=8)
