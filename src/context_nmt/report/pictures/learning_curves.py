"""Draw the learning curves of all systems."""

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.ticker import LogLocator, NullLocator

from context_nmt.report.pictures.panels import (
    corpus_name,
    legend,
    panels_of,
    style,
)
from context_nmt.results.table import Results
from context_nmt.settings.parameters import ExperimentSettings

CURVES = {  # column of a learning curve: label of its axis
    "train_nll": "Training loss (nats per token)",
    "valid_perplexity": "Validation perplexity",
    "valid_bleu": "Validation BLEU (greedy)",
}
NO_POINTS = pd.Series(dtype=float)  # keeps the line in the legend
MOST_LINES = 8  # of distinct style in a picture of learning curves; the others are grey


def draw_learning_curves(results: Results, path: Path) -> None:
    """Draw the learning curves that exist, if any; runs of one variant share its colour, line and marker.

    Of more than MOST_LINES variants, only the baselines have their own; the others are thin and grey.
    """
    settings = results.settings
    curves = {variant: runs for variant, runs in results.curves.items() if any(map(_drawn, runs))}
    columns = [column for column in CURVES if any(column in _drawn(run) for runs in curves.values() for run in runs)]
    if not columns:
        return
    with panels_of(path, len(columns), height=3.9) as (figure, panels):
        for panel, column in zip(panels, columns, strict=True):
            for variant, look in _line_styles(settings, list(curves)).items():
                for points in (run.get(column, NO_POINTS).dropna() for run in curves[variant]):
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


def _drawn(curve: pd.DataFrame) -> list[str]:
    """Return the drawn columns of a learning curve that are not empty."""
    return [column for column in CURVES if column in curve and curve[column].notna().any()]
