"""Average the checkpoints of a run into the model for decoding."""

import shutil
from pathlib import Path
from typing import Any

from torch import Tensor

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.files import UserError, locked, read_json, replacing_folder, sha256, write_json
from context_nmt.models import checkpoints
from context_nmt.settings import read_plan
from context_nmt.settings.model import AveragingSettings
from context_nmt.settings.run_layout import RunLayout, run_name


def average_run(experiment: RunLayout, variant: str, seed: int) -> None:
    """Average a run's checkpoints, write all files that translation needs, and remove the training's scratch folder."""
    run = run_name(variant, seed)
    averaging = read_plan(AveragingSettings, experiment.plan(variant, "averaging"))
    select_by = read_json(experiment.plan(variant, "training"))["training"]["select_by"]
    weights, metadata = average(experiment.checkpoints(run), averaging, select_by=select_by)
    checkpoints.check_vocabularies(experiment.checkpoints(run), metadata, BinarizedCorpus(experiment.binarized))
    with replacing_folder(experiment.model(run)) as folder:
        checkpoints.save(folder / checkpoints.RUN_WEIGHTS, weights, metadata)
        copy_text_files(experiment.tokenized, experiment.subwords, experiment.binarized, folder / "text")
    with locked(experiment.training_lock(run)):
        shutil.rmtree(experiment.scratch(run), ignore_errors=True)


def copy_text_files(tokenized: Path, subwords: Path, binarized: Path, destination: Path) -> None:
    """Copy the files that text_chain.py reads into the folder `destination`; raise UserError if one is missing."""
    corpus = BinarizedCorpus(binarized)
    files = [tokenized / "moses.json", subwords / "units.json", *tokenized.glob("truecaser.*.json")]
    files += [corpus.training_folder / f"vocabulary.{language}.txt" for language in (corpus.source, corpus.target)]
    files += [path for name in ("codes", "vocabulary", "sentencepiece") for path in subwords.glob(f"{name}.*")]
    destination.mkdir(parents=True, exist_ok=True)
    for path in files:
        if not path.is_file():
            raise UserError(f"{path}: no such file")
        shutil.copyfile(path, destination / path.name)
    halves = [read_json(folder / "corpus.json") for folder in (corpus.training_folder, binarized / "tests")]
    write_json(destination / "corpus.json", halves[0] | halves[1])


def average(folder: Path, settings: AveragingSettings, *, select_by: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Average the last or best checkpoints of a folder in float64, and return weights and metadata.

    The metadata list the checkpoints; a run that stopped early may have fewer than `settings.count`. Raise UserError if
    the folder has no checkpoints.
    """
    validations = {}
    for path in folder.glob("checkpoint-*.safetensors"):
        metadata = checkpoints.load_metadata(path)
        if "validation" not in metadata:
            raise UserError(f"{path}: not a checkpoint of a training")
        validations[path] = metadata["validation"]
    if not validations:
        raise UserError(f"{folder}: no checkpoints to average")

    def rank(path: Path) -> tuple[float, ...]:
        validation = validations[path]
        if settings.select == "last":
            return (-validation["update"],)
        loss = -validation["valid_bleu"] if select_by == "bleu" else validation["valid_loss"]
        return (loss, validation["update"])

    chosen = sorted(sorted(validations, key=rank)[: settings.count])
    sums: dict[str, Tensor] = {}
    for path in chosen:
        weights, metadata = checkpoints.load(path)
        if sums and {name: sums[name].shape for name in sums} != {name: weights[name].shape for name in weights}:
            raise UserError(f"{path}: its model differs from the model in {chosen[0].name}")
        for name, values in weights.items():
            sums[name] = sums[name] + values if name in sums else values.double()
    del metadata["validation"]
    print(f"averaged {len(chosen)} of the {settings.count} checkpoints that averaging.count asks for")
    metadata["averaged"] = [{"checkpoint": path.name, "sha256": sha256(path)} for path in chosen]
    return {name: (sums[name] / len(chosen)).to(weights[name].dtype) for name in sums}, metadata
