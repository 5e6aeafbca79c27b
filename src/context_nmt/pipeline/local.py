"""Run stages on this machine, those that do not depend on each other side by side."""

import os
from pathlib import Path

from context_nmt.corpus.workers import usable_cores
from context_nmt.files import UserError
from context_nmt.pipeline.children import Children
from context_nmt.pipeline.scheduler import Scheduler
from context_nmt.settings.launch import CLUSTER, LaunchSettings, launch_key


class Machine:
    """The cores and GPUs of this machine, of which each chain of stages gets its own."""

    def __init__(self, launch: LaunchSettings, jobs: int | None, runs: int) -> None:
        self.launch, self.gpus, self.cores = launch, usable_gpus(), usable_cores()
        self.jobs = min(runs, jobs or len(self.gpus) or self.cores)
        self.taken: dict[str, list[str]] = {}  # the first stage of a chain -> its GPUs
        for key in ("train", "decode", "probe", "text"):
            if (getattr(launch, key).gpus or 0) > len(self.gpus):
                raise UserError(
                    f"launch.{key}.gpus is {getattr(launch, key).gpus}, but this machine has {len(self.gpus)};"
                    f" {CLUSTER} in the project's folder can have another number for this machine"
                )

    def fits(self, chain: tuple[str, ...]) -> bool:
        """Return whether there is room for a chain beside those that run."""
        free_gpus = len(self.gpus) - sum(map(len, self.taken.values()))
        free_cores = self.cores - sum(map(self._cores, self.taken))
        has_room = self._cores(chain[0]) <= free_cores and self._gpus(chain) <= free_gpus
        return not self.taken or (len(self.taken) < self.jobs and has_room)

    def take(self, chain: tuple[str, ...]) -> dict[str, str]:
        """Return the environment of a chain that starts: OMP_NUM_THREADS, unless it is set, and its GPUs."""
        busy = {gpu for gpus in self.taken.values() for gpu in gpus}
        gpus = [gpu for gpu in self.gpus if gpu not in busy][: self._gpus(chain)]
        self.taken[chain[0]] = gpus
        threads = max(1, self._cores(chain[0]) // max(1, len(gpus)))
        environment = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(threads))}
        return environment | ({"CUDA_VISIBLE_DEVICES": ",".join(gpus)} if self.gpus else {})

    def _cores(self, stage: str) -> int:
        """Return how many cores a stage counts for; its share is 0 if `jobs` asks for more stages than cores."""
        return min(self.cores, self.launch.of(stage).cores or self.cores // self.jobs)

    def _gpus(self, chain: tuple[str, ...]) -> int:
        default = min(1, len(self.gpus))
        wanted = ((self.launch.of(name).gpus, launch_key(name)) for name in chain)
        return max((0 if key == "text" else default) if gpus is None else gpus for gpus, key in wanted)


def usable_gpus() -> list[str]:
    """Return the names of the GPUs of NVIDIA, of those in CUDA_VISIBLE_DEVICES if it is set."""
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [name for name in visible.split(",") if name.strip() not in ("", "-1")]
    return [str(number) for number, _ in enumerate(Path("/dev").glob("nvidia[0-9]*"))]  # CUDA counts from 0


def run_here(scheduler: Scheduler, machine: Machine, children: Children, folder: Path) -> None:
    """Run all stages that must run; raise UserError at the end if any has failed."""
    failures = []
    while scheduler.unfinished:
        for chain in scheduler.next_chains(machine.fits):
            option = [] if chain[0] in scheduler.missing else ["--allow-missing"]
            children.start(chain[0], folder, "repro", "--single-item", *option, *chain, **machine.take(chain))
        children.display.count(scheduler.ran, scheduler.needed.union(*scheduler.running.values()))
        ended = children.wait()
        failures += [ended.failure] if ended.failure else []
        scheduler.finish(ended.name, ended.failed_stage)
        del machine.taken[ended.name]
    if failures:
        left = len(scheduler.needed & scheduler.given_up)
        also = f"; {left} stages that depend on it were not run" if left else ""
        raise UserError(f"{'; '.join(failures)}{also}; the output is above")
