"""Writes the results of an experiment: JSON, CSV, Markdown and figures."""

import csv

from context_nmt.evaluation.figures import draw_learning_curves, draw_scores
from context_nmt.evaluation.markdown import format_results
from context_nmt.evaluation.results import Results, read_results
from context_nmt.experiment import Experiment
from context_nmt.files import read_json, replacing, replacing_folder, write_json

COLUMNS = (
    *("variant", "test_set", "metric", "mean", "deviation", "seeds"),
    *("baseline", "difference", "interval_low", "interval_high", "p"),
)


def write_tables(experiment: Experiment) -> None:
    """Write results.json, results.csv, results.md and figures/ under metrics/; raises UserError for missing runs."""
    results, metrics = read_results(experiment), experiment.metrics
    write_json(metrics / "results.json", results.as_json())
    with replacing(metrics / "results.csv") as path, path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(_row(results, *names) for names in results.rows())
    with replacing(metrics / "results.md") as path:
        path.write_text(format_results(results), encoding="utf-8", newline="")
    with replacing_folder(metrics / "figures") as folder:
        draw_scores(results, folder / "bleu.svg")
        draw_learning_curves(experiment, folder / "learning_curves.svg")


def write_focus(experiment: Experiment) -> None:
    """Write the means of the variant that params.yaml names under `focus`, for `dvc metrics diff` between revisions."""
    results = read_json(experiment.metrics / "results.json")[experiment.settings.focus]
    focus = {
        test_set: {metric: summary["mean"] for metric, summary in metrics.items()}
        for test_set, metrics in results.items()
        if test_set != "model"
    }
    write_json(experiment.metrics / "focus.json", focus | {"model": results["model"]})


def _row(results: Results, variant: str, test_set: str, metric: str) -> list[object]:
    summary = results.summary(variant, test_set, metric) or dict.fromkeys(("mean", "deviation", "seeds"))
    difference = results.difference(variant, test_set, metric)
    gain = (difference.mean, *(difference.interval or (None, None)), difference.p) if difference else (None,) * 4
    return [variant, test_set, metric, *summary.values(), results.settings.variants[variant].baseline, *gain]
