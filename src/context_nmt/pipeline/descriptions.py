"""Prints what each variant of a params.yaml is."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.files import UserError, write_json
from context_nmt.models.counting import describe
from context_nmt.models.plans import TrainingPlan
from context_nmt.pipeline.planning import plan
from context_nmt.settings.layout import Layout
from context_nmt.settings.parameters import read_parameters


def vocabulary_sizes(parameters: Path, units: int | None) -> tuple[int, int]:
    """Source and target vocabulary: as given, or those of the experiment's binarized corpus; raises UserError."""
    if units is not None:
        if units < 1:
            raise UserError(f"--vocabulary is {units}; it must be at least 1")
        return units, units
    folder = Layout(parameters.parent).binarized
    if not folder.is_dir():
        raise UserError(f"{folder} is not there: give --vocabulary N, or run `dvc repro bpe` first")
    corpus = BinarizedCorpus(folder)
    return len(corpus.source_vocabulary), len(corpus.target_vocabulary)


def describe_variants(parameters: Path, vocabularies: tuple[int, int]) -> dict[str, dict[str, Any]]:
    """Describe every variant: see `counting.describe`."""
    settings = read_parameters(parameters)
    source, target = vocabularies
    return {
        variant: describe(plan(settings, variant).training.model, source_vocabulary=source, target_vocabulary=target)
        for variant in settings.variants
    }


def describe_plans(experiment: Layout) -> None:
    """Write metrics/models.json from the plans of all variants; raises UserError for vocabularies that are missing."""
    corpus = BinarizedCorpus(experiment.binarized)
    source, target = len(corpus.source_vocabulary), len(corpus.target_vocabulary)
    plans = {path.parent.name: TrainingPlan.read(path).model for path in experiment.plans("training")}
    described = {
        variant: describe(plan, source_vocabulary=source, target_vocabulary=target) for variant, plan in plans.items()
    }
    write_json(experiment.metrics / "models.json", described)


def print_descriptions(parameters: Path, vocabularies: tuple[int, int], *, as_json: bool) -> None:
    """Print tables or JSON."""
    described = describe_variants(parameters, vocabularies)
    if as_json:
        print(json.dumps(described, indent=2))
    else:
        _print_tables(described)


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
        console.print(parts)
        slots = Table("slot", "layer", "filled by", title=f"{variant}: slots")
        for slot, layers in values["slots"].items():
            for number, layer in enumerate(layers, start=1):
                settings = ", ".join(f"{key} {value}" for key, value in layer.items() if key != "mechanism")
                slots.add_row(slot, str(number), " ".join(filter(None, [layer["mechanism"], settings])))
        console.print(slots)
