"""Show the peak learning rate of every variant, also relative to that of its baseline."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from context_nmt.pipeline.checks import experiments
from context_nmt.settings.parameters import ExperimentSettings, read_parameters
from context_nmt.training.updating import learning_rate


def print_rates(parameters: Path, *, as_json: bool) -> None:
    """Print the rates of a params.yaml and, for that in a project's root, of all experiments; as JSON or as a table.

    Raise UserError for a wrong params.yaml.
    """
    _, *others = experiments(parameters.parent)
    rates = {"": _rates(read_parameters(parameters))}
    rates |= {folder.name: _rates(read_parameters(folder / "params.yaml")) for folder in others}
    if as_json:
        print(json.dumps(rates, indent=2))
        return
    names = [Column(head, overflow="fold") for head in ("experiment", "variant")]
    table = Table(*names, "schedule", "warm-up", "peak rate", "/ baseline's", title="Learning rates")
    for experiment, variants in rates.items():
        for variant, values in variants.items():
            ratio = values["over_baseline"]
            cells = (
                values["schedule"],
                f"{values['warmup']:,}",
                f"{values['peak']:.3g}",
                f"{ratio:.2f}" if ratio else "",
            )
            table.add_row(experiment, variant, *cells)
    Console().print(table)


def _rates(settings: ExperimentSettings) -> dict[str, dict[str, Any]]:
    """Return schedule, warm-up, peak and the peak over the baseline's, by variant."""
    peaks = {name: _peak(settings, name) for name in settings.variants}
    rates: dict[str, dict[str, Any]] = {}
    for name, variant in settings.variants.items():
        schedule = settings.recipe(name).training.schedule
        ratio = round(peaks[name] / peaks[variant.baseline], 3) if variant.baseline else None
        rates[name] = {"schedule": schedule.kind, "warmup": schedule.warmup}
        rates[name] |= {"peak": float(f"{peaks[name]:.6g}"), "over_baseline": ratio}
    return rates


def _peak(settings: ExperimentSettings, variant: str) -> float:
    """Return the rate at the end of warm-up, or of the training if that comes first."""
    recipe = settings.recipe(variant)
    training, updates = recipe.training, recipe.training.maximum_updates
    last = min(training.schedule.warmup, updates)
    return learning_rate(last, training.schedule, width=recipe.model.width, maximum_updates=updates)
