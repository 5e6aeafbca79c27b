"""Choose the stages that must run, and run them on this machine, side by side.

DVC decides which stages have changed, and again when it runs one. With `allow_missing`, a missing file is made again
only where a stage that runs needs it: a clone without the cache trains only a new variant.
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

if TYPE_CHECKING:  # loading it takes most of a second
    from context_nmt.pipeline.dvc import Stage


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
    if stage == "significance":
        return set(variants)
    runs = {f"{name}-{seed}" for name in variants for seed in settings.seeds}
    return runs | {f"{run}-{teacher}" for run in runs for teacher in settings.train.teachers}


def stages_to_run(stages: "dict[str, Stage]", *, allow_missing: bool, at_once: bool) -> dict[str, bool]:
    """Return the stages that must run, or must if one upstream comes out differently, and which make missing files.

    If a stage that may have to run lacks files that others make, they make them if all stages must be submitted
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
    chosen = dict[str, bool]()
    for name in filter(possible.__contains__, stages):
        can_run = name in certain or _makers(stages[name], stages) <= certain
        if can_run and stages[name].upstream & possible <= chosen.keys():
            chosen[name] = name in remade
    return chosen


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
    """The cores and GPUs of this machine, of which each stage that runs gets its own."""

    def __init__(self, launch: LaunchSettings, jobs: int | None, runs: int) -> None:
        self.launch, self.gpus, self.cores = launch, usable_gpus(), usable_cores()
        self.jobs = min(runs, jobs or len(self.gpus) or self.cores)
        self.taken: dict[str, tuple[int, list[str]]] = {}  # a stage -> its cores and GPUs
        for key in ("train", "decode", "probe", "text"):
            if (getattr(launch, key).gpus or 0) > len(self.gpus):
                raise UserError(
                    f"launch.{key}.gpus is {getattr(launch, key).gpus}, but this machine has {len(self.gpus)};"
                    f" {CLUSTER_FILE} in the project's folder can have another number for this machine"
                )

    def take(self, name: str) -> dict[str, str] | None:
        """Return the environment of a stage that starts, its threads and GPUs; None if there is no room for it now."""
        settings, default = self.launch.for_stage(name), 0 if launch_key(name) == "text" else min(1, len(self.gpus))
        # A stage's share of the cores is 0 if there are more stages than cores.
        cores = min(self.cores, settings.cores or self.cores // self.jobs)
        count = default if settings.gpus is None else settings.gpus
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


def run_stages(
    chosen: dict[str, bool], stages: "dict[str, Stage]", folder: Path, processes: StageProcesses, machine: Machine
) -> dict[str, State]:
    """Run the chosen stages but for those that depend on one that has failed, and return how each has ended.

    Stages of a run that need the same of the machine share a process: it takes a second to start, and `average` removes
    the training's state before another training begins.
    """
    upstream = {name: stages[name].upstream & chosen.keys() for name in chosen}
    above = dict[str, set[str]]()
    for name in chosen:
        above[name] = {name}.union(*(above[other] for other in upstream[name]))
    below = Counter(other for names in above.values() for other in names)
    waiting = sorted(chosen, key=lambda name: -below[name])
    states, running = dict[str, State](), dict[str, list[str]]()
    processes.display.count([], chosen)
    while waiting or running:
        for name in [*waiting]:
            if any(states.get(other, DONE) != DONE for other in upstream[name]):
                states[name] = State("not run")
                waiting.remove(name)
        for name in [*waiting]:
            if name not in waiting or not upstream[name] <= states.keys():
                continue
            if (environment := machine.take(name)) is not None:
                running[name] = group = list[str]()
                for other in waiting:
                    if _may_join(other, name, chosen) and upstream[other] <= {*states, *group}:
                        group.append(other)
                waiting = [other for other in waiting if other not in group]
                options = [] if chosen[name] else ["--allow-missing"]
                processes.start(name, folder, "repro", "--single-item", *options, *group, **environment)
        if running:
            name, failed_stage, reason = processes.wait()
            group = running.pop(name)
            del machine.taken[name]
            at = group.index(failed_stage) if failed_stage in group else 0 if failed_stage else len(group)
            states |= dict.fromkeys(group[:at], DONE)
            processes.display.count(group[:at])
            if failed_stage:
                states[group[at]] = State("failed", reason)
                waiting = group[at + 1 :] + waiting
    return states


def _may_join(other: str, name: str, chosen: Mapping[str, bool]) -> bool:
    """Return whether a stage can run in a process that starts with another one."""
    run, keys = name.partition("@")[2], (launch_key(name), "text")
    same_run = run != "" and other.partition("@")[2] == run
    return other == name or (same_run and launch_key(other) in keys and chosen[other] == chosen[name])


def check_states(states: Mapping[str, State], output: str = "above") -> None:
    """Raise UserError if any stage has failed, and say where its output is."""
    if failures := [f"{stage}: {state.detail or state.word}" for stage, state in states.items() if state.word in BAD]:
        left = sum(state.word == "not run" for state in states.values())
        also = f"; {left} stages that depend on it were not run" if left else ""
        raise UserError(f"{'; '.join(failures)}{also}; the output is {output}")
