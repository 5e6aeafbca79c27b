"""Choose the stages that must run, and run them side by side on this machine.

DVC decides which stages have changed, and decides again when it runs a stage. With `allow_missing`, a missing file is
rebuilt only if a stage that runs needs it: a clone without the cache trains only a new variant.
"""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from context_nmt.corpus.workers import usable_cores
from context_nmt.files import UserError
from context_nmt.pipeline.processes import StageProcesses
from context_nmt.settings.launch import CLUSTER_FILE, LaunchSettings, launch_key
from context_nmt.settings.parameters import ExperimentSettings, with_lineage

if TYPE_CHECKING:  # importing it takes most of a second
    from context_nmt.pipeline.dvc import Stage


def stages_of(systems: Collection[str], stages: "dict[str, Stage]", settings: ExperimentSettings) -> "dict[str, Stage]":
    """Return the stages of some systems, and of the systems that they start from, learn from or are compared with.

    Stages that see all variants, such as the report, are kept and use the results that exist.
    """
    needed = with_lineage(settings, systems)
    teachers = needed if needed & set(settings.train.distilled) else set[str]()
    names = set[str]()
    for name in stages:
        stage, _, item = name.partition("@")
        needed_items = _items(stage, teachers if stage == "distill" else needed, settings)
        if item in needed_items or item not in _items(stage, settings.systems, settings):
            names.add(name)
    return {name: replace(stages[name], upstream=stages[name].upstream & names) for name in stages if name in names}


def _items(stage: str, systems: Iterable[str], settings: ExperimentSettings) -> set[str]:
    """Return the matrix items of a stage, its name after @: SYSTEM, SYSTEM-SEED or SYSTEM-SEED-TEACHER."""
    if stage.startswith("significance"):
        return set(systems)
    runs = {f"{name}-{seed}" for name in systems for seed in settings.seeds}
    return runs | {f"{run}-{teacher}" for run in runs for teacher in settings.train.teachers}


def stages_to_run(stages: "dict[str, Stage]", *, allow_missing: bool, at_once: bool) -> dict[str, bool]:
    """Return the stages that must run, or may have to if a stage upstream gives other outputs.

    The value of a stage is whether it rebuilds missing files. If a stage that may have to run lacks input files, the
    stages that write them are included if all stages must be submitted `at_once`; otherwise the stage is left out, to
    be chosen by a second call when the others have run.
    """
    rebuilt = {stage.name for stage in stages.values() if _must_be_rebuilt(stage, stages, allow_missing)}
    certain = rebuilt | {name for name, stage in stages.items() if stage.changed}
    while True:
        possible = set[str]()
        for name, stage in stages.items():
            if name in certain or stage.upstream & possible:
                possible.add(name)
        needing = possible if at_once else certain
        producers = {producer for name in needing for producer in _producers_of_missing(stages[name], stages)}
        if producers <= certain:
            break
        rebuilt |= producers - certain
        certain |= producers
    chosen = dict[str, bool]()
    for name in filter(possible.__contains__, stages):
        can_run = name in certain or _producers_of_missing(stages[name], stages) <= certain
        if can_run and stages[name].upstream & possible <= chosen.keys():
            chosen[name] = name in rebuilt
    return chosen


def _must_be_rebuilt(stage: "Stage", stages: "dict[str, Stage]", allow_missing: bool) -> bool:
    """Return whether DVC must run a stage because it is new, or an output or an input that no stage writes is missing.

    A changed stage need not run if the stages upstream write the same outputs as before.
    """
    upstream_outputs = [path for name in stage.upstream for path in stages[name].outputs]
    inputs = [path for path in stage.dependencies if not _overlap([path], upstream_outputs)]
    is_missing = not all(map(os.path.exists, [*stage.outputs, *inputs]))
    return stage.is_new or (is_missing and (stage.changed or not allow_missing))


def _producers_of_missing(stage: "Stage", stages: "dict[str, Stage]") -> set[str]:
    """Return the stages that write the missing inputs of a stage."""
    missing = [path for path in stage.dependencies if not os.path.exists(path)]
    return {name for name in stage.upstream if _overlap(stages[name].outputs, missing)}


def _overlap(paths: Iterable[str], other_paths: Iterable[str]) -> bool:
    """Return whether a path of one group equals, contains or lies inside a path of the other."""
    return any(
        a == b or a.startswith(f"{b}{os.sep}") or b.startswith(f"{a}{os.sep}") for a in paths for b in other_paths
    )


class StageState(NamedTuple):
    """The state of a stage: waiting, queued, running, done, failed, cancelled, lost or not run."""

    word: str
    detail: str = ""

    @property
    def has_ended(self) -> bool:
        """Return whether the stage is neither waiting, queued nor running."""
        return self.word not in ("waiting", "queued", "running")


DONE = StageState("done")
FAILED_STATES = ("failed", "cancelled", "lost")


class Machine:
    """The cores and GPUs of this machine, and the stages that use them."""

    def __init__(self, launch: LaunchSettings, jobs: int | None, runs: int) -> None:
        self.launch, self.gpus, self.cores = launch, usable_gpus(), usable_cores()
        self.jobs = min(runs, jobs or len(self.gpus) or self.cores)
        self.allocated: dict[str, tuple[int, list[str]]] = {}  # a stage -> its number of cores and its GPUs
        for key in ("train", "decode", "probe", "text"):
            if (getattr(launch, key).gpus or 0) > len(self.gpus):
                raise UserError(
                    f"launch.{key}.gpus is {getattr(launch, key).gpus}, but this machine has {len(self.gpus)};"
                    f" {CLUSTER_FILE} in the project's folder can have another number for this machine"
                )

    def allocate(self, name: str) -> dict[str, str] | None:
        """Return the environment variables of a stage, with its threads and GPUs; None if it has to wait for others."""
        settings, default = self.launch.for_stage(name), 0 if launch_key(name) == "text" else min(1, len(self.gpus))
        # The share of the cores is 0 if there are more stages than cores.
        cores = min(self.cores, settings.cores or self.cores // self.jobs)
        count = default if settings.gpus is None else settings.gpus
        busy_gpus = {gpu for _, gpus in self.allocated.values() for gpu in gpus}
        free_gpus = [gpu for gpu in self.gpus if gpu not in busy_gpus]
        free_cores = self.cores - sum(busy_cores for busy_cores, _ in self.allocated.values())
        if self.allocated and (len(self.allocated) >= self.jobs or cores > free_cores or count > len(free_gpus)):
            return None
        self.allocated[name] = cores, free_gpus[:count]
        environment = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(max(1, cores // max(1, count))))}
        return environment | ({"CUDA_VISIBLE_DEVICES": ",".join(free_gpus[:count])} if self.gpus else {})


def usable_gpus() -> list[str]:
    """Return the names of NVIDIA's GPUs, or of the ones in CUDA_VISIBLE_DEVICES if it is set."""
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [name for name in visible.split(",") if name.strip() not in ("", "-1")]
    return [str(number) for number, _ in enumerate(Path("/dev").glob("nvidia[0-9]*"))]  # CUDA counts from 0


def run_stages(
    chosen: dict[str, bool], stages: "dict[str, Stage]", folder: Path, processes: StageProcesses, machine: Machine
) -> dict[str, StageState]:
    """Run the chosen stages except those that depend on a failed one, and return the final state of each.

    Stages of one run that need the same resources share a process: it takes a second to start, and `average` then
    removes the training's state before another training begins.
    """
    upstream = {name: stages[name].upstream & chosen.keys() for name in chosen}
    ancestors = dict[str, set[str]]()
    for name in chosen:
        ancestors[name] = {name}.union(*(ancestors[parent] for parent in upstream[name]))
    descendants = Counter(ancestor for names in ancestors.values() for ancestor in names)
    waiting = sorted(chosen, key=lambda name: -descendants[name])
    states, running = dict[str, StageState](), dict[str, list[str]]()
    processes.display.count([], chosen)
    while waiting or running:
        for name in [*waiting]:
            if any(states.get(parent, DONE) != DONE for parent in upstream[name]):
                states[name] = StageState("not run")
                waiting.remove(name)
        for name in [*waiting]:
            if name not in waiting or not upstream[name] <= states.keys():
                continue  # it shares a process that has just started, or has to wait
            if (environment := machine.allocate(name)) is not None:
                running[name] = group = list[str]()
                for candidate in waiting:
                    if _can_share(candidate, name, chosen) and upstream[candidate] <= {*states, *group}:
                        group.append(candidate)
                waiting = [stage for stage in waiting if stage not in group]
                options = [] if chosen[name] else ["--allow-missing"]
                processes.start(name, folder, "repro", "--single-item", *options, *group, **environment)
        if running:
            name, failed_stage, reason = processes.wait()
            group = running.pop(name)
            del machine.allocated[name]
            done_count = group.index(failed_stage) if failed_stage in group else 0 if failed_stage else len(group)
            states |= dict.fromkeys(group[:done_count], DONE)
            processes.display.count(group[:done_count])
            if failed_stage:
                states[group[done_count]] = StageState("failed", reason)
                waiting = group[done_count + 1 :] + waiting
    return states


def _can_share(candidate: str, name: str, chosen: Mapping[str, bool]) -> bool:
    """Return whether a stage can run in the process that starts with the stage `name`, after it."""
    run, keys = name.partition("@")[2], (launch_key(name), "text")
    # Students wait for a distillation, so nothing else follows it in its process.
    is_same_run = run != "" and candidate.partition("@")[2] == run and not name.startswith("distill@")
    return candidate == name or (is_same_run and launch_key(candidate) in keys and chosen[candidate] == chosen[name])


def check_states(states: Mapping[str, StageState], output: str = "above") -> None:
    """Raise UserError with the failed stages, their reasons and where their output is, if there are any."""
    if failures := [
        f"{stage}: {state.detail or state.word}" for stage, state in states.items() if state.word in FAILED_STATES
    ]:
        count = sum(state.word == "not run" for state in states.values())
        consequence = f"; {count} stages that depend on it were not run" if count else ""
        raise UserError(f"{'; '.join(failures)}{consequence}; the output is {output}")
