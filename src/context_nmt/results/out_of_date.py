"""Which systems of an experiment have results that its present code and settings would make anew."""

from hashlib import md5
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from context_nmt.settings.folder import Experiment
from context_nmt.settings.layout import run_name

TRAIN = ("train", "train_distilled", "train_document", "train_continued")
OF_A_RUN = ("average", "decode", "contrast", "analyse")


def out_of_date(experiment: Experiment) -> list[str]:
    """The variants of params.yaml of which dvc.lock lacks a stage, or has one with other code or another plan."""
    lock = experiment.lock
    stages = YAML(typ="safe").load(lock.read_text(encoding="utf-8"))["stages"] if lock.is_file() else {}
    return [variant for variant in experiment.settings.variants if not _is_made(experiment, variant, stages)]


def _is_made(experiment: Experiment, variant: str, stages: dict[str, Any]) -> bool:
    names = [f"significance@{variant}"]
    for run in (run_name(variant, seed) for seed in experiment.settings.seeds):
        names += [f"{train}@{run}" for train in TRAIN if f"{train}@{run}" in stages][:1] or [f"train@{run}"]
        names += [f"{stage}@{run}" for stage in OF_A_RUN]
    return all(name in stages and _is_true(experiment.folder, stages[name]) for name in names)


def _is_true(folder: Path, stage: dict[str, Any]) -> bool:
    """Whether the files of code and plans, which are in git, are those that a stage has read."""
    for one in stage.get("deps", []):
        path = folder / one["path"]
        is_noted = "/src/code/" in one["path"] or one["path"].startswith("metrics/plans/")
        if is_noted and path.is_file() and one["md5"] != md5(path.read_bytes(), usedforsecurity=False).hexdigest():
            return False
    return True
