"""Runs what is not up to date of an experiment, independent stages side by side; `dvc repro` runs one at a time.

DVC decides what has changed, once, after the code and plan stages have run. This module then starts
`dvc repro --single-item` for that, and for what depends on outputs that really came out differently. What the cache
lacks is made again only where a stage that runs needs it: a clone without the cache trains a new variant alone.
"""

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

import yaml

from context_nmt.files import UserError
from context_nmt.parameters import read_parameters

PATIENCE = 20  # seconds that interrupted stages have to tidy up


def reproduce(folder: Path, jobs: int | None) -> None:
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
            children.run("code", code, "repro", "--quiet")
            children.run("plan", folder, "repro", "--quiet", "plan")
        scheduler = Scheduler(read_stages(folder), folder)
        while scheduler.unfinished:
            for chain in scheduler.next_chains(jobs - len(children.running)):
                option = [] if chain[0] in scheduler.missed else ["--allow-missing"]
                children.start(chain_name(chain), folder, "repro", "--quiet", "--single-item", *option, *chain)
            scheduler.finish(children.wait())
        if scheduler.ran:
            children.run("dvc repro", folder, "repro", "--quiet", "--allow-missing")  # DVC has the last word
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
        with Repo(str(folder.resolve())) as repo, repo.lock:
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

    def __init__(self, stages: dict[str, Stage], folder: Path) -> None:
        self.stages, self.folder = stages, folder.resolve()
        self.needed: set[str] = set()
        self.missed: set[str] = set()  # unchanged, but what they make is not there
        self.running: dict[str, tuple[str, ...]] = {}  # name of a chain -> its stages
        self.ran: list[str] = []
        self._behind: dict[str, set[str]] = {name: set() for name in stages}
        for name in reversed(stages):
            for one in stages[name].upstream:
                self._behind[one] |= {name, *self._behind[name]}
        self._outputs = self._read_lock()
        for name, stage in stages.items():
            if name not in self._outputs and not stage.changed:  # DVC takes a new one without dependencies for missing
                self.missed.add(name)
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
            self.running[chain_name(chain)] = chain
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
        """A stage and those of the same run that can follow it in one DVC process, which skips what is unchanged."""
        chain = [first]
        _, _, run = first.partition("@")
        if run and first not in self.missed:
            unfinished = self.unfinished.union(*(self._behind[name] for name in self.unfinished))
            for name in self.stages:
                stage = self.stages[name]
                if name in self._behind[first] and name.endswith(f"@{run}") and name not in self.missed:
                    made = [path for one in chain for path in self.stages[one].outputs]
                    there = all(os.path.exists(path) or _overlap([path], made) for path in stage.dependencies)
                    if there and stage.upstream & unfinished <= set(chain):
                        chain.append(name)
        return tuple(chain)

    def _read_lock(self) -> dict[str, dict[str, str]]:
        """The hash of each output of each stage, by its path as dvc.yaml has it."""
        path = self.folder / "dvc.lock"
        if not path.is_file():
            return {}
        stages = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["stages"]
        return {name: {out["path"]: out["md5"] for out in stage.get("outs", [])} for name, stage in stages.items()}


def _take_interrupts() -> None:
    """Where this process ignores Ctrl-C, as what a script starts with & does, its children would, too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def chain_name(chain: tuple[str, ...]) -> str:
    """A stage's own name, or that of the run whose stages these are."""
    return chain[0] if len(chain) == 1 else chain[0].partition("@")[2]


def _overlap(these: Iterable[str], those: Iterable[str]) -> bool:
    """Whether one path is another one, or in it."""
    return any(a == b or a.startswith(f"{b}{os.sep}") or b.startswith(f"{a}{os.sep}") for a in these for b in those)


class Children:
    """Processes whose output is passed on, each line behind the stage's name; on leaving, none of them is left."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        self.running: dict[str, subprocess.Popen[str]] = {}
        self._finished: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._began: dict[str, float] = {}
        self._quiet = False

    def __enter__(self) -> "Children":
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it
                signal.signal(number, signal.default_int_handler)  # these end the children, too
        return self

    def __exit__(self, *_: object) -> None:
        self._quiet = True
        deadline = time.monotonic() + PATIENCE
        for process in self.running.values():
            os.killpg(process.pid, signal.SIGINT)
        for process in self.running.values():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                deadline = 0.0
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # also what a stage that died at once has left

    def run(self, name: str, folder: Path, *arguments: str) -> None:
        """Run one DVC command to its end."""
        self.start(name, folder, *arguments)
        self.wait()

    def start(self, name: str, folder: Path, *arguments: str) -> None:
        """Start one DVC command in a folder, in a process group of its own that a signal reaches as a whole."""
        self._say(name, "started")
        self._began[name] = time.monotonic()
        self.running[name] = subprocess.Popen(
            ["dvc", "--wait-for-lock", *arguments],  # noqa: S607 (that of the environment)
            cwd=folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=_take_interrupts,
        )
        threading.Thread(target=self._pass_on, args=(name, self.running[name]), daemon=True).start()

    def wait(self) -> str:
        """Wait until one process has ended, and return its name; raises UserError if it failed."""
        name = self._finished.get()
        status = self.running.pop(name).wait()
        if status:
            raise UserError(f"{name}: failed with exit status {status}; its output is above")
        self._say(name, f"done in {time.monotonic() - self._began[name]:.0f} s")
        return name

    def _pass_on(self, name: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() and not self._quiet:
                self._say(name, line.rstrip())
        self._finished.put(name)

    def _say(self, name: str, text: str) -> None:
        print(f"{name} | {text}", flush=True)
