"""Show the peak learning rates of an experiment's trainings."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from context_nmt.pipeline.checks import experiments
from context_nmt.settings.parameters import ExperimentSettings, read_parameters
from context_nmt.training.updating import learning_rate


def print_rates(parameters: Path, *, as_json: bool) -> None:
    """Print the peak learning rates of a params.yaml and, if it is in a project's root, of all experiments.

    Raise UserError if a params.yaml has an unknown key or a value that is not allowed.
    """
    _, *folders = experiments(parameters.parent)
    rates = {"": _rates(read_parameters(parameters))}
    rates |= {folder.name: _rates(read_parameters(folder / "params.yaml")) for folder in folders}
    if as_json:
        print(json.dumps(rates, indent=2))
        return
    names = [Column(head, overflow="fold") for head in ("experiment", "variant")]
    table = Table(*names, "schedule", "warm-up", "peak rate", "/ baseline's", title="Learning rates")
    for experiment, variants in rates.items():
        for variant, values in variants.items():
            ratio = f"{values['over_baseline']:.2f}" if values["over_baseline"] else ""
            cells = (values["schedule"], f"{values['warmup']:,}", f"{values['peak']:.3g}", ratio)
            table.add_row(experiment, variant, *cells)
    Console().print(table)


def _rates(settings: ExperimentSettings) -> dict[str, dict[str, Any]]:
    """Return the schedule, the warm-up, the peak and its ratio to the baseline's, by variant."""
    rates, peaks = dict[str, dict[str, Any]](), dict[str, float]()
    for name in settings.variants:
        recipe = settings.recipe(name)
        schedule, updates = recipe.training.schedule, recipe.training.maximum_updates
        peak_update = min(schedule.warmup, updates)  # a training can end before its warm-up does
        peaks[name] = learning_rate(peak_update, schedule, width=recipe.model.width, last_update=updates)
        rates[name] = {"schedule": schedule.kind, "warmup": schedule.warmup, "peak": float(f"{peaks[name]:.6g}")}
    for name, variant in settings.variants.items():
        rates[name]["over_baseline"] = (
            round(peaks[name] / peaks[variant.baseline], 3) if variant.baseline in peaks else None
        )
    return rates
