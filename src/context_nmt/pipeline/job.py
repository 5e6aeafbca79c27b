"""A job of Slurm: `python -m context_nmt.pipeline.job [--allow-missing]` in an experiment's folder."""

import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from context_nmt.command_line import Unfinished, one_line_errors
from context_nmt.files import UserError
from context_nmt.pipeline.children import Children
from context_nmt.pipeline.slurm import SHOWN, Job, Slurm, State
from context_nmt.settings.folder import Experiment
from context_nmt.settings.launch import launch_key


class OutOfTime(Unfinished):
    """The job's time limit is near, and it cannot go back into the queue."""


def run_job(options: list[str]) -> None:
    """Run a job's stages with DVC but for those that depend on one that has failed, and note how each ended.

    If the time limit is near, put a training back into the queue. Raise UserError if a stage has failed.
    """
    slurm, number = Slurm(Experiment(Path())), os.environ["SLURM_JOB_ID"]
    job = _noted(slurm, number)
    signal.signal(signal.SIGUSR1, lambda *_: _out_of_time(slurm, job, [job.name]))
    slurm.forget(number)  # of a start before this one
    states = dict[str, State]()
    try:
        with _alone(slurm, [*job.stages]) as lock, Children(_environment(), inherited=[lock]) as children:
            signal.signal(signal.SIGUSR1, lambda *_: _out_of_time(slurm, job, children.display.ran))
            _run_stages(job, options, states, _earlier(slurm, job), children)
    except OutOfTime as reason:
        states |= dict.fromkeys(job.stages.keys() - states.keys(), State("failed", str(reason)))
    slurm.end(number, states)
    if failures := [f"{stage}: {state.detail}" for stage, state in states.items() if state.word == "failed"]:
        raise UserError("; ".join(failures))


def _noted(slurm: Slurm, number: str) -> Job:
    """Return a job by its number; on some file systems, the note of it appears late."""
    for _ in range(SHOWN):
        if job := next((job for job in slurm.jobs if job.number == number), None):
            return job
        time.sleep(1)
    raise UserError(f"{slurm.note} does not name job {number}; context-nmt repro submits it again")


def _run_stages(
    job: Job, options: list[str], states: dict[str, State], earlier: dict[str, State], children: Children
) -> None:
    while left := _left(job, states, earlier):
        children.start(left[0], Path(), "repro", "--single-item", *options, *left)
        try:
            ended = children.wait()
        except OutOfTime:
            at = _index(left, children.display.latest)
            states |= dict.fromkeys(left[:at], State("done")) | dict.fromkeys(left[at + 1 :], State("not run"))
            raise
        at = _index(left, ended.failed_stage) if ended.failure else len(left)
        states |= dict.fromkeys(left[:at], State("done"))
        if ended.failure:
            states[left[at]] = State("failed", ended.failure.removeprefix(f"{ended.failed_stage}: "))


def _index(stages: list[str], stage: str | None) -> int:
    return stages.index(stage) if stage in stages else 0


def _out_of_time(slurm: Slurm, job: Job, ran: Iterable[str]) -> None:
    """Put the job back into the queue if one of the stages that ran in this start of it is a training.

    A training resumes, and what follows it then has the whole time. Raise OutOfTime for other stages.
    """
    if "train" not in map(launch_key, ran):
        raise OutOfTime(f"over its time limit, launch.{launch_key(job.name)}.hours")
    print("the time limit is near; what is left goes on when this job is started again", flush=True)
    try:
        slurm.requeue(job.number)  # a SIGTERM from here would not do: srun would kill its tasks
    except UserError as error:
        raise OutOfTime(str(error)) from None


def _environment() -> dict[str, str]:
    cores, gpus = (int(os.environ.get(f"SLURM_{name}") or 1) for name in ("CPUS_ON_NODE", "GPUS_ON_NODE"))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {"OMP_NUM_THREADS": str(max(1, cores // gpus))} | os.environ | {"PATH": path}
    if "SLURM_CPUS_PER_TASK" in environment:  # which srun does not take from the job
        environment["SRUN_CPUS_PER_TASK"] = environment["SLURM_CPUS_PER_TASK"]
    return environment


def _left(job: Job, states: dict[str, State], earlier: dict[str, State]) -> list[str]:
    """Return the stages of a job that are left; note those that depend on one that is not done."""
    left = []
    for stage, upstream in job.stages.items():
        if stage in states:
            continue
        known = [(states | earlier).get(name) for name in upstream if name not in left]
        if all(state is not None and state.word == "done" for state in known):
            left.append(stage)
        else:
            states[stage] = State("not run")
    return left


def _earlier(slurm: Slurm, job: Job) -> dict[str, State]:
    """Return how the stages of the jobs before have ended; on some file systems, that appears late."""
    needed = {name for upstream in job.stages.values() for name in upstream} - job.stages.keys()
    known = dict[str, State]()
    for _ in range(SHOWN):
        known = {stage: state for other in slurm.jobs for stage, state in (slurm.ended(other) or {}).items()}
        if needed <= known.keys():
            break
        time.sleep(1)
    return known


@contextmanager
def _alone(slurm: Slurm, stages: list[str]) -> Iterator[int]:
    """Wait until no other process runs these stages, and yield the open file that keeps others from them.

    If a node is lost to Slurm but lives, the job is started again elsewhere while its processes still run there.
    """
    trained = [slurm.experiment.training_lock(stage.partition("@")[2]) for stage in stages if stage.startswith("train")]
    with (slurm.folder / f"{stages[0]}.lock").open("a") as file:
        _lock(file.fileno())
        for path in trained:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as training:  # which DVC may have left running
                _lock(training.fileno())
        yield file.fileno()


def _lock(file: int) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("waiting: an earlier start of this job still runs", flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)


if __name__ == "__main__":
    with one_line_errors():
        run_job(sys.argv[1:])
