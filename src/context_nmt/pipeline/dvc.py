"""All uses of DVC's internals: its verdicts on stages, merges of dvc.lock, and its command line with a faster dvc.lock.

The command line is `python -m context_nmt.pipeline.dvc ARGUMENTS`. After each stage, DVC reads and writes dvc.lock with
ruamel.yaml's round-trip loader, which keeps comments. For 60 runs (335 kB) this takes two seconds, longer than most
stages; ruamel.yaml's parser and emitter in C take 0.4 seconds. The bytes are the same, except that commands of more
than 80 characters may be wrapped at other spaces.

If two clones have run stages of one experiment, both have changed its dvc.lock. Git merges it by lines, which can lose
stages or mix two of them. This module merges it by stages, and DVC, which compares hashes, then runs the stages whose
inputs do not match. The merge is necessary: DVC's run cache does not restore stages with outputs in git.
"""

import logging
import os
import re
import signal
import subprocess
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from graphlib import TopologicalSorter
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dvc import dvcfile, rwlock
from dvc.cli import main
from dvc.dependency import ParamsDependency
from dvc.exceptions import DvcException
from dvc.repo import Repo
from dvc.utils.serialize import dump_yaml, loads_yaml, modify_yaml
from dvc_data.hashfile.hash_info import HashInfo
from dvc_data.hashfile.meta import Meta
from dvc_data.hashfile.tree import Tree
from ruamel.yaml import YAML

from context_nmt.files import UserError, replacing
from context_nmt.pipeline.processes import CHILD_VARIABLE

WRITTEN = re.compile(r"(experiments/[^/]+/)?(metrics|reports)/|src/code/")
BASE, OURS, THEIRS = "123"  # git's names of the versions of a file in conflict

Entries = Mapping[str, Any]  # the stages of a dvc.lock
Files = Mapping[str, Sequence[Any]]  # MD5 and size of files by path


@dataclass(frozen=True)
class Stage:
    """A stage of a dvc.yaml; paths are absolute."""

    name: str
    changed: bool  # apart from files that are only missing
    is_new: bool  # it is not in dvc.lock
    dependencies: tuple[str, ...]
    outputs: tuple[str, ...]
    upstream: frozenset[str]


def read_stages(folder: Path) -> dict[str, Stage]:
    """Return the stages of `folder/dvc.yaml`, as DVC sees them, in an order in which they can run.

    Raise UserError if DVC cannot read them, or an input is a broken link.
    """
    logging.getLogger("dvc.progress").setLevel(logging.CRITICAL)  # DVC's own bars would garble the display
    try:
        with Repo(str(folder.resolve()), _wait_for_lock=True) as repo, repo.lock:
            indexed = {stage for stage in repo.index.stages if stage.path == str(folder.resolve() / "dvc.yaml")}
            stages = {}
            for stage in indexed:
                upstream = list(repo.index.graph.successors(stage))
                stages[stage.name] = Stage(
                    name=stage.name,
                    changed=stage.changed(allow_missing=True, upstream=upstream),
                    is_new=not all(out.hash_info for out in stage.outs),
                    dependencies=tuple(dep.fs_path for dep in stage.deps if not isinstance(dep, ParamsDependency)),
                    outputs=tuple(out.fs_path for out in stage.outs),
                    upstream=frozenset(dependency.name for dependency in upstream if dependency in indexed),
                )
    except DvcException as error:
        raise UserError(f"{folder}: DVC: {error}") from None
    except FileNotFoundError as error:  # a broken link
        raise UserError(f"{error.filename}: no such file or folder; is its disk mounted?") from None
    order = TopologicalSorter({name: stages[name].upstream for name in sorted(stages)}).static_order()
    return {name: stages[name] for name in order}


@dataclass(frozen=True)
class Declaration:
    """What DVC knows of a stage; paths start at the experiment's folder."""

    command: str
    changed: bool  # apart from files that are only missing, or not in dvc.lock
    dependencies: dict[str, str]  # the hash of each file or folder, or "" if it is missing
    outputs: dict[str, str]  # the hash of each output in dvc.lock, or ""


def read_declarations(folder: Path, names: Collection[str]) -> dict[str, Declaration]:
    """Return some stages of `folder/dvc.yaml`, in their order; names that it does not have are left out."""
    with _stages_by_name(folder) as stages:
        return {
            name: Declaration(
                command=stage.cmd,
                changed=not all(out.hash_info for out in stage.outs) or stage.changed(allow_missing=True),
                dependencies={_path(dep): dep.get_hash().value if dep.exists else "" for dep in stage.deps},
                outputs={_path(out): out.hash_info.value or "" for out in stage.outs},
            )
            for name, stage in stages.items()
            if name in names
        }


def record_outputs(folder: Path, names: Iterable[str], files: Files) -> None:
    """Write stages into dvc.lock and their outputs into the cache, as if they had run here.

    `files` has the outputs of these stages that may be missing here.
    """
    dvcfile.modify_yaml = modify_quickly
    logging.getLogger("dvc.dvcfile").setLevel(logging.WARNING)  # it prints a line per stage that it writes
    with _stages_by_name(folder) as stages:
        for stage in map(stages.__getitem__, names):
            for item in (*stage.deps, *stage.outs):
                if item.exists:
                    item.save()
                else:
                    item.hash_info, item.meta = hash_of(_path(item), files)
            for out in stage.outs:
                if out.exists:
                    out.commit(relink=False)
            stage.dump(update_pipeline=False)


def hash_of(path: str, files: Files) -> tuple[HashInfo, Meta]:
    """Return DVC's hash of a file, or of a folder with all of `files` below it."""
    if path in files:
        return HashInfo("md5", files[path][0]), Meta(size=files[path][1])
    tree: Any = Tree()  # type: ignore[no-untyped-call]
    total, inside = 0, {name: file for name, file in files.items() if name.startswith(f"{path}/")}
    for name, (digest, size) in inside.items():
        tree.add(tuple(name.removeprefix(f"{path}/").split("/")), Meta(size=size), HashInfo("md5", digest))
        total += size
    tree.digest()
    return tree.hash_info, Meta(size=total, nfiles=len(inside))


@contextmanager
def _stages_by_name(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield DVC's stages of `folder/dvc.yaml` by name; raise UserError for DVC's errors."""
    logging.getLogger("dvc").setLevel(logging.WARNING)  # it would report each change of dvc.lock
    logging.getLogger("dvc.progress").setLevel(logging.CRITICAL)  # DVC's own bars would garble the display
    path = str(folder.resolve() / "dvc.yaml")
    try:
        with Repo(str(folder.resolve()), _wait_for_lock=True) as repo, repo.lock:
            yield {stage.name: stage for stage in repo.index.stages if stage.path == path}
    except DvcException as error:
        raise UserError(f"{folder}: DVC: {error}") from None


def _path(item: Any) -> str:
    """Return the path of a dependency or output from the folder of its dvc.yaml."""
    return Path(os.path.relpath(item.fs_path, item.stage.wdir)).as_posix()


def resolve(folder: Path) -> list[str]:
    """Resolve the conflicts in files that stages write, and return lines for the user about all conflicts.

    A dvc.lock is merged by stages; other files are kept as they are on this side, and stages will write them again.
    Raise UserError if there is no conflict.
    """
    conflicts = defaultdict[str, dict[str, str]](dict)  # file -> version -> its blob
    for line in filter(None, git(folder, "ls-files", "--unmerged", "-z").split("\0")):
        attributes, _, name = line.partition("\t")
        _, blob, version = attributes.split()
        conflicts[name][version] = blob
    if not conflicts:
        raise UserError(f"{folder.resolve()}: no conflicts here; call this after a git merge that stopped at conflicts")
    merged_locks, kept, unresolved = list[str](), list[str](), list[str]()
    for name, blobs in conflicts.items():
        is_lock = Path(name).name == "dvc.lock"
        if not is_lock and not WRITTEN.match(name):
            unresolved.append(f"{name}: left to you")
        elif OURS not in blobs:
            git(folder, "rm", "--quiet", "--", name)
        else:
            git(folder, "checkout", "--ours", "--", name)
            if is_lock and THEIRS in blobs:
                locks = {version: loads_yaml(git(folder, "cat-file", "blob", blob)) for version, blob in blobs.items()}
                sides = [(locks.get(version) or {}).get("stages", {}) for version in (BASE, OURS, THEIRS)]
                with replacing(folder / name) as temporary:
                    dump_yaml(temporary, (locks[OURS] or {}) | {"stages": merge_stages(*sides)})
                merged_locks.append(f"{name}: {_summary(*sides)}")
            else:
                kept.append(name)
            git(folder, "add", "--", name)
    if kept:
        others = f" and {len(kept) - 1} others" if len(kept) > 1 else ""
        merged_locks.append(f"{kept[0]}{others}: kept as on this side; stages write them again")
    return [*merged_locks, *unresolved]


def merge_stages(base: Entries, ours: Entries, theirs: Entries) -> dict[str, Any]:
    """Merge the stages of two locks: take a stage from the side that changed it, and from ours if both did."""
    names = dict.fromkeys([*ours, *theirs])
    chosen = {name: (theirs if ours.get(name) == base.get(name) else ours).get(name) for name in names}
    return {name: entry for name, entry in chosen.items() if entry is not None}


def _summary(base: Entries, ours: Entries, theirs: Entries) -> str:
    """Count the stages that a merge takes from the other side, and name those that both sides have changed."""
    our_changes, their_changes = (
        {name for name in entries if entries[name] != base.get(name)} for entries in (ours, theirs)
    )
    both = sorted(name for name in our_changes & their_changes if ours[name] != theirs[name])
    names = f" ({', '.join(both)})" if both else ""
    count = len(their_changes - our_changes)
    return f"{count} stages as on the other side; {len(both)} that both have changed as on this one{names}"


def git(folder: Path, *arguments: str) -> str:
    """Return what a git command prints in a folder; raise UserError if it fails."""
    try:
        call = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, encoding="utf-8", check=False)  # noqa: S607
    except FileNotFoundError:
        raise UserError("no program git: install it") from None
    if call.returncode:
        raise UserError(f"git {arguments[0]}: {' '.join(call.stderr.split())}")
    return call.stdout


@contextmanager
def modify_quickly(path: Any, fs: Any = None) -> Iterator[dict[str, Any]]:
    """Yield the values of a DVC file, then write them with the changes that the block made."""
    if not str(path).endswith(".lock"):
        with modify_yaml(path, fs=fs) as values:
            yield values
        return
    yaml = YAML(typ="safe")
    yaml.default_flow_style = False
    yaml.representer.sort_base_mapping_type_on_output = False
    yaml.representer.add_representer(OrderedDict, lambda representer, values: representer.represent_dict(values))
    yaml.representer.add_representer(
        type(None), lambda representer, _: representer.represent_scalar("tag:yaml.org,2002:null", "")
    )
    file, stream = Path(path), StringIO()
    values = (yaml.load(file.read_text(encoding="utf-8")) or {}) if file.is_file() else {}
    yield values
    yaml.dump(values, stream)
    with replacing(file) as temporary:  # `context-nmt repro` reads it while other stages run
        temporary.write_text(stream.getvalue().replace(": \n", ":\n"), encoding="utf-8")  # null values


def run(arguments: list[str]) -> int:
    """Run a DVC command and return its exit status.

    As a child of `context-nmt repro`, it reacts to Ctrl-C even in a background job, which ignores it otherwise. SIGTERM
    also reaches its stage, and ends DVC only when the stage has ended.
    """
    dvcfile.modify_yaml = modify_quickly
    if os.environ.pop(CHILD_VARIABLE, None):
        if "SLURM_JOB_ID" in os.environ:
            # DVC mistakes the lock of a process on another node for a local one, and would wait if some local process
            # has the same id. The dependencies of the jobs keep stages apart; see also `slurm.py`.
            rwlock.psutil = SimpleNamespace(pid_exists=lambda _: False)
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, lambda *_: None)  # not SIG_IGN, which stages would inherit
    return int(main(arguments))


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
