"""Find the systems whose committed results the present code, settings or inputs would not reproduce.

DVC's own check of a stage and its upstream stages is not used: it takes five times as long, needs locks that running
stages hold, and, through `pair`, counts a change of one translation as a change of all systems.
"""

import json
import re
from collections.abc import Collection, Iterator
from functools import cache
from hashlib import file_digest, md5
from pathlib import Path
from typing import Any

from context_nmt.files import UserError, json_text, read_yaml
from context_nmt.measures.pairs import system_pairs
from context_nmt.settings.layout import RESCORED
from context_nmt.settings.parameters import Experiment, ExperimentSettings, training_of
from context_nmt.settings.run_layout import run_name

IGNORED = re.compile(r"(^|/)(\.[^/]*\.(partial|earlier)|__pycache__)(/|$)|\.pyc$")  # by DVC, as .dvcignore says
EARLIER_CODE = Path(__file__).with_name("earlier_code.yaml")


def variants_out_of_date(experiment: Experiment) -> list[str]:
    """List the systems with a result whose stage, or a stage upstream, is not in dvc.lock or was run on other files.

    After a change of params.yaml, these are all systems until the plan stage has run. Raise UserError for a dvc.lock
    or translations that cannot be read.
    """
    lock = LockFile(experiment)
    return [
        variant
        for variant in experiment.settings.systems
        if not lock.is_planned or not all(lock.is_up_to_date(path) for path in _result_files(experiment, variant))
    ]


def results_out_of_date(experiment: Experiment) -> list[str]:
    """List the systems that have results which are out of date."""
    seed = experiment.settings.seeds[0]
    return [name for name in variants_out_of_date(experiment) if experiment.scores(run_name(name, seed)).is_file()]


def earlier_code(experiment: Experiment) -> tuple[str, Collection[str]]:
    """Return the commit whose results of an experiment still count, and the variants that were out of date then.

    The commit is empty if earlier_code.yaml does not list the experiment, or if its params.yaml has changed since.
    """
    record = read_yaml(EARLIER_CODE)
    entry = record["experiments"].get(experiment.parameters.resolve().parent.name, {})
    if entry.get("parameters") != digest_of(experiment.parameters):
        return "", ()
    return record["commit"], entry["out_of_date"]


def _result_files(experiment: Experiment, variant: str) -> Iterator[Path]:
    probing, seeds = experiment.settings.probing, experiment.settings.seeds
    yield experiment.scores(run_name(variant, seeds[0])).parent
    for run in (run_name(variant, seed) for seed in seeds):
        yield experiment.hypotheses(run)
        if variant in experiment.settings.variants:
            yield from (experiment.contrastive(run), experiment.analyses(run))
        yield from [experiment.word_probes(run)] if variant in probing.words else []
        yield from [experiment.sentence_probes(run)] if variant in probing.sentences else []
    if variant in experiment.settings.rescored:
        for run in (run_name(variant + RESCORED, seed) for seed in seeds):
            yield from (experiment.hypotheses(run), experiment.scores(run))


def _training_commands(settings: ExperimentSettings) -> dict[str, str]:
    """Return the trainings that params.yaml asks for: stage name -> end of its command."""
    commands = {
        f"distill@{teacher}-{seed}": f" distill {teacher} {seed}"
        for teacher in settings.train.teachers
        for seed in settings.seeds
    }
    for variant in settings.variants:
        training = training_of(settings.train, variant)
        option = f" --start {training.start}" if training.start else " --distilled" if training.teacher else ""
        for seed in settings.seeds:
            commands[f"{training.stage}@{variant}-{seed}"] = f" train {variant} {seed}{option}"
    return commands


class LockFile:
    """The stages in an experiment's dvc.lock, linked by their outputs and dependencies.

    DVC never removes a stage from dvc.lock, so trainings that params.yaml no longer asks for are ignored.
    """

    def __init__(self, experiment: Experiment) -> None:
        self.experiment, path = experiment, experiment.lock
        commands, present = _training_commands(experiment.settings), read_yaml(experiment.parameters)
        try:
            stages: dict[str, Any] = (read_yaml(path) or {}).get("stages", {}) if path.is_file() else {}
            planned = stages.get("plan", {}).get("params", {}).get("params.yaml", {})
            self.is_planned = bool(planned) and planned == {key: present.get(key) for key in planned}
            self.stages = {
                name: stage
                for name, stage in stages.items()
                if not name.startswith(("train", "distill"))
                or (name in commands and str(stage["cmd"]).endswith(commands[name]))
            }
            self.outputs = {
                out["path"]: (name, out["md5"]) for name, stage in self.stages.items() for out in stage.get("outs", [])
            }
        except (AttributeError, KeyError, TypeError):
            raise UserError(f"{path}: not what DVC writes; restore it from git") from None
        self._checked: dict[str, bool] = {}
        self._digest_of = cache(digest_of)  # many stages read a corpus

    def is_up_to_date(self, path: Path) -> bool:
        """Return whether dvc.lock has a stage with this output and all its inputs are unchanged."""
        name, _ = self.outputs.get(path.relative_to(self.experiment.folder).as_posix(), ("", ""))
        return name != "" and self._has_unchanged_inputs(name)

    def producers(self, path: str) -> set[str]:
        """Return the stages that write a path, a file in it or a folder around it."""
        return {
            name
            for output, (name, _) in self.outputs.items()
            if f"{path}/".startswith(f"{output}/") or f"{output}/".startswith(f"{path}/")
        }

    def _has_unchanged_inputs(self, name: str) -> bool:
        if name not in self._checked:
            dependencies = self.stages[name].get("deps", [])
            self._checked[name] = all(
                self._is_unchanged(dependency["path"], dependency["md5"]) for dependency in dependencies
            )
        return self._checked[name]

    def _is_unchanged(self, path: str, digest: str) -> bool:
        file, producers = self.experiment.folder / path, self.producers(path)
        # in git, and rebuilt in seconds, or from the user
        is_of_user = path.startswith("external/") or (path.startswith("data/") and not producers)
        if is_of_user or path.startswith("metrics/plans/") or "src/code/" in path:
            return not file.exists() or digest == self._digest_of(file)
        if path.startswith("runs/pairs/"):  # what the pair stage would write now
            pairs = system_pairs(self.experiment, file.stem)
            return pairs is not None and digest == _md5(json_text(pairs).encode())
        if path in self.outputs and self.outputs[path][1] != digest:
            return False
        has_producer = bool(producers) or not path.startswith("runs/")
        return has_producer and all(self._has_unchanged_inputs(name) for name in producers)


def digest_of(path: Path) -> str:
    """Return the MD5 that DVC records for a file or a folder."""
    if path.is_file():
        with path.open("rb") as file:
            return file_digest(file, lambda: md5(usedforsecurity=False)).hexdigest()
    files = {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
    names = sorted(name for name in files if not IGNORED.search(name))
    entries = [{"md5": digest_of(files[name]), "relpath": name} for name in names]
    return _md5(json.dumps(entries).encode()) + ".dir"


def _md5(content: bytes) -> str:
    return md5(content, usedforsecurity=False).hexdigest()
