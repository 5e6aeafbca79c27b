"""Draw the analyses of systems: a panel per system, a line per test set or metric."""

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from context_nmt.measures.rows import Measure
from context_nmt.report.pages.analyses import ANALYSES, Analysis
from context_nmt.report.pictures.panels import corpus_name, draw_legend, label_axes, panels_of, style
from context_nmt.results.table import Results, places

Points = list[tuple[int | str, float, float]]  # layer or tag, mean, deviation over seeds
BASELINE: dict[str, Any] = {"color": "0.6", "linewidth": 3.5, "alpha": 0.5, "marker": "o", "markersize": 8}


def draw_analyses(results: Results, folder: Path) -> list[str]:
    """Draw NAME.svg for every analysis with values; return the names."""
    drawn = []
    for analysis in ANALYSES:
        lines_by_variant = {variant: _lines(results, analysis, variant) for variant in results.settings.variants}
        panels = {variant: lines for variant, lines in lines_by_variant.items() if lines}
        if panels:
            _draw(results, analysis, panels, folder / f"{analysis.name}.svg")
            drawn.append(analysis.name)
    return drawn


def _sets_and_metrics(results: Results, analysis: Analysis) -> dict[str, tuple[str, str]]:
    """Return the test set and metric of each line by label: a line per test set or, for the first one, per metric."""
    if not analysis.parts:
        return {test_set: (test_set, analysis.name) for test_set in results.test_sets}
    return {label: (results.test_sets[0], metric) for metric, label in analysis.parts}


def _lines(results: Results, analysis: Analysis, variant: str) -> dict[str, Points]:
    """Return the lines of a system by label, without empty ones."""
    lines = {}
    for label, (test_set, metric) in _sets_and_metrics(results, analysis).items():
        points: Points = []
        for layer_or_tag in places(results, test_set, [metric], analysis.by):
            layer, tag = (layer_or_tag, "") if isinstance(layer_or_tag, int) else (None, layer_or_tag)
            estimate = results.estimate(variant, Measure(test_set, metric, layer, tag))
            if estimate and not analysis.gains:
                points.append((layer_or_tag, estimate.mean, estimate.deviation))
            elif estimate and estimate.gain:
                points.append((layer_or_tag, estimate.gain.mean, 0.0))
        if points:
            lines[label] = points
    return lines


def _draw(results: Results, analysis: Analysis, panels: dict[str, dict[str, Points]], path: Path) -> None:
    settings, names = results.settings, _sets_and_metrics(results, analysis)
    shown = {place for lines in panels.values() for points in lines.values() for place, _, _ in points}
    known: list[int | str] = []
    for test_set in dict.fromkeys(test_set for test_set, _ in names.values()):
        known += places(results, test_set, [metric for _, metric in names.values()], analysis.by)
    across = {place: number for number, place in enumerate(dict.fromkeys(place for place in known if place in shown))}
    joined = all(str(place).isdecimal() for place in across)  # no values lie between two parts of speech
    styles = {label: style(number, joined=joined) for number, label in enumerate(names)}
    legend = {label: Line2D([], [], **styles[label]) for lines in panels.values() for label in lines}
    with panels_of(path, len(panels), height=2.8) as (figure, axes):
        for axis, (variant, lines) in zip(axes, panels.items(), strict=True):
            baseline = settings.variants[variant].baseline
            title = settings.label(variant)
            if analysis.gains:
                axis.axhline(0, color="black", linewidth=0.8)
                title += f"\nagainst {settings.label(str(baseline))}"
            elif baseline in panels:
                for points in panels[baseline].values():
                    axis.plot([across[place] for place, _, _ in points], [mean for _, mean, _ in points], **BASELINE)
                legend["the system's baseline"] = Line2D([], [], **BASELINE)
            for label, points in lines.items():
                drawn_places, means, deviations = zip(*points, strict=True)
                bars = deviations if not analysis.gains and len(settings.seeds) > 1 else None
                axis.errorbar([across[place] for place in drawn_places], means, yerr=bars, capsize=3, **styles[label])
            label_axes(axis, title, analysis.across, analysis.values)
        _share_limits(axes, [str(place) for place in across], upright=not joined)
        test_set_note = f", {results.test_sets[0]}" if analysis.parts else ""
        figure.suptitle(f"{analysis.picture}, {corpus_name(settings)}{test_set_note}")
        draw_legend(figure, legend)


def _share_limits(axes: list[Axes], labels: list[str], *, upright: bool) -> None:
    """Give all panels the same limits and labels."""
    lowest, highest = min(axis.get_ylim()[0] for axis in axes), max(axis.get_ylim()[1] for axis in axes)
    for axis in axes:
        axis.set_ylim(lowest, highest)
        axis.set_xlim(-0.5, len(labels) - 0.5)
        axis.set_xticks(range(len(labels)), labels, rotation=90 if upright else 0, fontsize=8)
