"""Write the results of an experiment to metrics/."""

from typing import Any

import pandas as pd

from context_nmt.files import read_json, replacing, write_json
from context_nmt.measures.rows import Measure
from context_nmt.results.metrics import is_score, name_of
from context_nmt.results.table import Results
from context_nmt.settings.folder import Experiment

COLUMNS = (
    *("variant", "test_set", "metric", "layer", "tag", "mean", "deviation", "seeds"),
    *("baseline", "difference", "interval_low", "interval_high", "p"),
)


def write_results(results: Results) -> None:
    """Write metrics/results.json and results.csv."""
    write_json(results.experiment.results, scores_as_json(results))
    with replacing(results.experiment.results_table) as temporary:
        _as_frame(results).to_csv(temporary, index=False, lineterminator="\n")


def scores_as_json(results: Results) -> dict[str, Any]:
    """Build {VARIANT: {TEST_SET: {NAME: mean, deviation, seeds}, "model": {parameters, flops_per_target_token}}}."""
    summaries: dict[str, Any] = {
        variant: {"model": {name: model[name] for name in ("parameters", "flops_per_target_token")}}
        for variant, model in results.models.items()
    }
    for (system, measure), estimate in results.estimates.items():
        if system in summaries and is_score(measure.metric):
            summary = {"mean": estimate.mean, "deviation": estimate.deviation, "seeds": estimate.seeds}
            summaries[system].setdefault(measure.test_set, {})[name_of(measure)] = summary
    return summaries


def _as_frame(results: Results) -> pd.DataFrame:
    """Build a table of COLUMNS: a row per system and measure, then rows that belong to no run (measures.rows)."""
    rows = []
    for (system, measure), estimate in results.estimates.items():
        gain = estimate.gain
        ends = (gain.interval if gain else None) or (None, None)
        rows.append(
            (
                *(system, *_cells(measure)),
                *(estimate.mean, estimate.deviation, estimate.seeds, results.baseline(system)),
                *(gain and gain.mean, *ends, gain and gain.p),
            )
        )
    for (kind, measure), value in results.reference_values.items():
        rows.append((kind, *_cells(measure), value, *(None,) * 7))
    return pd.DataFrame(rows, columns=list(COLUMNS)).convert_dtypes()


def _cells(measure: Measure) -> tuple[object, ...]:
    return measure.test_set, measure.metric, measure.layer, measure.tag


def write_focus(experiment: Experiment) -> None:
    """Write the means of the variant that params.yaml names under `focus`, for `dvc metrics diff` between revisions."""
    results = read_json(experiment.results)[experiment.settings.focus]
    focus = {
        test_set: {metric: summary["mean"] for metric, summary in metrics.items()}
        for test_set, metrics in results.items()
        if test_set != "model"
    }
    write_json(experiment.focus, focus | {"model": results["model"]})
