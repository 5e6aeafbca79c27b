"""Pages of measures by layer or tag; each entry of analyses.yaml has a table per test set and a picture."""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from context_nmt.files import read_yaml
from context_nmt.measures.rows import TEXT, Measure
from context_nmt.report.pages import Page, Section
from context_nmt.report.panels import draw_legend, draw_panels, label_axes, line_style
from context_nmt.report.tables import Grid, estimate_cell, make_grid, value_cell
from context_nmt.results.table import Results, layers_or_tags
from context_nmt.settings import Checked, check

Points = dict[int | str, tuple[float, float]]  # by layer or tag: mean and deviation over seeds
BASELINE_STYLE: dict[str, Any] = {"color": "0.6", "linewidth": 3.5, "alpha": 0.5, "marker": "o", "markersize": 8}
REFERENCE_STYLE: dict[str, Any] = {"color": "black", "linestyle": "none", "marker": "_", "markersize": 10}

PAGE_TITLES = {"analyses": "Inside the systems", "discourse": "Documents", "probes": "Probes"}


@dataclass(frozen=True, kw_only=True)
class Analysis(Checked):
    """A table per test set with a column per layer or tag, and a picture with a panel per system."""

    name: str  # of its picture and, without `parts`, its metric
    title: str
    text: str
    absent: str  # replaces the text if no system has the metric
    untagged: str = ""  # replaces `absent` if a system has the metric, but not by tag
    picture: str = ""  # title of the picture, which is drawn only with a title
    across: str = ""  # label of the picture's layers or tags
    values: str = ""  # label of the picture's values
    parts: dict[str, str] = field(default_factory=dict)  # labels of metrics, each with a row per system and a line
    by: Literal["layer", "tag"] = "layer"
    per_layer: bool = False  # if by tag: a row and a line for each layer
    tags: tuple[str, ...] = ()  # the tags to show, in this order; all if empty
    column: str = "layer {}"
    wholes: dict[str, str] = field(default_factory=dict)  # column titles by metric without a layer; "": the row's
    counts: dict[Literal["metric", "unit"], str] = field(default_factory=dict)  # sizes of the text, for column titles
    references: dict[Literal["human", "chance"], str] = field(default_factory=dict)  # labels of rows without a system
    only_measured: bool = False  # leaves out systems without a value
    gains: bool = False  # the picture shows differences from the system's baseline
    decimals: int = 3
    page: Literal["analyses", "discourse", "probes"] = "analyses"
    over: Literal["tests", "held_out", "contrastive", "probing"] = "tests"  # held_out: without the validation set

    @property
    def metrics(self) -> dict[str, str]:
        """The labels of its metrics."""
        return self.parts or {self.name: ""}

    def test_sets(self, results: Results) -> list[str]:
        """Return the sets that it has tables for."""
        sets = {
            "tests": results.test_sets,
            "held_out": list(results.settings.corpus.held_out),
            "contrastive": results.contrastive_sets,
            "probing": results.probing_sets,
        }
        return sets[self.over]

    def series(self, results: Results, test_set: str) -> dict[str, tuple[str, int | None]]:
        """Return, by label, the metric and, with `per_layer`, the layer of each row and line."""
        if not self.per_layer:
            return {label: (metric, None) for metric, label in self.metrics.items()}
        measures = [measure for measure in results.measures if measure.test_set == test_set]
        layers = sorted({measure.layer or 0 for measure in measures if measure.metric in self.metrics})
        parts = product(self.metrics.items(), layers)
        return {f"{part}, layer {layer}": (metric, layer) for (metric, part), layer in parts}

    def layers_or_tags(
        self, results: Results, test_set: str, series: Collection[tuple[str, int | None]]
    ) -> Collection[int | str]:
        """Return the layers or tags for which a series has values."""
        measured = layers_or_tags(results, test_set, series, self.by)
        return [tag for tag in self.tags if tag in measured] if self.tags else measured


@cache
def read_analyses() -> list[Analysis]:
    """Read analyses.yaml."""
    path = Path(__file__).with_name("analyses.yaml")
    return [check(Analysis, entry, where=f"{path.name}, entry {n}") for n, entry in enumerate(read_yaml(path))]


def _make_measure(test_set: str, metric: str, layer_or_tag: int | str = "", layer: int | None = None) -> Measure:
    if isinstance(layer_or_tag, int):
        return Measure(test_set, metric, layer_or_tag)
    return Measure(test_set, metric, layer, layer_or_tag)


def analyses_page(results: Results, name: str, pictures: Collection[str]) -> Page:
    """Build a page of PAGE_TITLES; `pictures` are the names of the pictures in figures/."""
    sections = []
    analyses = [analysis for analysis in read_analyses() if analysis.page == name]
    measured = {measure.metric for measure in results.measures}
    for analysis in analyses:
        grids_of_sets = (_make_grid(results, analysis, test_set) for test_set in analysis.test_sets(results))
        grids = tuple(grid for grid in grids_of_sets if grid.headings)
        has_metric = not measured.isdisjoint(metric.partition("_by_")[0] for metric in analysis.metrics)
        absent = analysis.untagged if analysis.untagged and has_metric else analysis.absent
        picture = analysis.name if analysis.name in pictures else ""
        sections.append(Section(analysis.title, analysis.text if grids else absent, picture, grids))
    metrics = [
        metric for analysis in analyses for metric in (*analysis.metrics, *analysis.wholes) if metric in measured
    ]
    signatures = {metric: results.signatures(Measure("", metric)) for metric in metrics}
    return Page(
        title=PAGE_TITLES[name],
        results=results,
        remark="No difference here was tested.",
        sections=tuple(sections),
        metrics=metrics,
        signatures={metric: texts for metric, texts in signatures.items() if texts},
    )


def _make_grid(results: Results, analysis: Analysis, test_set: str) -> Grid:
    columns: dict[str, tuple[str, int | str]] = {
        title: (whole, "")
        for whole, title in analysis.wholes.items()
        if any(_make_measure(test_set, whole or metric) in results.measures for metric in analysis.metrics)
    }
    series = analysis.series(results, test_set)
    for layer_or_tag in analysis.layers_or_tags(results, test_set, [*series.values()]):
        title, counts = analysis.column.format(layer_or_tag), analysis.counts
        if counts:
            count = results.reference_value(TEXT, _make_measure(test_set, counts["metric"], layer_or_tag))
            title += "" if count is None else f", {count:,g} {counts['unit']}"
        columns[title] = ("", layer_or_tag)
    rows = []
    for system, (part, (metric, layer)) in product(results.tested_systems, series.items()):
        measures = [
            _make_measure(test_set, whole or metric, layer_or_tag, layer) for whole, layer_or_tag in columns.values()
        ]
        estimates = [results.estimate(system, measure) for measure in measures]
        if any(estimates) or not (analysis.only_measured or system in results.settings.external):
            label = results.label(system) + (f": {part}" if part else "")
            rows.append((label, [estimate_cell(estimate, analysis.decimals) for estimate in estimates]))
    for kind, label in analysis.references.items():
        measures = [
            _make_measure(test_set, whole or analysis.name, layer_or_tag) for whole, layer_or_tag in columns.values()
        ]
        values = [results.reference_value(kind, measure) for measure in measures]
        rows.append((label, [value_cell(value, f"{{:.{analysis.decimals}f}}") for value in values]))
    return make_grid(test_set, columns, rows)


def draw_analyses(results: Results, folder: Path) -> list[str]:
    """Draw NAME.svg for every analysis with values, and return the names."""
    return [
        analysis.name
        for analysis in read_analyses()
        if analysis.picture and _draw(results, analysis, folder / f"{analysis.name}.svg")
    ]


def _curve_points(
    results: Results, analysis: Analysis, variant: str, test_set: str, metric: str, layer: int | None
) -> Points:
    points = {}
    for layer_or_tag in analysis.layers_or_tags(results, test_set, [(metric, layer)]):
        estimate = results.estimate(variant, _make_measure(test_set, metric, layer_or_tag, layer))
        if estimate and not analysis.gains:
            points[layer_or_tag] = (estimate.mean, estimate.deviation)
        elif estimate and estimate.gain:
            points[layer_or_tag] = (estimate.gain.mean, 0.0)
    return points


def _draw(results: Results, analysis: Analysis, path: Path) -> bool:
    """Draw a panel per system with a line per test set or, with `parts`, per metric on the first test set.

    Return whether there is anything to draw.
    """
    settings, test_sets = results.settings, analysis.test_sets(results)
    lines: dict[str, tuple[str, str, int | None]] = {
        test_set: (test_set, analysis.name, None) for test_set in test_sets
    }
    if analysis.parts:
        series = analysis.series(results, test_sets[0])
        lines = {label: (test_sets[0], metric, layer) for label, (metric, layer) in series.items()}
    panels = {}
    for variant in settings.systems:
        curves = {label: _curve_points(results, analysis, variant, *line) for label, line in lines.items()}
        if any(curves.values()):
            panels[variant] = {label: line for label, line in curves.items() if line}
    if not panels:
        return False
    metrics = [(metric, layer) for _, metric, layer in lines.values()]
    tests = list(dict.fromkeys(test_set for test_set, _, _ in lines.values()))
    drawn = {layer_or_tag for points in panels.values() for line in points.values() for layer_or_tag in line}
    order = dict.fromkeys(
        layer_or_tag for test in tests for layer_or_tag in analysis.layers_or_tags(results, test, metrics)
    )
    x_positions = {
        layer_or_tag: number
        for number, layer_or_tag in enumerate(layer_or_tag for layer_or_tag in order if layer_or_tag in drawn)
    }
    joined = all(str(layer_or_tag).isdecimal() for layer_or_tag in x_positions)  # between two tags there are no values
    styles = {label: line_style(number, joined=joined) for number, label in enumerate(lines)}
    handles = {label: Line2D([], [], **styles[label]) for points in panels.values() for label in points}
    # labels of tags are upright
    height = 2.8 if joined else 2.5 + 0.07 * max(len(str(layer_or_tag)) for layer_or_tag in x_positions)
    with draw_panels(path, len(panels), height=height) as (figure, axes):
        for axis, (variant, points) in zip(axes, panels.items(), strict=True):
            baseline, title = settings.systems[variant].baseline, settings.label(variant)
            if analysis.gains:
                axis.axhline(0, color="black", linewidth=0.8)
                title += f"\nagainst {settings.label(str(baseline))}"
            elif baseline in panels:
                for line in panels[baseline].values():
                    axis.plot(
                        [x_positions[layer_or_tag] for layer_or_tag in line],
                        [mean for mean, _ in line.values()],
                        **BASELINE_STYLE,
                    )
                handles["the system's baseline"] = Line2D([], [], **BASELINE_STYLE)
            for kind, label in analysis.references.items():
                values = {
                    layer_or_tag: results.reference_value(kind, _make_measure(tests[0], analysis.name, layer_or_tag))
                    for layer_or_tag in x_positions
                }
                reference_points = {
                    x_positions[layer_or_tag]: value for layer_or_tag, value in values.items() if value is not None
                }
                axis.plot([*reference_points], [*reference_points.values()], **REFERENCE_STYLE)
                handles[label] = Line2D([], [], **REFERENCE_STYLE)
            for label, line in points.items():
                means, deviations = zip(*line.values(), strict=True)
                bars = deviations if not analysis.gains and len(settings.seeds) > 1 else None
                axis.errorbar(
                    [x_positions[layer_or_tag] for layer_or_tag in line], means, yerr=bars, capsize=3, **styles[label]
                )
            label_axes(axis, title, analysis.across, analysis.values)
        _share_limits(axes, [str(layer_or_tag) for layer_or_tag in x_positions], upright=not joined)
        test_set_note = f", {test_sets[0]}" if analysis.parts else ""
        figure.suptitle(f"{analysis.picture}, {results.corpus}{test_set_note}")
        draw_legend(figure, handles)
    return True


def _share_limits(axes: list[Axes], labels: list[str], *, upright: bool) -> None:
    """Give all panels the same limits and the same labels on their x axes."""
    lowest, highest = min(axis.get_ylim()[0] for axis in axes), max(axis.get_ylim()[1] for axis in axes)
    for axis in axes:
        axis.set_ylim(lowest, highest)
        axis.set_xlim(-0.5, len(labels) - 0.5)
        axis.set_xticks(range(len(labels)), labels, rotation=90 if upright else 0, fontsize=8)
