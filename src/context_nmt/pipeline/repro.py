"""Runs what is not up to date of an experiment, independent stages side by side; `dvc repro` runs one at a time.

DVC decides what has changed, once, after the code and plan stages have run. This module then starts
`dvc repro --single-item` for that, and for what depends on outputs that really came out differently. With
`allow_missing`, what is only missing is made again where a stage that runs needs it, and nowhere else: a clone without
the cache trains a new variant alone.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

import yaml

from context_nmt.files import UserError
from context_nmt.pipeline.children import Children
from context_nmt.settings.parameters import read_parameters


def reproduce(folder: Path, jobs: int | None, *, allow_missing: bool = False) -> None:
    """Bring the experiment in `folder` up to date with at most `jobs` stages at a time.

    By default as many as there are cores, at most as many as runs; one where there is a GPU. Stages get their share of
    the cores as OMP_NUM_THREADS, unless it is set. Raises UserError when a stage fails, after the others were stopped.
    """
    settings = read_parameters(folder / "params.yaml")
    if jobs is not None and jobs < 1:
        raise UserError(f"JOBS is {jobs}; it must be at least 1")
    cores, runs = len(os.sched_getaffinity(0)), len(settings.variants) * len(settings.seeds)
    jobs = min(runs, jobs or (1 if list(Path("/dev").glob("nvidia[0-9]*")) else cores))
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {"OMP_NUM_THREADS": str(max(1, cores // jobs)), **os.environ, "PATH": programs}
    with Children(environment) as children:
        code = folder / settings.root / "src"
        if (code / "dvc.yaml").is_file():
            children.run("code", code, "repro")
            children.run("plan", folder, "repro", "plan")
        scheduler = Scheduler(read_stages(folder), folder, allow_missing=allow_missing, serial=jobs == 1)
        while scheduler.unfinished:
            for chain in scheduler.next_chains(jobs - len(children.running)):
                option = [] if chain[0] in scheduler.missed else ["--allow-missing"]
                children.start(chain[0], folder, "repro", "--single-item", *option, *chain)
            scheduler.finish(children.wait())
        if scheduler.ran:
            option = ["--allow-missing"] if allow_missing else []
            children.run("dvc repro", folder, "repro", *option)  # DVC has the last word
    print(f"{folder / 'dvc.yaml'}: everything is up to date")


@dataclass(frozen=True)
class Stage:
    """What DVC says of one stage; paths are absolute."""

    name: str
    changed: bool  # but for files that are only missing
    dependencies: tuple[str, ...]
    outputs: tuple[str, ...]
    upstream: frozenset[str]


def read_stages(folder: Path) -> dict[str, Stage]:
    """Ask DVC for the stages of `folder/dvc.yaml`, in an order in which they could run."""
    from dvc.dependency import ParamsDependency  # most of a second
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    try:
        with Repo(str(folder.resolve()), _wait_for_lock=True) as repo, repo.lock:
            own = {stage for stage in repo.index.stages if stage.path == str(folder.resolve() / "dvc.yaml")}
            found = {}
            for stage in own:
                upstream = list(repo.index.graph.successors(stage))
                found[stage.name] = Stage(
                    name=stage.name,
                    changed=stage.changed(allow_missing=True, upstream=upstream),
                    dependencies=tuple(dep.fs_path for dep in stage.deps if not isinstance(dep, ParamsDependency)),
                    outputs=tuple(out.fs_path for out in stage.outs),
                    upstream=frozenset(one.name for one in upstream if one in own),
                )
    except DvcException as error:
        raise UserError(f"{folder}: DVC: {error}") from None
    order = TopologicalSorter({name: found[name].upstream for name in sorted(found)}).static_order()
    return {name: found[name] for name in order}


class Scheduler:
    """Which stages must run, and which of these can start."""

    def __init__(self, stages: dict[str, Stage], folder: Path, *, allow_missing: bool, serial: bool) -> None:
        self.stages, self.folder, self.serial = stages, folder.resolve(), serial
        self.needed: set[str] = set()
        self.missed: set[str] = set()  # unchanged, but what they make is not there
        self.running: dict[str, tuple[str, ...]] = {}  # the first stage of a chain -> all of them
        self.ran: list[str] = []
        self._behind: dict[str, set[str]] = {name: set() for name in stages}
        for name in reversed(stages):
            for one in stages[name].upstream:
                self._behind[one] |= {name, *self._behind[name]}
        self._outputs = self._read_lock()
        for name, stage in stages.items():
            made = [path for one in stage.upstream for path in stages[one].outputs]
            own = [*stage.outputs, *(path for path in stage.dependencies if not _overlap([path], made))]
            absent = not all(map(os.path.exists, own))
            if not stage.changed and (name not in self._outputs or (absent and not allow_missing)):
                self.missed.add(name)  # the first: DVC takes a new stage without dependencies for one that is missing
            if stage.changed or name in self.missed:
                self._need(name)

    @property
    def unfinished(self) -> set[str]:
        return self.needed - set(self.ran)

    def next_chains(self, most: int) -> Iterator[tuple[str, ...]]:
        """At most so many chains of stages that can start now; first what most others wait for."""
        busy = {name for chain in self.running.values() for name in chain}
        blocked = set().union(*(self._behind[name] for name in self.unfinished | busy))
        ready = [name for name in self.stages if name in self.unfinished - blocked - busy]
        for name in sorted(ready, key=lambda name: -len(self._behind[name]))[: max(0, most)]:
            chain = self._chain(name)
            self.running[name] = chain
            yield chain

    def finish(self, name: str) -> None:
        """Take note of a chain that has ended; what depends on other outputs than before must run, too."""
        chain = self.running.pop(name)
        outputs = self._read_lock()
        for done in chain:
            before, now = self._outputs.get(done, {}), outputs.get(done, {})
            different = [str(self.folder / path) for path in now if now[path] != before.get(path)]
            for after in self._behind[done]:
                stage = self.stages[after]
                if done in stage.upstream and after not in chain and _overlap(stage.dependencies, different):
                    self._need(after)
        self._outputs = outputs
        self.ran += chain
        self.needed |= set(chain)

    def _need(self, name: str) -> None:
        self.needed.add(name)
        absent = [path for path in self.stages[name].dependencies if not os.path.exists(path)]
        for before in self.stages[name].upstream:
            if absent and before not in self.needed and _overlap(self.stages[before].outputs, absent):
                self.missed.add(before)
                self._need(before)

    def _chain(self, first: str) -> tuple[str, ...]:
        """A stage and those that can follow it in one DVC process, which skips what is unchanged.

        They are those of the same run or, where stages run one at a time, all.
        """
        chain = [first]
        _, _, run = first.partition("@")
        unfinished = self.unfinished.union(*(self._behind[name] for name in self.unfinished))
        for name, stage in self.stages.items():
            follows = self.serial or (run and name.endswith(f"@{run}"))
            concerned = name in self.unfinished or any(name in self._behind[one] for one in chain)
            if follows and concerned and name != first and self._alike(name, first):
                made = [path for one in chain for path in self.stages[one].outputs]
                there = all(os.path.exists(path) or _overlap([path], made) for path in stage.dependencies)
                if there and stage.upstream & unfinished <= set(chain):
                    chain.append(name)
        return tuple(chain)

    def _alike(self, one: str, other: str) -> bool:
        """Whether both run with --allow-missing, or neither."""
        return (one in self.missed) == (other in self.missed)

    def _read_lock(self) -> dict[str, dict[str, str]]:
        """The hash of each output of each stage, by its path as dvc.yaml has it."""
        path = self.folder / "dvc.lock"
        if not path.is_file():
            return {}
        stages = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["stages"]
        return {name: {out["path"]: out["md5"] for out in stage.get("outs", [])} for name, stage in stages.items()}


def _overlap(these: Iterable[str], those: Iterable[str]) -> bool:
    """Whether one path is another one, or in it."""
    return any(a == b or a.startswith(f"{b}{os.sep}") or b.startswith(f"{a}{os.sep}") for a in these for b in those)
