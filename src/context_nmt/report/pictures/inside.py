"""What goes on inside systems as pictures: a panel per system, a line per test set or measure."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from context_nmt.measures.rows import Measure
from context_nmt.report.pages.sections import DIVERGENCES, GATES
from context_nmt.report.pictures.panels import corpus_name, panels_of, style
from context_nmt.results.table import Results, places

Points = list[tuple[int | str, float, float]]  # layer or tag, mean, deviation over seeds
BASELINE: dict[str, Any] = {"color": "0.6", "linewidth": 3.5, "alpha": 0.5, "marker": "o", "markersize": 8}


@dataclass(frozen=True)
class Picture:
    """What is drawn over layers or tags: a line per test set, or of the first test set a line per measure."""

    name: str
    title: str
    across: str  # label of the layers or tags
    up: str  # label of the values
    measures: tuple[tuple[str, str], ...] = ()  # with their labels; one, of the picture's name, if empty
    by: str = "layer"
    gains: bool = False  # over the system's baseline, in place of its values


PICTURES = (
    Picture("locality_entropy", "Locality entropy of cross-attention", "decoder layer", "bits"),
    Picture("local_share", "Share of local cross-attention", "decoder layer", "1 - g"),
    Picture("divergence", "Divergence of local and global attention", "layer", "JS in nats", DIVERGENCES),
    Picture("gates", "Gates before attention", "layer", "share of the context", GATES),
    Picture("gates_by_tag", "Gates by part of speech", "", "share of the context", GATES, by="tag"),
    Picture("ngram_accuracy", "N-gram accuracy", "n", "points above the baseline", by="tag", gains=True),
    Picture("bleu_of_iterations", "BLEU of mask-predict", "iterations", "sacrebleu", by="tag"),
    Picture("bleu_of_units", "BLEU by length", "source units, from", "sacrebleu", by="tag"),
    Picture("bleu_of_tenth", "BLEU by length", "tenth, from short to long", "above the baseline", by="tag", gains=True),
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
    for label, (test_set, metric) in _names(results, picture).items():
        points: Points = []
        for place in places(results, test_set, [metric], picture.by):
            layer, tag = (place, "") if isinstance(place, int) else (None, place)
            number = results.number(variant, Measure(test_set, metric, layer, tag))
            if number and not picture.gains:
                points.append((place, number.mean, number.deviation))
            elif number and number.gain:
                points.append((place, number.gain.mean, 0.0))
        if points:
            lines[label] = points
    return lines


def _draw(results: Results, picture: Picture, panels: dict[str, dict[str, Points]], path: Path) -> None:
    settings, names = results.settings, _names(results, picture)
    shown = {place for lines in panels.values() for points in lines.values() for place, _, _ in points}
    known: list[int | str] = []
    for test_set in dict.fromkeys(test_set for test_set, _ in names.values()):
        known += places(results, test_set, [metric for _, metric in names.values()], picture.by)
    across = {place: number for number, place in enumerate(dict.fromkeys(place for place in known if place in shown))}
    between = all(str(place).isdecimal() for place in across)  # nothing lies between two parts of speech
    styles = {
        label: style(number) if between else style(number, linestyle="none") for number, label in enumerate(names)
    }
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
                    axis.plot([across[place] for place, _, _ in points], [mean for _, mean, _ in points], **BASELINE)
                legend["the system's baseline"] = Line2D([], [], **BASELINE)
            for label, points in lines.items():
                _plot(axis, across, points, styles[label], bars=not picture.gains and len(settings.seeds) > 1)
            axis.set_title(title, fontsize=9)
            axis.set_xlabel(picture.across, fontsize=8)
            axis.set_ylabel(picture.up, fontsize=8)
            axis.grid(alpha=0.3)
        _share_limits(axes, across)
        of_one = f", {results.test_sets[0]}" if picture.measures else ""
        figure.suptitle(f"{picture.title}, {corpus_name(settings)}{of_one}")
        figure.legend(legend.values(), legend, loc="outside lower center", ncols=4, fontsize=8)


def _plot(axis: Axes, across: dict[int | str, int], points: Points, look: dict[str, Any], *, bars: bool) -> None:
    found, means, deviations = zip(*points, strict=True)
    axis.errorbar([across[place] for place in found], means, yerr=deviations if bars else None, capsize=3, **look)


def _share_limits(axes: list[Axes], across: dict[int | str, int]) -> None:
    lowest, highest = min(axis.get_ylim()[0] for axis in axes), max(axis.get_ylim()[1] for axis in axes)
    upright = 90 if any(not str(place).isdecimal() for place in across) else 0
    for axis in axes:
        axis.set_ylim(lowest, highest)
        axis.set_xlim(-0.5, len(across) - 0.5)
        axis.set_xticks(range(len(across)), [str(place) for place in across], rotation=upright, fontsize=8)
