"""Find the systems whose committed results the present code, settings or inputs would not reproduce."""

import json
from collections.abc import Collection
from hashlib import md5
from pathlib import Path
from typing import Any

from context_nmt.files import UserError, json_text, read_yaml
from context_nmt.measures.pairs import pairs_of
from context_nmt.settings.folder import Experiment
from context_nmt.settings.parameters import ExperimentSettings, check_parameters
from context_nmt.settings.run_layout import run_name

EARLIER = Path(__file__).with_name("earlier_code.yaml")
SHARED = ("corpus", "text", "units", "significance", "probing")  # sections whose plans are not of a variant
TRAININGS = ("train", "train_distilled", "train_document", "train_continued", "distill")  # stages that `train` arranges


def out_of_date(experiment: Experiment) -> list[str]:
    """List the variants with a result whose stage is missing from dvc.lock or was run on other files.

    Check every stage upstream of a result, too. Raise UserError for a dvc.lock or translations that cannot be read.
    """
    lock = Lock(experiment)
    return [
        variant
        for variant in experiment.settings.variants
        if not all(lock.is_up_to_date(path) for path in _results(experiment, variant))
    ]


def old_results(experiment: Experiment) -> list[str]:
    """List the variants whose results are there, but out of date."""
    seed = experiment.settings.seeds[0]
    return [name for name in out_of_date(experiment) if experiment.scores(run_name(name, seed)).is_file()]


def earlier_code(experiment: Experiment) -> tuple[str, Collection[str]]:
    """Return the commit whose results of an experiment still count, and the variants that were out of date then.

    The commit is empty if EARLIER has none for the experiment, or if its params.yaml is another one now.
    """
    known = read_yaml(EARLIER)
    entry = known["experiments"].get(experiment.parameters.resolve().parent.name, {})
    if entry.get("parameters") != _digest(experiment.parameters):
        return "", ()
    return known["commit"], entry["out_of_date"]


def _results(experiment: Experiment, variant: str) -> list[Path]:
    probing = experiment.settings.probing
    paths = [experiment.scores(run_name(variant, experiment.settings.seeds[0])).parent]
    for run in (run_name(variant, seed) for seed in experiment.settings.seeds):
        paths += [experiment.hypotheses(run), experiment.contrastive(run), experiment.analyses(run)]
        paths += [experiment.word_probes(run)] if variant in probing.words else []
        paths += [experiment.sentence_probes(run)] if variant in probing.sentences else []
    return [path.relative_to(experiment.folder) for path in paths]


def _trainings(settings: ExperimentSettings) -> dict[str, str]:
    """Return the stages of TRAININGS that params.yaml asks for, with the ends of their commands."""
    train, seeds = settings.train, settings.seeds
    lists = {
        "train": (train.bitext, ""),
        "train_distilled": (train.distilled, " --distilled"),
        "train_document": (train.document, f" --start {train.document_start}"),
        "train_continued": (train.continued, f" --start {train.continued_start}"),
    }
    asked = {f"distill@{teacher}": f" distill {teacher} {seeds[0]}" for teacher in train.teachers}
    for stage, (variants, option) in lists.items():
        asked |= {f"{stage}@{run_name(v, seed)}": f" train {v} {seed}{option}" for v in variants for seed in seeds}
    return asked


class Lock:
    """The stages in an experiment's dvc.lock, as a graph: a dependency leads to the stage with that output.

    DVC never removes a stage from dvc.lock: of TRAININGS, those count that params.yaml asks for.
    """

    def __init__(self, experiment: Experiment) -> None:
        self.experiment, path = experiment, experiment.lock
        try:
            stages: dict[str, Any] = (read_yaml(path) or {}).get("stages", {}) if path.is_file() else {}
            asked = _trainings(experiment.settings)
            self._planned = _planned(stages)
            self.stages = {
                name: stage
                for name, stage in stages.items()
                if name.partition("@")[0] not in TRAININGS or str(stage["cmd"]).endswith(asked.get(name, "?"))
            }
            self.outputs = {
                out["path"]: (name, out["md5"]) for name, stage in self.stages.items() for out in stage.get("outs", [])
            }
        except (AttributeError, KeyError, TypeError):
            raise UserError(f"{path}: not what DVC writes; restore it from git") from None
        self._checked: dict[str, bool] = {}

    def is_up_to_date(self, path: Path) -> bool:
        """Return whether dvc.lock has a stage with this output and all its inputs are unchanged."""
        name, _ = self.outputs.get(path.as_posix(), ("", ""))
        return name != "" and self._inputs_are_unchanged(name)

    def _inputs_are_unchanged(self, name: str) -> bool:
        if name not in self._checked:
            self._checked[name] = all(
                self._is_unchanged(dependency["path"], dependency["md5"])
                for dependency in self.stages[name].get("deps", [])
            )
        return self._checked[name]

    def _is_unchanged(self, path: str, digest: str) -> bool:
        file = self.experiment.folder / path
        if path.startswith("metrics/plans/") and not self._is_planned(Path(path).parts[2].removesuffix(".json")):
            return False
        if "src/code/" in path or path.startswith("metrics/plans/"):  # in git, and rebuilt in seconds
            return not file.exists() or digest == _digest(file)
        if path.startswith("runs/pairs/"):
            return digest == self._digest_of_pairs(file.stem)
        if path in self.outputs and self.outputs[path][1] != digest:
            return False
        makers = {name for output, (name, _) in self.outputs.items() if _overlap(path, output)}
        is_made_here = bool(makers) or not path.startswith("runs/")
        return is_made_here and all(self._inputs_are_unchanged(name) for name in makers)

    def _is_planned(self, plan: str) -> bool:
        """Return whether a plan, a file or a variant's folder, was written for the present params.yaml."""
        settings, planned = self.experiment.settings, self._planned
        if planned is None:
            return False
        if plan in settings.variants:
            return plan in planned.variants and settings.recipe(plan) == planned.recipe(plan)
        return all(getattr(settings, key) == getattr(planned, key) for key in SHARED)

    def _digest_of_pairs(self, variant: str) -> str:
        """Return the MD5 of the file that the pair stage would write now; empty if translations are missing."""
        pairs = pairs_of(self.experiment, variant)
        return _md5(json_text(pairs).encode()) if pairs else ""


def _planned(stages: dict[str, Any]) -> ExperimentSettings | None:
    """Return the settings that the plans were written for; None if there are none, or none that are still allowed."""
    parameters = stages.get("plan", {}).get("params", {}).get("params.yaml")
    if parameters is None:
        return None
    unplanned = {"root": ".", "seeds": [1], "focus": next(iter(parameters["variants"]))}
    try:
        return check_parameters(unplanned | parameters, "dvc.lock")
    except UserError:  # of an earlier version
        return None


def _overlap(path: str, other: str) -> bool:
    return f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/")


def _digest(path: Path) -> str:
    """Return the MD5 that DVC records for a file or a folder."""
    if path.is_file():
        return _md5(path.read_bytes())
    files = sorted(file for file in path.rglob("*") if file.is_file())
    entries = [{"md5": _digest(file), "relpath": file.relative_to(path).as_posix()} for file in files]
    return _md5(json.dumps(entries).encode()) + ".dir"


def _md5(content: bytes) -> str:
    return md5(content, usedforsecurity=False).hexdigest()
