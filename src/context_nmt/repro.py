"""Runs what is not up to date of an experiment, independent stages side by side; `dvc repro` runs one at a time.

DVC keeps the graph and decides what has changed; this module only starts `dvc repro --single-item` for each stage that
has changed or is behind one, as soon as all before it are done. (Asking DVC again after each stage what has changed is
slow: it reads the lock once for every stage that is named.)
"""

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from context_nmt.files import UserError
from context_nmt.parameters import read_parameters

PATIENCE = 20  # seconds that interrupted stages have to tidy up

Edges = list[tuple[str, str]]  # (stage, one that depends on it)


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
    pipeline = str(folder / "dvc.yaml")
    if jobs == 1:
        sys.stdout.flush()
        os.execvp("dvc", ["dvc", "repro", pipeline])  # noqa: S606, S607 (on the terminal itself, with progress bars)
    with Children({"OMP_NUM_THREADS": str(max(1, cores // jobs)), **os.environ}) as children:
        if _run_side_by_side(pipeline, jobs, children):
            children.start("dvc repro", ["dvc", "repro", "--quiet", pipeline])  # DVC has the last word
            children.wait()
    print(f"{pipeline}: everything is up to date")


def _run_side_by_side(pipeline: str, jobs: int, children: "Children") -> bool:
    """Run what has changed and what is behind it, where DVC decides anew; returns whether anything had changed."""
    changed = set(json.loads(_output("dvc", "--wait-for-lock", "status", "--json", "--with-deps", pipeline)))
    edges = _edges(pipeline) if changed else []
    left = sorted(changed | _behind(changed, edges), key=lambda stage: (-len(_behind({stage}, edges)), stage))
    while left or children.running:  # first what most others wait for
        ready = without_ancestors(left, {*left, *children.running}, edges)
        for stage in ready[: jobs - len(children.running)]:
            left.remove(stage)
            children.start(stage, ["dvc", "--wait-for-lock", "repro", "--quiet", "--single-item", stage])
        children.wait()
    return bool(changed)


def without_ancestors(stages: list[str], unfinished: set[str], edges: Edges) -> list[str]:
    """Those of the stages that depend on no unfinished one, directly or not."""
    blocked = _behind(unfinished, edges)
    return [stage for stage in stages if stage not in blocked]


def _behind(stages: set[str], edges: Edges) -> set[str]:
    """All that depend on one of the stages, directly or not."""
    behind, found = set[str](), stages
    while found:
        found = {after for before, after in edges if before in found} - behind
        behind |= found
    return behind


def _edges(pipeline: str) -> Edges:
    dot = _output("dvc", "--wait-for-lock", "dag", "--dot", pipeline)
    return re.findall(r'^"([^"]+)" -> "([^"]+)";$', dot, re.MULTILINE)


def _output(*command: str) -> str:
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode:
        raise UserError(f"`{' '.join(command)}` failed with exit status {result.returncode}")
    return result.stdout


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

    def start(self, name: str, command: list[str]) -> None:
        """Start one process, in a group of its own that a signal reaches as a whole."""
        self._say(name, "started")
        self._began[name] = time.monotonic()
        self.running[name] = subprocess.Popen(
            command,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        threading.Thread(target=self._pass_on, args=(name, self.running[name]), daemon=True).start()

    def wait(self) -> None:
        """Wait until one process has ended; raises UserError if it failed."""
        name = self._finished.get()
        status = self.running.pop(name).wait()
        if status:
            raise UserError(f"{name}: failed with exit status {status}; its output is above")
        self._say(name, f"done in {time.monotonic() - self._began[name]:.0f} s")

    def _pass_on(self, name: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() and not self._quiet:
                self._say(name, line.rstrip())
        self._finished.put(name)

    def _say(self, name: str, text: str) -> None:
        print(f"{name.rpartition(':')[2]} | {text}", flush=True)
