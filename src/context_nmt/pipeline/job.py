"""A job of Slurm: `python -m context_nmt.pipeline.job [--allow-missing] STAGE …` in an experiment's folder."""

import fcntl
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from context_nmt.command_line import Unfinished, one_line_errors
from context_nmt.files import UserError
from context_nmt.pipeline.children import Children
from context_nmt.pipeline.slurm import Slurm, State
from context_nmt.settings.folder import Experiment
from context_nmt.settings.launch import launch_key


class OutOfTime(Unfinished):
    """The job's time limit is near."""


def run_job(arguments: list[str]) -> None:
    """Run stages with DVC, and note how they ended; a training whose time is over is put back into the queue."""
    signal.signal(signal.SIGUSR1, _out_of_time)
    stages = [argument for argument in arguments if not argument.startswith("--")]
    slurm, number = Slurm(Experiment(Path())), os.environ["SLURM_JOB_ID"]
    cores, gpus = (int(os.environ.get(f"SLURM_{name}") or 1) for name in ("CPUS_ON_NODE", "GPUS_ON_NODE"))
    environment = {"OMP_NUM_THREADS": str(max(1, cores // gpus))} | os.environ
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    try:
        try:
            with _alone(slurm, stages) as lock, Children(environment, inherited=[lock]) as children:
                children.run(stages[0], Path(), "repro", "--single-item", *arguments)
        except OutOfTime:
            if launch_key(stages[0]) != "train":
                raise UserError(f"over its time limit, launch.{launch_key(stages[0])}.hours") from None
            print("the time limit is near; the training goes on when this job is started again", flush=True)
            slurm.requeue(number)
            signal.pause()  # until Slurm ends this process
    except UserError as error:
        reason = str(error).removesuffix("; its output is above").removeprefix(f"{stages[0]}: ")
        slurm.end(number, State("failed", reason))
        raise
    slurm.end(number, State("done"))


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


def _out_of_time(*_: object) -> NoReturn:
    raise OutOfTime("the time limit is near")


if __name__ == "__main__":
    with one_line_errors():
        run_job(sys.argv[1:])
