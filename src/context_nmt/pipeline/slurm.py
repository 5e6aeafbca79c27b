"""Submit the stages of an experiment to Slurm, a job for those of a run that need the same of the cluster.

The graph becomes dependencies between jobs, so no process has to stay alive. In each job DVC decides whether its stages
have changed. This calls sbatch itself: submitit starts pickled Python functions, and asks sacct how jobs ended, which
not every cluster has.
"""

import math
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from context_nmt.command_line import noticing
from context_nmt.files import UserError, read_json, write_json
from context_nmt.pipeline.display import Display
from context_nmt.pipeline.scheduler import Scheduler
from context_nmt.settings.folder import Experiment

GRACE = 120  # seconds before the time limit at which a job is told to end
POLL = 5.0  # seconds between two looks at the queue
BUSY = 60  # seconds for which Slurm is asked again if it does not answer
SHOWN = 75  # seconds after which a file that one node has written is there for all; NFS takes up to 60
PATIENCE = int(SHOWN / POLL)  # looks after which a job that has not reported how it ended is lost
BAD = ("failed", "cancelled", "lost")
SAID = re.compile(r"(\S+) \| (.*)")  # a line of a job's log


@dataclass(frozen=True)
class Job:
    """A submitted job, with the submitted stages that each of its stages depends on."""

    number: str
    stages: dict[str, list[str]]

    @property
    def name(self) -> str:
        """The name of its first stage, which names its log, too."""
        return next(iter(self.stages))


class State(NamedTuple):
    """What has become of a stage: waiting, queued, running, done, failed, cancelled, lost or not run."""

    word: str
    detail: str = ""

    @property
    def ended(self) -> bool:
        """Return whether its job has left the queue."""
        return self.word not in ("waiting", "queued", "running")


class Slurm:
    """The jobs of one experiment, noted in runs/scratch/jobs."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment, self.folder = experiment, experiment.scratch("jobs")
        self.note = self.folder / "jobs.json"

    @property
    def jobs(self) -> list[Job]:
        """The jobs that were submitted last, each after those it depends on."""
        noted = read_json(self.note) if self.note.is_file() else []
        return [Job(number, dict(stages)) for number, stages in noted]

    def log(self, job: Job) -> Path:
        """Return the file that a job's output is appended to."""
        return self.folder / f"{job.name}.log"

    def end(self, number: str, states: Mapping[str, State]) -> None:
        """Note how the stages of a job have ended."""
        write_json(self.folder / f"{number}.end", states)

    def ended(self, job: Job) -> dict[str, State] | None:
        """Return how the stages of a job have ended, or None if it has not reported that."""
        path = self.folder / f"{job.number}.end"
        return {stage: State(*state) for stage, state in read_json(path).items()} if path.is_file() else None

    def forget(self, number: str) -> None:
        """Remove the note of how a job ended, as it has been started again."""
        (self.folder / f"{number}.end").unlink(missing_ok=True)

    def submit(self, scheduler: Scheduler) -> None:
        """Submit what must run and what depends on it; nothing starts before all is submitted."""
        self.folder.mkdir(parents=True, exist_ok=True)
        jobs, roots = list[Job](), list[str]()
        try:
            with noticing(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:  # else a number could be lost
                if not (divided := scheduler.jobs()):
                    write_json(self.note, [])
                    return
                possible = {name for stages, _ in divided for name in stages}
                for stages, after in divided:
                    before = [jobs[number].number for number in after]
                    number = self._sbatch(stages, before, scheduler)
                    roots += [] if before else [number]
                    upstream = {name: sorted(scheduler.stages[name].upstream & possible) for name in stages}
                    jobs.append(Job(number, upstream))
                    write_json(self.note, [(job.number, [*job.stages.items()]) for job in jobs])
                    print(number, ", ".join(stages) + (f" (after {', '.join(before)})" if before else ""), flush=True)
                    if signals:
                        raise KeyboardInterrupt
            for path in (*self.folder.glob("*.log"), *self.folder.glob("*.end")):
                path.unlink()  # of jobs before
            _call("scontrol", "release", ",".join(roots))
            print(f"{len(jobs)} jobs submitted; see context-nmt status and context-nmt cancel")
        except BaseException:
            if jobs:
                _call("scancel", *(job.number for job in jobs), patience=BUSY)
                self.note.unlink()
                print(f"{len(jobs)} jobs cancelled, as not all could be submitted", flush=True)
            raise

    def _sbatch(self, stages: list[str], before: list[str], scheduler: Scheduler) -> str:
        settings = scheduler.launch.of(stages[0])
        option = [] if stages[0] in scheduler.missing else ["--allow-missing"]
        minutes = settings.hours and max(1, math.ceil(60 * settings.hours))
        grace = min(GRACE, 15 * minutes) if minutes else GRACE
        options = {
            "job-name": stages[0],
            "chdir": self.experiment.folder.resolve(),
            "output": (self.folder / f"{stages[0]}.log").resolve(),
            "open-mode": "append",
            "signal": f"B:USR1@{grace}",
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
        wrap = f"--wrap=exec {shlex.join([sys.executable, '-m', 'context_nmt.pipeline.job', *option])}"
        return _call("sbatch", "--parsable", "--requeue", *given, wrap).split(";")[0].strip()

    def require_idle(self) -> None:
        """Raise UserError if a job is queued or running."""
        left = [job.number for job, state in self.states().values() if not state.ended]
        if left:
            raise UserError(
                f"{self.experiment.folder}: {len(set(left))} jobs are still in Slurm's queue, the first is {left[0]};"
                " wait for them (context-nmt status), or stop them (context-nmt cancel)"
            )

    def states(self) -> dict[str, tuple[Job, State]]:
        """Return the job and the state of each stage; the queue is asked only if some job has not reported its end."""
        jobs = self.jobs
        queue = self._queue() if any(self.ended(job) is None for job in jobs) else {}
        lost = State("lost", "it left the queue without reporting how it ended; its log may say more")
        states = dict[str, tuple[Job, State]]()
        for job in jobs:
            state = queue.get(job.number, lost)
            known = self.ended(job) or (
                self._said(job) if state.word == "running" else dict.fromkeys(job.stages, state)
            )
            states |= {stage: (job, known[stage]) for stage in job.stages}
        return states

    def _said(self, job: Job) -> dict[str, State]:
        """Return the states of a running job's stages by what its log says."""
        states = dict.fromkeys(job.stages, State("waiting")) | {job.name: State("running")}
        log = self.log(job)
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if log.is_file() else []:
            stage, _, text = line.partition(" | ")
            if stage in states and (text == "started" or text.startswith("done in ")):
                states[stage] = State("running" if text == "started" else "done")
        return states

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
        jobs, looks = self.jobs, 0
        seen = {job.number: 0 for job in jobs}
        while looks < PATIENCE:
            if self.jobs != jobs:
                raise UserError(f"{self.note} was removed or replaced; context-nmt repro runs what is left")
            states = {stage: state for stage, (_, state) in self.states().items()}
            for job in jobs:
                seen[job.number] = self._show(job, seen[job.number], display)
            display.count([stage for stage, state in states.items() if state.word == "done"], set(states))
            is_over = all(state.ended for state in states.values())
            is_sure = all(state.word != "lost" for state in states.values())
            looks = (PATIENCE if is_sure else looks + 1) if is_over else 0
            time.sleep(0 if looks == PATIENCE else POLL)
        failures = [f"{stage}: {state.detail or state.word}" for stage, state in states.items() if state.word in BAD]
        if failures:
            left = sum(state.word == "not run" for state in states.values())
            also = f"; {left} stages that depend on it were not run" if left else ""
            raise UserError(f"{'; '.join(failures)}{also}; the output is above, and in {self.folder}")

    def _show(self, job: Job, start: int, display: Display) -> int:
        """Show a job's whole new lines, and return where they end in its log."""
        log = self.log(job)
        new = log.read_bytes()[start:] if log.is_file() else b""
        end = new.rfind(b"\n") + 1
        for line in new[:end].decode("utf-8", "replace").splitlines():
            stage, text = match.groups() if (match := SAID.fullmatch(line)) else (job.name, line)
            if text == "started":
                display.begin(stage)
            if text.startswith(("done in", "failed: ")):
                display.end(stage, done=text.startswith("done"))
            display.say(stage, text)
        return start + end

    def requeue(self, number: str) -> None:
        """Put a running job back into the queue; Slurm sends SIGTERM to its processes on all nodes."""
        _call("scontrol", "requeue", number, patience=BUSY)

    def cancel(self) -> int:
        """Cancel the jobs that have not ended, wait until Slurm has ended them, and return how many there were."""
        left = {job.number: job for job, state in self.states().values() if not state.ended}
        if left:
            _call("scancel", *left, patience=BUSY)
        while left and left.keys() & self._queue().keys():
            time.sleep(POLL / 4)
        for number, job in left.items():
            if self.ended(job) is None:
                self.end(number, dict.fromkeys(job.stages, State("cancelled")))
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
