"""Count parameters and FLOPs of the variants of an experiment, as JSON or as tables."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.files import UserError, read_json, write_json
from context_nmt.models.counting import describe
from context_nmt.models.plans import ModelPlan
from context_nmt.pipeline.planning import plan
from context_nmt.settings.layout import Layout
from context_nmt.settings.parameters import read_parameters


def describe_plans(layout: Layout) -> None:
    """Write metrics/models.json from the models of all variants and the vocabularies."""
    models = read_json(layout.stage_plan("models"))
    plans = {variant: ModelPlan.from_dict(values["model"]) for variant, values in models.items()}
    write_json(layout.models, _describe(plans, layout, None))


def print_descriptions(parameters: Path, units: int | None, *, as_json: bool) -> None:
    """Print the variants of a params.yaml as JSON or tables, for `units` per side or the corpus's vocabularies.

    Raise UserError if params.yaml is not valid, or if `units` is None and the corpus is not binarized yet.
    """
    settings, layout = read_parameters(parameters), Layout(parameters.parent)
    plans = {variant: plan(settings, variant).training.model for variant in settings.variants}
    described = _describe(plans, layout, units)
    if as_json:
        print(json.dumps(described, indent=2))
    else:
        _print_tables(described)


def vocabulary_sizes(layout: Layout, units: int | None) -> tuple[int, int]:
    """Return `units` for both sides, or the corpus's sizes; raise UserError if the corpus is not binarized yet."""
    if units is not None:
        return units, units
    if not layout.binarized.is_dir():
        raise UserError(f"{layout.binarized}: no such folder; give --vocabulary N, or run `dvc repro bpe` first")
    corpus = BinarizedCorpus(layout.binarized)
    return len(corpus.source_vocabulary), len(corpus.target_vocabulary)


def _describe(plans: dict[str, ModelPlan], layout: Layout, units: int | None) -> dict[str, dict[str, Any]]:
    """Return `counting.describe` of every variant."""
    source, target = vocabulary_sizes(layout, units)
    return {
        variant: describe(model_plan, source_vocabulary=source, target_vocabulary=target)
        for variant, model_plan in plans.items()
    }


def _print_tables(described: dict[str, dict[str, Any]]) -> None:
    console = Console()
    summary = Table("variant", "parameters", "MFLOP per target token", title="Variants")
    for variant, values in described.items():
        summary.add_row(variant, f"{values['parameters']:,}", f"{values['flops_per_target_token'] / 1e6:,.1f}")
    console.print(summary)
    for variant, values in described.items():
        parts = Table("part", "parameters", title=f"{variant}: {values['parameters'] / 1e3:,.0f}K parameters")
        for part, count in values["parameters_by_part"].items():
            parts.add_row(part, f"{count:,}")
        slots = Table("slot", "layer", "filled by", title=f"{variant}: slots")
        for slot, layers in values["slots"].items():
            for layer_number, layer in enumerate(layers, start=1):
                settings = ", ".join(f"{key} {value}" for key, value in layer.items() if key != "mechanism")
                slots.add_row(slot, str(layer_number), " ".join(filter(None, [layer["mechanism"], settings])))
        console.print(parts, slots)
