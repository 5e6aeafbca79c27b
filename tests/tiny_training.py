"""A tiny experiment to train: strings of digits, copied or reversed, and a Transformer of 1 + 1 layers."""

import csv
import random
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from project_root import make_root
from small_models import shake
from torch import Tensor

from context_nmt.corpus.binarized import BinarizedCorpus, binarize
from context_nmt.decoding import validation
from context_nmt.files import read_json, write_json, write_lines
from context_nmt.models import checkpoints
from context_nmt.models.building import build
from context_nmt.models.model import Model
from context_nmt.models.plans import ModelPlan, TrainingPlan
from context_nmt.pipeline.planning import write_plans
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.parameters import Experiment
from context_nmt.training.trainer import MACHINE_COLUMNS, train_run

Bleu = Callable[[Any, Any], float]

RUN = "plain-1"

MODEL = {
    "width": 32,
    "feed_forward_width": 64,
    "heads": 2,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "dropout": 0.1,
    "embedding_dropout": 0.0,
}
TRAINING = {
    "batch_tokens": 256,
    "maximum_updates": 6,
    "validate_every": 2,
    "schedule": {"kind": "inverse_square_root", "warmup": 4, "peak_rate": 0.01},
}
# With these changes, it learns to reverse strings of up to 4 digits.
REVERSING = {
    "task": "reverse",
    "pairs": 2000,
    "longest": 4,
    "model": {"width": 48, "dropout": 0.0},
    "training": {
        "maximum_updates": 500,
        "validate_every": 250,
        "keep_last": 1,
        "schedule": {"kind": "cosine", "warmup": 50, "factor": 0.25},
    },
}


def digits(count: int, seed: int, *, longest: int) -> list[str]:
    """Random lines of 1 to `longest` digits."""
    generator = random.Random(seed)
    return [" ".join(generator.choices("0123456789", k=generator.randint(1, longest))) for _ in range(count)]


def _previous(lines: list[str]) -> list[str]:
    return [f"{line} {lines[number - 1] if number % 3 else line}" for number, line in enumerate(lines)]


TASKS: dict[str, Callable[[list[str]], list[str]]] = {
    "copy": list,
    "reverse": lambda lines: [line[::-1] for line in lines],
    "previous": _previous,
}


def make_experiment(
    folder: Path,
    *,
    task: str = "copy",
    pairs: int = 200,
    longest: int = 6,
    model: dict[str, Any] | None = None,
    training: dict[str, Any] | None = None,
    averaging: dict[str, Any] | None = None,
    variants: dict[str, Any] | None = None,
) -> Experiment:
    """Write params.yaml, plans and a binarized corpus; the only variant is `plain` unless `variants` are given.

    In the task `previous`, a target is the digit of its source and the digit of the previous sentence, in documents of
    three sentences.
    """
    experiment = Experiment(folder)
    parameters = {
        "root": ".",
        "corpus": {"name": "digits", "source": "xx", "target": "yy", "validation": "valid", "tests": ["valid"]},
        "model": MODEL | (model or {}),
        "training": TRAINING | (training or {}),
        "averaging": {"count": 1} | (averaging or {}),
        "variants": variants or {"plain": {}},
        "train": {"bitext": list(variants or ["plain"])},
        "seeds": [1],
        "focus": next(iter(variants or ["plain"])),
    }
    make_root(folder)
    experiment.parameters.write_text(yaml.safe_dump(parameters), encoding="utf-8")
    for seed, (split, count) in enumerate({"train": pairs, "valid": 40}.items()):
        lines = digits(count, seed, longest=1 if task == "previous" else longest)
        write_lines(experiment.subwords / f"{split}.xx", lines)
        write_lines(experiment.subwords / f"{split}.yy", TASKS[task](lines))
        if task == "previous":
            write_lines(experiment.subwords / f"{split}.documents", map(str, range(0, count, 3)))
    binarize(experiment.subwords, experiment.binarized, experiment.settings.corpus, experiment.settings.units)
    side = {"pretokenized": True, "truecase": False}
    sides = {"source": {"language": "xx", **side}, "target": {"language": "yy", **side}}
    write_json(experiment.tokenized / "moses.json", sides)
    write_json(experiment.subwords / "units.json", {"kind": "words"})
    write_plans(experiment)
    return experiment


def train(folder: Path, *, seed: int = 1, bleu: Bleu | None = None, **changes: Any) -> Experiment:
    """Train a tiny experiment and return it; `bleu` replaces the function for validation BLEU."""
    experiment = make_experiment(folder, **changes)
    with pytest.MonkeyPatch.context() as patch:
        if bleu is not None:
            patch.setattr(validation, "validation_bleu", bleu)
        train_run(experiment, "plain", seed, device="cpu")
    return experiment


def rows(experiment: Experiment) -> list[dict[str, Any]]:
    """The rows of the learning curve, with numbers as floats."""
    with experiment.curve(RUN).open(newline="") as file:
        return [
            {name: value if name in MACHINE_COLUMNS else float(value) for name, value in row.items()}
            for row in csv.DictReader(file)
        ]


def column(experiment: Experiment, name: str) -> list[Any]:
    """One column of the learning curve."""
    return [row[name] for row in rows(experiment)]


def summary(experiment: Experiment) -> dict[str, Any]:
    """The summary that the run writes at its end."""
    return read_json(experiment.checkpoints(RUN) / "summary.json")


def weights_after(experiment: Experiment, update: int) -> dict[str, Tensor]:
    """The weights of a checkpoint."""
    return checkpoints.load(experiment.checkpoints(RUN) / f"checkpoint-{update:08d}.safetensors")[0]


def save_run(folder: Path, plan: ModelPlan, corpus: BinarizedCorpus) -> Model:
    """Save a model with shaken weights as the model of a run."""
    sizes = len(corpus.source_vocabulary), len(corpus.target_vocabulary)
    model = shake(build(plan, source_vocabulary=sizes[0], target_vocabulary=sizes[1]))
    metadata = checkpoints.model_metadata(plan, *sizes)
    checkpoints.save(folder / checkpoints.RUN_WEIGHTS, checkpoints.weights_of(model), metadata)
    return model


def save_runs(experiment: Experiment, **decoding: Any) -> None:
    """Save a run of each variant with the same shaken weights; all decode with the same settings."""
    corpus = BinarizedCorpus(experiment.binarized)
    for variant in experiment.settings.variants:
        torch.manual_seed(2)
        plan = TrainingPlan.read(experiment.plan(variant, "training"))
        save_run(experiment.model(f"{variant}-1"), plan.model, corpus)
        write_json(experiment.plan(variant, "decoding"), asdict(DecodingSettings(**decoding)))


def scripted(values: Iterable[float]) -> Bleu:
    """A made-up BLEU for each validation in turn."""
    remaining = iter(values)
    return lambda model, corpus: next(remaining)
