"""Divide the stages that must run into jobs, and run those on this machine, side by side.

DVC decides which stages have changed, and in each job again whether its stages have. With `allow_missing`, a missing
file is made again only where a stage that runs needs it: a clone without the cache trains only a new variant.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from context_nmt.corpus.workers import usable_cores
from context_nmt.files import UserError
from context_nmt.pipeline.processes import StageProcesses
from context_nmt.settings.launch import CLUSTER, LaunchSettings, launch_key
from context_nmt.settings.parameters import ExperimentSettings, with_lineage

if TYPE_CHECKING:  # loading it takes most of a second
    from context_nmt.pipeline.dvc import Stage


@dataclass
class Job:
    """Stages of one process, in an order in which they can run."""

    stages: dict[str, list[str]]  # a stage -> those of all jobs that it depends on
    above: set[str]  # the names of all jobs that it must wait for
    after: set[str]  # the names of the jobs that its first stage depends on directly
    remake: bool  # missing outputs are made again, even if nothing else has changed
    is_certain: bool = False  # one of its stages must run, whatever the jobs above come to

    @property
    def name(self) -> str:
        """The name of its first stage."""
        return next(iter(self.stages))

    @property
    def options(self) -> list[str]:
        """The options of `dvc repro`."""
        return [] if self.remake else ["--allow-missing"]


def stages_of(
    variants: Collection[str], stages: "dict[str, Stage]", settings: ExperimentSettings
) -> "dict[str, Stage]":
    """Return the stages of some variants, and of those that they start from, learn from or are compared with.

    Stages of all variants, such as the report, stay and run on what there is.
    """
    needed = with_lineage(settings, variants)
    taught = needed if needed & set(settings.train.distilled) else set[str]()
    names = set[str]()
    for name in stages:
        stage, _, item = name.partition("@")
        own = _items(stage, taught if stage == "distill" else needed, settings)
        if item in own or item not in _items(stage, settings.variants, settings):
            names.add(name)
    return {name: replace(stages[name], upstream=stages[name].upstream & names) for name in stages if name in names}


def _items(stage: str, variants: Iterable[str], settings: ExperimentSettings) -> set[str]:
    """Return what a matrix stage has after @ for some variants: VARIANT, VARIANT-SEED or VARIANT-SEED-TEACHER."""
    if stage in ("distill", "significance"):
        return set(variants)
    runs = {f"{name}-{seed}" for name in variants for seed in settings.seeds}
    return runs | {f"{run}-{teacher}" for run in runs for teacher in settings.train.teachers}


def jobs_of(
    stages: "dict[str, Stage]", launch: LaunchSettings, *, allow_missing: bool, at_once: bool, serial: bool = False
) -> list[Job]:
    """Divide the stages that must run, or must if one upstream comes out differently, into jobs.

    A stage joins a job of its run that already waits for all that it depends on; without a run it does so if all jobs
    are submitted `at_once`, and if they are `serial`, it joins any. So `average` hashes checkpoints where they were
    made, and removes the training's state before another training begins.
    If a stage that may have to run lacks files that others make, they make them if all jobs must be submitted
    `at_once`; otherwise it is left out, for a second look when the others have run.
    """
    remade = {stage.name for stage in stages.values() if _must_be_made(stage, stages, allow_missing)}
    certain = remade | {name for name, stage in stages.items() if stage.changed}
    while True:
        possible = set[str]()
        for name, stage in stages.items():
            if name in certain or stage.upstream & possible:
                possible.add(name)
        lacking = {maker for name in (possible if at_once else certain) for maker in _makers(stages[name], stages)}
        if lacking <= certain:
            break
        remade |= lacking - certain
        certain |= lacking
    left_out = set[str]()
    for name in filter(possible.__contains__, stages):
        if stages[name].upstream & left_out or (name not in certain and not _makers(stages[name], stages) <= certain):
            left_out.add(name)
    jobs, job_of = list[Job](), dict[str, Job]()
    for name in filter((possible - left_out).__contains__, stages):
        upstream = sorted(stages[name].upstream & possible)
        direct = {job_of[other].name for other in upstream}
        above = direct.union(*(job_of[other].above for other in upstream))
        needs, run, remake = launch.of(name).needs, name.partition("@")[2], name in remade
        for job in jobs:
            same_needs = launch_key(name) == "text" or needs == launch.of(job.name).needs
            same_run = serial or (run == job.name.partition("@")[2] and (run or at_once))
            if same_run and same_needs and remake == job.remake and above <= {job.name, *job.above}:
                break
        else:
            job = Job({}, above, direct, remake)
            jobs.append(job)
        job.stages[name] = upstream
        job.is_certain |= name in certain
        job_of[name] = job
    return jobs


def _must_be_made(stage: "Stage", stages: "dict[str, Stage]", allow_missing: bool) -> bool:
    """Return whether DVC must not take a stage as up to date, as it is new or a file of its own is missing.

    A changed stage can turn out unchanged once the stages upstream have run.
    """
    made = [path for name in stage.upstream for path in stages[name].outputs]
    own_paths = [*stage.outputs, *(path for path in stage.dependencies if not _overlap([path], made))]
    is_missing = not all(map(os.path.exists, own_paths))
    return stage.is_new or (is_missing and (stage.changed or not allow_missing))


def _makers(stage: "Stage", stages: "dict[str, Stage]") -> set[str]:
    """Return the stages that make what a stage lacks."""
    missing = [path for path in stage.dependencies if not os.path.exists(path)]
    return {name for name in stage.upstream if _overlap(stages[name].outputs, missing)}


def _overlap(these: Iterable[str], those: Iterable[str]) -> bool:
    """Return whether any path of one group equals, contains or lies inside a path of the other."""
    return any(a == b or a.startswith(f"{b}{os.sep}") or b.startswith(f"{a}{os.sep}") for a in these for b in those)


class State(NamedTuple):
    """What has become of a stage: waiting, queued, running, done, failed, cancelled, lost or not run."""

    word: str
    detail: str = ""

    @property
    def ended(self) -> bool:
        """Return whether it is not waiting, queued or running."""
        return self.word not in ("waiting", "queued", "running")


DONE = State("done")
BAD = ("failed", "cancelled", "lost")


class Machine:
    """The cores and GPUs of this machine, of which each job gets its own."""

    def __init__(self, launch: LaunchSettings, jobs: int | None, runs: int) -> None:
        self.launch, self.gpus, self.cores = launch, usable_gpus(), usable_cores()
        self.jobs = min(runs, jobs or len(self.gpus) or self.cores)
        self.taken: dict[str, tuple[int, list[str]]] = {}  # the name of a job -> its cores and GPUs
        for key in ("train", "decode", "probe", "text"):
            if (getattr(launch, key).gpus or 0) > len(self.gpus):
                raise UserError(
                    f"launch.{key}.gpus is {getattr(launch, key).gpus}, but this machine has {len(self.gpus)};"
                    f" {CLUSTER} in the project's folder can have another number for this machine"
                )

    def take(self, name: str, stages: Collection[str]) -> dict[str, str] | None:
        """Return the environment of a job that starts: threads and GPUs; None if there is no room beside the others."""
        # A job's share of the cores is 0 if there are more jobs than cores.
        cores = min(self.cores, self.launch.of(name).cores or self.cores // self.jobs)
        count = 0
        for stage in stages:
            default = 0 if launch_key(stage) == "text" else min(1, len(self.gpus))
            given = self.launch.of(stage).gpus
            count = max(count, default if given is None else given)
        busy = {gpu for _, gpus in self.taken.values() for gpu in gpus}
        free_gpus = [gpu for gpu in self.gpus if gpu not in busy]
        free_cores = self.cores - sum(taken for taken, _ in self.taken.values())
        if self.taken and (len(self.taken) >= self.jobs or cores > free_cores or count > len(free_gpus)):
            return None
        self.taken[name] = cores, free_gpus[:count]
        environment = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(max(1, cores // max(1, count))))}
        return environment | ({"CUDA_VISIBLE_DEVICES": ",".join(free_gpus[:count])} if self.gpus else {})


def usable_gpus() -> list[str]:
    """Return the names of the GPUs of NVIDIA, of those in CUDA_VISIBLE_DEVICES if it is set."""
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [name for name in visible.split(",") if name.strip() not in ("", "-1")]
    return [str(number) for number, _ in enumerate(Path("/dev").glob("nvidia[0-9]*"))]  # CUDA counts from 0


def run_jobs(
    jobs: Sequence[Job],
    folder: Path,
    processes: StageProcesses,
    states: dict[str, State],
    *,
    machine: Machine | None = None,
    changed: Callable[[Collection[str]], Collection[str]] = lambda stages: stages,
) -> None:
    """Run all stages but those that depend on one that has failed, and note in `states` how each has ended.

    `changed` says which stages must run, of some that were not certain to; those upstream of them are done.
    """
    by_name = {job.name: job for job in jobs}
    sorter = TopologicalSorter({job.name: job.after & by_name.keys() for job in jobs})
    sorter.prepare()
    ready, looked_at, running = list[str](), set[str](), dict[str, list[str]]()
    most_below = sorted(
        by_name, key=lambda name: -sum(len(job.stages) for job in jobs if name in {job.name, *job.above})
    )
    processes.display.count([], [stage for job in jobs for stage in job.stages])
    while sorter.is_active():
        ready += sorter.get_ready()
        left = {name: _left(by_name[name], states) for name in sorted(ready, key=most_below.index)}
        if over := [name for name in ready if not left[name]]:
            sorter.done(*over)
            ready = [name for name in ready if left[name]]
            continue
        if unsure := [name for name in ready if not by_name[name].is_certain and name not in looked_at]:
            looked_at |= {*unsure}
            must_run = {*changed([stage for name in unsure for stage in left[name]])}
            for name in unsure:
                if not must_run.intersection(left[name]):
                    states |= dict.fromkeys(left[name], DONE)
                    processes.display.count(left[name])
            continue
        for name, stages in left.items():
            environment = machine.take(name, by_name[name].stages) if machine else {}
            if environment is not None:
                processes.start(name, folder, "repro", "--single-item", *by_name[name].options, *stages, **environment)
                running[name] = stages
                ready.remove(name)
        name, failed_stage, reason = processes.wait()
        stages = running.pop(name)
        if machine:
            del machine.taken[name]
        at = stages.index(failed_stage) if failed_stage in stages else 0 if failed_stage else len(stages)
        states |= dict.fromkeys(stages[:at], DONE)
        processes.display.count(stages[:at])
        if failed_stage:
            states[stages[at]] = State("failed", reason)
        ready.append(name)  # for what is left of it


def _left(job: Job, states: dict[str, State]) -> list[str]:
    """Return the stages of a job that are left; note those that depend on one that is not done."""
    left = list[str]()
    for stage, upstream in job.stages.items():
        if stage not in states:
            if all(states.get(name) == DONE for name in upstream if name not in left):
                left.append(stage)
            else:
                states[stage] = State("not run")
    return left


def check_states(states: Mapping[str, State], output: str = "above") -> None:
    """Raise UserError if any stage has failed, and say where its output is."""
    if failures := [f"{stage}: {state.detail or state.word}" for stage, state in states.items() if state.word in BAD]:
        left = sum(state.word == "not run" for state in states.values())
        also = f"; {left} stages that depend on it were not run" if left else ""
        raise UserError(f"{'; '.join(failures)}{also}; the output is {output}")
