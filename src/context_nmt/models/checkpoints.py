"""Checkpoint files: safetensors with all metadata in one JSON string, so that equal weights give equal bytes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.files import UserError, replacing
from context_nmt.models.building import build
from context_nmt.models.model import Model
from context_nmt.models.plans import ModelPlan
from context_nmt.settings.model import CONCATENATION_KEYS, OutputSlot
from context_nmt.settings.run_layout import split_run_name

RUN_WEIGHTS = "model.safetensors"
# Keys of `model` in which a model may differ from the model that it starts from.
DROPOUT_KEYS = ("dropout", "embedding_dropout", "attention_dropout", "feed_forward_dropout")
JOINING_KEYS = ("kind", *CONCATENATION_KEYS)


def save(path: Path, weights: dict[str, Tensor], metadata: dict[str, Any]) -> None:
    """Write weights and metadata, completely or not at all; raise UserError if the disk is full."""
    with replacing(path) as temporary:
        contiguous = {name: weights[name].detach().cpu().contiguous() for name in sorted(weights)}
        try:
            save_file(contiguous, temporary, metadata={"json": json.dumps(metadata, sort_keys=True)})
        except SafetensorError as error:  # it hides an OSError
            raise UserError(f"{path}: cannot be written ({error})") from None


def load(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read weights and metadata; raise UserError for a missing, truncated or foreign file."""
    with _opened(path) as file:
        weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
        return weights, json.loads(file.metadata()["json"])


def load_metadata(path: Path) -> dict[str, Any]:
    """Read only the metadata; raise UserError for a missing, truncated or foreign file."""
    with _opened(path) as file:
        return dict(json.loads(file.metadata()["json"]))


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    if not path.is_file():
        raise UserError(f"{path}: no such checkpoint")
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: not a checkpoint of this program, or truncated ({error})") from None


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Return all parameters by name; tied parameters appear once."""
    return dict(model.named_parameters())


def load_weights(model: nn.Module, weights: dict[str, Tensor], origin: object) -> None:
    """Copy weights into a model; raise UserError, which starts with `origin`, unless all names and shapes match."""
    parameters = weights_of(model)
    if different := sorted(parameters.keys() ^ weights.keys()):
        raise UserError(f"{origin}: weights of another model; only one of the two has {different[0]}")
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.shape != weights[name].shape:
                stored, needed = tuple(weights[name].shape), tuple(parameter.shape)
                raise UserError(f"{origin}: {name} has shape {stored}, the model needs {needed}")
            parameter.copy_(weights[name])


def initialise_from_run(model: nn.Module, plan: ModelPlan, path: Path, corpus: BinarizedCorpus) -> None:
    """Copy a run's weights into a model; mechanisms after its stacks that the run does not have keep their weights.

    The model may also join sentences where the run does not. Raise UserError unless all other names, all shapes, the
    vocabularies and the settings of the layers match the run's.
    """
    weights, metadata = load(path)
    check_vocabularies(path, metadata, corpus)
    load_compatible_weights(model, plan, weights, ModelPlan.from_dict(metadata["plan"]), path)


def load_compatible_weights(
    model: nn.Module, plan: ModelPlan, weights: dict[str, Tensor], start: ModelPlan, origin: object
) -> None:
    """Copy weights of a model with the plan `start` as in `initialise_from_run`; errors start with `origin`."""
    stored = asdict(start.model)
    for key, value in asdict(plan.model).items():
        if key not in (*DROPOUT_KEYS, *JOINING_KEYS) and stored[key] != value:
            raise UserError(f"{origin}: has model.{key} {stored[key]}; the variant that starts from it has {value}")
    for slot in plan.slots.keys() - get_args(OutputSlot):
        if plan.slots[slot] != start.slots.get(slot):
            raise UserError(f"{origin}: slots.{slot} differs from that of the variant that starts from it")
    after_stacks = {
        name: value for name, value in weights_of(model).items() if name.split(".")[0] in get_args(OutputSlot)
    }
    load_weights(model, {**after_stacks, **weights}, origin)


def model_metadata(plan: ModelPlan, source_vocabulary: int, target_vocabulary: int) -> dict[str, Any]:
    """Return the metadata from which `load_run` rebuilds the model."""
    return {"plan": plan.to_dict(), "vocabulary": {"source": source_vocabulary, "target": target_vocabulary}}


def run_weights_path(folder: Path) -> Path:
    """Return the file of a run's weights; raise UserError with the names of trained runs if it does not exist."""
    path = folder / RUN_WEIGHTS
    if not path.is_file():
        runs = sorted(weights.parent.name for weights in folder.parent.glob(f"*/{RUN_WEIGHTS}"))
        variants = (folder.name, split_run_name(folder.name)[0])  # the seed may be missing
        similar = [run for run in runs if split_run_name(run)[0] in variants]
        inner_runs = sorted(weights.parent.name for weights in folder.glob(f"*/{RUN_WEIGHTS}"))
        hint = "there is no other; run `make repro`, then this command in the experiment's folder"
        if inner_runs:
            hint = f"name one of those in it: {', '.join(inner_runs)}"
        elif runs:
            hint = f"runs are named VARIANT-SEED, such as {', '.join(similar or runs)}"
        raise UserError(f"{folder}: no trained run ({RUN_WEIGHTS}); {hint}")
    return path


def load_run(folder: Path, device: torch.device, corpus: BinarizedCorpus | None = None) -> Model:
    """Load the model in a run's folder, in evaluation mode; raise UserError if it does not fit the corpus."""
    path = run_weights_path(folder)
    weights, metadata = load(path)
    try:
        plan, sizes = ModelPlan.from_dict(metadata["plan"]), metadata["vocabulary"]
        model = build(plan, source_vocabulary=sizes["source"], target_vocabulary=sizes["target"])
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except (KeyError, TypeError) as error:
        raise UserError(f"{path}: not the model of a run ({error} is missing or wrong)") from None
    if corpus is not None:
        check_vocabularies(path, metadata, corpus)
    load_weights(model, weights, path)
    return model.to(device).eval()


def check_vocabularies(path: Path, metadata: dict[str, Any], corpus: BinarizedCorpus) -> None:
    """Raise UserError unless a checkpoint's vocabularies equal the vocabularies of the corpus."""
    model_sizes = (metadata["vocabulary"]["source"], metadata["vocabulary"]["target"])
    corpus_sizes = (len(corpus.source_vocabulary), len(corpus.target_vocabulary))
    if corpus_sizes != model_sizes:
        raise UserError(
            f"{path}: was trained with vocabularies of {model_sizes[0]} and {model_sizes[1]} units,"
            f" {corpus.folder} has {corpus_sizes[0]} and {corpus_sizes[1]}; use the text it was trained on, or"
            " train again"
        )
    for language in (corpus.source, corpus.target):
        saved, file = path.parent / "text", f"vocabulary.{language}.txt"
        if (saved / file).is_file() and (saved / file).read_bytes() != (corpus.training_folder / file).read_bytes():
            corpus_file = corpus.training_folder / file
            raise UserError(
                f"{corpus_file}: differs from the vocabulary that the model was trained with ({saved / file})"
            )
