"""Run the stages of an experiment as jobs of Slurm, each with stages of a run that need the same of the cluster.

The graph becomes dependencies between jobs, so no process has to stay alive. In each job, which is started as
`python -m context_nmt.pipeline.slurm [--allow-missing]`, DVC decides whether its stages have changed. This calls sbatch
itself: submitit starts pickled Python functions, and asks sacct how jobs ended, which not every cluster has.
"""

import fcntl
import math
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from context_nmt.command_line import Unfinished, noticing, one_line_errors
from context_nmt.files import UserError, read_json, write_json
from context_nmt.pipeline.jobs import DONE, Job, State, check_states, run_jobs
from context_nmt.pipeline.processes import Display, StageProcesses
from context_nmt.settings.launch import LaunchSettings, launch_key
from context_nmt.settings.parameters import Experiment

GRACE = 120  # seconds before the time limit at which a job is told to end
POLL = 5.0  # seconds between two looks at the queue
BUSY = 60  # seconds for which Slurm is asked again if it does not answer
SHOWN = 75  # seconds after which a file that one node has written is there for all; NFS takes up to 60
LOST = State("lost", "it left the queue without reporting how it ended; its log may say more")


class Slurm:
    """The jobs of one experiment, noted in runs/scratch/jobs."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment, self.folder = experiment, experiment.scratch("jobs")
        self.note = self.folder / "jobs.json"

    @property
    def jobs(self) -> dict[str, dict[str, list[str]]]:
        """The stages of each job that was submitted last, by its number, with those that each depends on."""
        noted = read_json(self.note) if self.note.is_file() else []
        return {number: dict(stages) for number, stages in noted}

    def log(self, stages: Iterable[str]) -> Path:
        """Return the file that the output of a job with these stages is appended to."""
        return self.folder / f"{next(iter(stages))}.log"

    def end(self, number: str, states: Mapping[str, State]) -> None:
        """Note how the stages of a job have ended."""
        write_json(self.folder / f"{number}.end", states)

    def ended(self, number: str) -> dict[str, State] | None:
        """Return how the stages of a job have ended, or None if it has not reported that."""
        path = self.folder / f"{number}.end"
        return {stage: State(*state) for stage, state in read_json(path).items()} if path.is_file() else None

    def submit(self, jobs: Sequence[Job], launch: LaunchSettings) -> None:
        """Submit jobs; nothing starts before all are submitted."""
        self.folder.mkdir(parents=True, exist_ok=True)
        numbers = dict[str, str]()  # of jobs, by their names
        try:
            with noticing(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:  # else a number could be lost
                write_json(self.note, [])
                for job in jobs:
                    before = sorted((numbers[name] for name in job.after), key=int)
                    numbers[job.name] = number = self._sbatch(job, before, launch)
                    write_json(self.note, [(numbers[job.name], [*job.stages.items()]) for job in jobs[: len(numbers)]])
                    after = f" (after {', '.join(before)})" if before else ""
                    print(f"{number} {', '.join(job.stages)}{after}", flush=True)
                    if signals:
                        raise KeyboardInterrupt
            for path in (*self.folder.glob("*.log"), *self.folder.glob("*.end")):
                path.unlink()  # of jobs before
            if jobs:
                _call("scontrol", "release", ",".join(numbers[job.name] for job in jobs if not job.after))
                print(f"{len(jobs)} jobs submitted; see context-nmt status and context-nmt cancel")
        except BaseException:
            if numbers:
                _call("scancel", *numbers.values(), patience=BUSY)
                self.note.unlink()
                print(f"{len(numbers)} jobs cancelled, as not all could be submitted", flush=True)
            raise

    def _sbatch(self, job: Job, before: list[str], launch: LaunchSettings) -> str:
        settings = launch.of(job.name)
        minutes = settings.hours and max(1, math.ceil(60 * settings.hours))
        options = {
            "job-name": job.name,
            "chdir": self.experiment.folder.resolve(),
            "output": self.log(job.stages).resolve(),
            "open-mode": "append",
            "signal": f"B:USR1@{min(GRACE, 15 * minutes) if minutes else GRACE}",
            "nodes": settings.nodes,
            "cpus-per-task": settings.cores,
            "gpus-per-node": settings.gpus or None,
            "mem": settings.memory,
            "time": minutes,
            "partition": settings.partition,
            "dependency": f"afterany:{':'.join(before)}" if before else None,
        }
        given = [f"--{name}={value}" for name, value in options.items() if value is not None]
        given += [*([] if before else ["--hold"]), *shlex.split(settings.options)]
        wrap = f"--wrap=exec {shlex.join([sys.executable, '-m', 'context_nmt.pipeline.slurm', *job.options])}"
        return _call("sbatch", "--parsable", "--requeue", *given, wrap).split(";")[0].strip()

    def require_idle(self) -> None:
        """Raise UserError if a job is queued or running."""
        if left := [number for number, state in self.states().values() if not state.ended]:
            raise UserError(
                f"{self.experiment.folder}: {len(set(left))} jobs are still in Slurm's queue, the first is {left[0]};"
                " wait for them (context-nmt status), or stop them (context-nmt cancel)"
            )

    def states(self) -> dict[str, tuple[str, State]]:
        """Return the job's number and the state of each stage; ask for the queue only if a job has not reported."""
        jobs = self.jobs
        ended = {number: self.ended(number) for number in jobs}
        queue = self._queue() if None in ended.values() else {}
        states = dict[str, tuple[str, State]]()
        for number, stages in jobs.items():
            state = queue.get(number, LOST)
            said = self._said(stages) if state.word == "running" else dict.fromkeys(stages, state)
            states |= {stage: (number, (ended[number] or said)[stage]) for stage in stages}
        return states

    def _said(self, stages: Iterable[str]) -> dict[str, State]:
        """Return the states of a running job's stages by what its log says."""
        states = dict.fromkeys(stages, State("waiting")) | {next(iter(stages)): State("running")}
        for stage, text in self.lines(stages):
            if text == "started" or text.startswith("done in "):
                states[stage] = State("running") if text == "started" else DONE
        return states

    def lines(self, stages: Iterable[str]) -> list[tuple[str, str]]:
        """Return the whole lines that a job with these stages has said, each with the stage."""
        first, *_ = stages
        log = self.log(stages)
        said = log.read_bytes().decode("utf-8", "replace") if log.is_file() else ""
        parts = [line.partition(" | ") for line in said[: said.rfind("\n") + 1].splitlines()]
        return [
            (stage, text) if mark and stage in stages else (first, stage + mark + text) for stage, mark, text in parts
        ]

    def _queue(self) -> dict[str, State]:
        """Return the state of each job of this user that is in the queue."""
        states = {}
        for line in _call("squeue", "--me", "--all", "--noheader", "--format=%i|%T|%r", patience=BUSY).splitlines():
            number, word, reason = line.strip().split("|", 2)
            pending = State("waiting") if reason == "Dependency" else State("queued", reason)
            states[number] = pending if word == "PENDING" else State("running")
        return states

    def follow(self, display: Display) -> None:
        """Show what the jobs say until all have ended; raise UserError if any stage has failed."""
        jobs, shown, looks = self.jobs, dict[str, int](), 0
        while True:
            if self.jobs != jobs:
                raise UserError(f"{self.note} was removed or replaced; context-nmt repro runs what is left")
            states = {stage: state for stage, (_, state) in self.states().items()}
            for number, stages in jobs.items():
                lines = self.lines(stages)
                for stage, line in lines[shown.get(number, 0) :]:
                    display.say(stage, line)
                shown[number] = len(lines)
            display.count([stage for stage, state in states.items() if state == DONE], states)
            looks += 1
            if not all(state.ended for state in states.values()):
                looks = 0
            elif LOST not in states.values() or looks * POLL > SHOWN:
                break
            time.sleep(POLL)
        check_states(states, f"above, and in {self.folder}")

    def cancel(self) -> int:
        """Cancel the jobs that have not ended, wait until Slurm has ended them, and return how many there were."""
        states = self.states()
        left = {number for number, state in states.values() if not state.ended}
        if left:
            _call("scancel", *left, patience=BUSY)
        while left and left & self._queue().keys():
            time.sleep(POLL / 4)
        for number in left:
            if self.ended(number) is None:
                stages = [stage for stage, (job, _) in states.items() if job == number]
                self.end(number, dict.fromkeys(stages, State("cancelled")))
        return len(left)


def _call(*command: str, patience: float = 0) -> str:
    """Return what a program of Slurm prints; if it fails, call it again for `patience` seconds."""
    try:  # in a session of its own, where Ctrl-C does not reach it
        return subprocess.run(command, capture_output=True, text=True, check=True, start_new_session=True).stdout
    except FileNotFoundError:
        raise UserError(f"no program {command[0]}: this machine has no Slurm") from None
    except subprocess.CalledProcessError as error:
        if patience <= 0:
            reason = " ".join(error.stderr.split()) or f"exit status {error.returncode}"
            raise UserError(f"{command[0]}: {reason}") from None
    time.sleep(POLL)
    return _call(*command, patience=patience - POLL)


class OutOfTime(Unfinished):
    """The job's time limit is near, and it cannot go back into the queue."""


def run_job(options: list[str]) -> None:
    """Run the stages of this job with DVC but for those that depend on one that has failed, and note how each ended.

    If the time limit is near, put a training back into the queue. Raise UserError if a stage has failed.
    """
    slurm, number = Slurm(Experiment(Path())), os.environ["SLURM_JOB_ID"]
    _wait_for(lambda: number in slurm.jobs)
    if (stages := slurm.jobs.get(number)) is None:
        raise UserError(f"{slurm.note} does not name job {number}; context-nmt repro submits it again")
    first, states, started = next(iter(stages)), dict[str, State](), list[str]()
    signal.signal(signal.SIGUSR1, lambda *_: _out_of_time(number, first, started))
    (slurm.folder / f"{number}.end").unlink(missing_ok=True)  # of a start before this one
    needed = {name for upstream in stages.values() for name in upstream} - stages.keys()

    def earlier() -> dict[str, State]:
        others = [slurm.ended(other) or {} for other in slurm.jobs if other != number]  # not of an earlier start
        return {stage: state for ended in others for stage, state in ended.items()}

    try:
        with _alone(slurm, [*stages]) as lock, StageProcesses(_environment(), inherited=[lock]) as processes:
            started = processes.display.started
            _wait_for(lambda: needed <= earlier().keys())
            states |= earlier()
            job = Job(stages, above=set(), after=set(), remake="--allow-missing" not in options, is_certain=True)
            run_jobs([job], Path(), processes, states)
    except OutOfTime as reason:
        left = [stage for stage in stages if stage not in states]
        if left:
            at = left.index(started[-1]) if started and started[-1] in left else 0
            states |= dict.fromkeys(left[:at], DONE) | dict.fromkeys(left[at + 1 :], State("not run"))
            states[left[at]] = State("failed", str(reason))
    own_states = {stage: states[stage] for stage in stages}
    slurm.end(number, own_states)
    check_states(own_states)


def _wait_for(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds, as files appear late on some file systems, but not for ever."""
    for _ in range(SHOWN):
        if condition():
            break
        time.sleep(1)


def _out_of_time(number: str, first: str, started: Sequence[str]) -> None:
    """Put the job back into the queue if one of the stages that ran in this start of it is a training.

    A training resumes, and what follows it then has the whole time. Raise OutOfTime for other stages. The limit is that
    of the job's first stage.
    """
    if "train" not in map(launch_key, started or [first]):
        raise OutOfTime(f"over its time limit, launch.{launch_key(first)}.hours")
    print("the time limit is near; what is left goes on when this job is started again", flush=True)
    try:  # Slurm sends SIGTERM to the processes on all nodes; one from here would not do: srun would kill its tasks
        _call("scontrol", "requeue", number, patience=BUSY)
    except UserError as error:
        raise OutOfTime(str(error)) from None


def _environment() -> dict[str, str]:
    cores, gpus = (int(os.environ.get(f"SLURM_{name}") or 1) for name in ("CPUS_ON_NODE", "GPUS_ON_NODE"))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {"OMP_NUM_THREADS": str(max(1, cores // gpus))} | os.environ | {"PATH": path}
    if "SLURM_CPUS_PER_TASK" in environment:  # which srun does not take from the job
        environment["SRUN_CPUS_PER_TASK"] = environment["SLURM_CPUS_PER_TASK"]
    return environment


@contextmanager
def _alone(slurm: Slurm, stages: Sequence[str]) -> Iterator[int]:
    """Wait until no other process runs these stages, and yield the open file that keeps others from them.

    If a node is lost to Slurm but lives, the job is started again elsewhere while its processes still run there.
    """
    runs = [stage.partition("@")[2] for stage in stages if stage.startswith("train")]
    with (slurm.folder / f"{stages[0]}.lock").open("a") as file:
        _lock(file.fileno())
        for path in map(slurm.experiment.training_lock, runs):
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
