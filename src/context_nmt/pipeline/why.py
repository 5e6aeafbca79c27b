"""Why a stage is out of date: the files of code, keys of plans and data that have changed since it ran."""

import json
import subprocess
from collections.abc import Iterator
from hashlib import md5
from pathlib import Path
from typing import Any

from context_nmt.code_closure import digest_of_module, stage_closure, stages
from context_nmt.files import UserError, json_text, read_json, read_yaml
from context_nmt.measures.pairs import system_pairs
from context_nmt.results.out_of_date import LockFile, digest_of
from context_nmt.settings import some_names
from context_nmt.settings.parameters import Experiment
from context_nmt.settings.run_layout import run_name


def reasons(experiment: Experiment, stage: str) -> list[str]:
    """Return a line for each file that a stage or a stage before it has read in another version than the present one.

    Raise UserError for a stage that is not in dvc.lock.
    """
    lock = LockFile(experiment)
    if stage not in lock.stages:
        names = some_names(stage, sorted(lock.stages)) or "none"
        raise UserError(f"STAGE is {stage!r}: {experiment.lock} has no such stage, so it has never run; it has {names}")
    lines = list(dict.fromkeys(_reasons(experiment, lock, stage, set())))
    if "plan" in lock.stages and not lock.is_planned and stage != "plan":
        command = f"dvc --cd {experiment.folder} repro plan"
        lines.append(f"params.yaml has changed since plan ran; `{command}` shows which plans change")
    return lines


def _reasons(experiment: Experiment, lock: LockFile, stage: str, seen: set[str]) -> Iterator[str]:
    if stage in seen:
        return
    seen.add(stage)
    present = read_yaml(experiment.parameters)
    for key, value in lock.stages[stage].get("params", {}).get("params.yaml", {}).items():
        found: Any = present
        for part in key.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        yield from (f"params.yaml, read by {stage}: {change}" for change in _changes(value, found, key))
    for dependency in lock.stages[stage].get("deps", []):
        path, recorded = dependency["path"], dependency["md5"]
        file, upstream = experiment.folder / path, lock.producers(path) - {"plan"}
        if path.startswith("runs/pairs/"):  # `pair` reads all translations, but this file has those of two systems
            content, upstream = _pairs(experiment, lock, file.stem)
            if content is None or md5(content, usedforsecurity=False).hexdigest() != recorded:
                yield f"{path}, read by {stage}: translations or outcomes have changed, or are missing"
        elif path in lock.outputs and lock.outputs[path][1] != recorded and upstream:
            yield f"{path}, read by {stage}: {lock.outputs[path][0]} has written it again since"
        elif not upstream and not file.exists():
            yield f"{path}, read by {stage}: no file"
        elif upstream and path.startswith(("data/", "metrics/")) and file.exists() and digest_of(file) != recorded:
            yield f"{path}: has changed since {stage} read it"
        elif not upstream and (changed := _changed(experiment, file, recorded)):
            yield f"{path}, read by {stage}: {'; '.join(changed)}"
        if path.startswith("metrics/plans/") and file.is_file():
            root = experiment.folder / experiment.settings.root
            plan = read_json(file)
            modules = plan.get("code", {}) if isinstance(plan, dict) else {}  # those that are loaded by name
            yield from (
                f"{path}: the code of {module} has changed, or is missing"
                for module, digest in modules.items()
                if _digest(module, root) != digest
            )
        for name in sorted(upstream):
            yield from _reasons(experiment, lock, name, seen)


def _pairs(experiment: Experiment, lock: LockFile, system: str) -> tuple[bytes | None, set[str]]:
    """Return what `pair` would write for a system now, and the stages whose outputs it would read for that."""
    pairs = system_pairs(experiment, system) if system in experiment.settings.systems else None
    if pairs is None:
        return None, set()
    runs = {
        run_name(name, seed)
        for name in (system, pairs["baseline"])
        for seed in experiment.settings.seeds
        if name in experiment.settings.variants
    }
    paths = [of(run) for run in runs for of in (experiment.hypotheses, experiment.contrastive_outcomes)]
    found = [lock.producers(path.relative_to(experiment.folder).as_posix()) for path in paths]
    return json_text(pairs).encode(), set().union(*found)


def _changed(experiment: Experiment, file: Path, recorded: str) -> list[str]:
    """Return how a file or folder differs from the version with the recorded hash, which git's history may have."""
    is_code = file.parent.name == "code"
    root = experiment.folder / experiment.settings.root
    is_old = is_code and file.stem in stages(root) and read_json(file) != stage_closure(root, file.stem)
    if digest_of(file) == recorded and not is_old:
        return []
    earlier = _version(file, recorded) if file.suffix == ".json" else None
    if earlier is None:
        return ["has changed" + (", and git has no earlier version" if file.suffix == ".json" else "")]
    present = stage_closure(root, file.stem) if is_old else read_json(file)
    if is_code:
        return [name for name in sorted({**earlier, **present}) if earlier.get(name) != present.get(name)]
    return [*_changes(earlier, present)]


def _digest(module: str, root: Path) -> str:
    try:
        return digest_of_module(module, root)
    except UserError:  # there is no such module
        return ""


def _version(file: Path, digest: str) -> Any:
    """Return the content of a JSON file in the commit whose version has this MD5; None if git has none."""
    for commit in _git(file.parent, "log", "--format=%H", "--", file.name).decode().split():
        content = _git(file.parent, "show", f"{commit}:./{file.name}")
        if md5(content, usedforsecurity=False).hexdigest() == digest:
            return json.loads(content)
    return None


def _git(folder: Path, *arguments: str) -> bytes:
    """Return what git prints; nothing outside a repository, or for a file that a commit has removed."""
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=False).stdout  # noqa: S607


def _changes(earlier: Any, present: Any, key: str = "") -> Iterator[str]:
    """Yield the keys whose values differ, with both values."""
    if isinstance(earlier, dict) and isinstance(present, dict):
        for name in sorted({**earlier, **present}):
            path = f"{key}.{name}" if key else name
            yield from _changes(earlier.get(name), present.get(name), path)
    elif earlier != present:
        yield f"{key} was {earlier!r} and is {present!r}"
