"""Draw the scores of all systems and their learning curves."""

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullLocator

from context_nmt.files import UserError
from context_nmt.measures.rows import Measure
from context_nmt.report.pictures.panels import (
    COLOURS,
    COLUMNS_OF_PANELS,
    corpus_name,
    label_rows,
    legend,
    panels_of,
    style,
)
from context_nmt.results.estimates import Estimate
from context_nmt.results.number_text import mark
from context_nmt.results.table import Results
from context_nmt.settings.parameters import ExperimentSettings
from context_nmt.settings.run_layout import run_name

MARKED = "† p < 0.05, ‡ p < 0.01 in the system's own test, with every seed"
CURVES = {  # column of a learning curve: label of its axis
    "train_nll": "Training loss (nats per token)",
    "valid_perplexity": "Validation perplexity",
    "valid_bleu": "Validation BLEU (greedy)",
}
NO_POINTS = pd.Series(dtype=float)  # keeps the line in the legend
MOST_LINES = 8  # of distinct style in a picture of learning curves; the others are grey


def draw_scores(results: Results, path: Path) -> None:
    """Draw the tested BLEU of every variant: a panel per test set, a dot per variant with its mark and deviation."""
    settings, metric = results.settings, results.settings.significance.metric
    variants = list(settings.variants)
    notes = ["filled: compared with a baseline; open: without one"]
    if len(settings.seeds) > 1:
        notes.append(f"bars: standard deviation over {len(settings.seeds)} seeds")
    with panels_of(path, len(results.test_sets), height=1.3 + 0.4 * len(variants)) as (figure, panels):
        for panel in panels[1:]:
            panel.sharex(panels[0])
        for index, (panel, test_set) in enumerate(zip(panels, results.test_sets, strict=True)):
            for row, variant in enumerate(variants):
                estimate = results.estimate(variant, Measure(test_set, metric))
                if estimate:
                    _dot(panel, row, estimate, has_baseline=settings.variants[variant].baseline is not None)
            is_first = index % COLUMNS_OF_PANELS == 0
            label_rows(panel, [settings.label(name) if is_first else "" for name in variants], top=-0.8)
            panel.margins(x=0.25)
            panel.set_title(test_set, fontsize=10)
            panel.set_xlabel(f"BLEU ({metric})")
        figure.suptitle(f"BLEU, {corpus_name(settings)}")
        if any(text.get_text()[-1] in "†‡" for panel in panels for text in panel.texts):
            notes.append(MARKED)
        figure.supxlabel("; ".join(notes), fontsize=8)


def _dot(panel: Axes, place: int, number: Estimate, *, has_baseline: bool) -> None:
    panel.errorbar(
        [number.mean],
        [place],
        xerr=[number.deviation] if number.seeds > 1 else None,
        fmt="o",
        color="black",
        markerfacecolor=COLOURS[0] if has_baseline else "white",
        markersize=7,
        capsize=4,
    )
    panel.annotate(
        f"{number.mean:.2f}{mark(number.gain.p) if number.gain else ''}",
        (number.mean, place),
        (0, 7),
        textcoords="offset points",
        ha="center",
        fontsize=8,
    )


def draw_learning_curves(results: Results, path: Path) -> None:
    """Draw the learning curves that exist, if any; runs of one variant share its colour, line and marker.

    Of more than MOST_LINES variants, only the baselines have their own; the others are thin and grey.
    """
    settings, curve_path = results.settings, results.experiment.curve
    curves = {
        variant: [_read_curve(curve_path(run_name(variant, seed))) for seed in settings.seeds]
        for variant in settings.variants
    }
    curves = {variant: runs for variant, runs in curves.items() if any(runs)}
    available = {column for runs in curves.values() for run in runs for column in run}
    columns = [column for column in CURVES if column in available]
    if not columns:
        return
    with panels_of(path, len(columns), height=3.9) as (figure, panels):
        for panel, column in zip(panels, columns, strict=True):
            for variant, look in _line_styles(settings, list(curves)).items():
                for points in (run.get(column, NO_POINTS) for run in curves[variant]):
                    panel.plot(points.index, points, markevery=max(1, len(points) // 10), **look)
            panel.set_xlabel("Updates")
            panel.set_ylabel(CURVES[column])
            panel.grid(alpha=0.3)
            if column == "valid_perplexity":
                panel.set_yscale("log")
                panel.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7), numticks=12))
                panel.yaxis.set_major_formatter("{x:g}")
                panel.yaxis.set_minor_locator(NullLocator())
        legend(figure, panels[:1])
        figure.suptitle(f"Learning curves, {corpus_name(settings)}")


def _line_styles(settings: ExperimentSettings, drawn: list[str]) -> dict[str, dict[str, Any]]:
    """Return the style of each variant's lines, starting with those drawn below the others."""
    variants = drawn
    if len(variants) > MOST_LINES:
        baselines = {variant.baseline for variant in settings.variants.values()}
        variants = [variant for variant in variants if variant in baselines][:MOST_LINES]
    grey_variants = [variant for variant in drawn if variant not in variants]
    grey = {"color": "0.75", "linewidth": 0.6, "label": f"{len(grey_variants)} other systems"}
    return dict.fromkeys(grey_variants, grey) | {
        variant: style(number, label=settings.label(variant)) for number, variant in enumerate(variants)
    }


def _read_curve(path: Path) -> dict[str, "pd.Series[float]"]:
    """Return the values of each drawn column by update, without empty columns; nothing for a missing file."""
    if not path.is_file():
        return {}
    try:
        curve = pd.read_csv(path, index_col="update", usecols=lambda name: name == "update" or name in CURVES).astype(
            float
        )
    except ValueError as error:
        raise UserError(f"{path}: not a learning curve ({error}); restore it from git, or train again") from None
    columns = {column: curve[column].dropna() for column in CURVES if column in curve}
    return {column: values for column, values in columns.items() if len(values)}
