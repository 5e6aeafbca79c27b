"""Submit the stages of an experiment to Slurm, a job for those of a run that need the same of the cluster.

The graph becomes dependencies between jobs, so no process has to stay alive. In each job DVC decides whether its stages
have changed. This calls sbatch itself: submitit starts pickled Python functions, and asks sacct how jobs ended, which
not every cluster has.
"""

import math
import re
import shlex
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from context_nmt.files import UserError, read_json, replacing, write_json
from context_nmt.pipeline.display import Display
from context_nmt.pipeline.graph import Scheduler
from context_nmt.settings.folder import Experiment
from context_nmt.settings.launch import JobSettings, launch_key

GRACE = 120  # seconds before the time limit at which a job is told to end
POLL = 2.0  # seconds between two looks at the queue
PATIENCE = 3  # looks after which a job that is neither in the queue nor has left a word is lost
SAID = re.compile(r"(\S+) \| (.*)")  # a line of a job's log


@dataclass(frozen=True)
class Job:
    """A submitted job; `after` are the numbers of the jobs that it depends on."""

    number: str
    stages: tuple[str, ...]
    after: tuple[str, ...]


class State(NamedTuple):
    """What has become of a job: waiting, queued, running, done, failed, cancelled, lost or not run."""

    word: str
    detail: str = ""

    @property
    def ended(self) -> bool:
        """Return whether the job has left the queue."""
        return self.word not in ("waiting", "queued", "running")


class Slurm:
    """The jobs of one experiment, noted in runs/scratch/jobs."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment, self.folder = experiment, experiment.scratch("jobs")

    @property
    def jobs(self) -> list[Job]:
        """The jobs that were submitted last, each after those it depends on."""
        path = self.folder / "jobs.json"
        if not path.is_file():
            return []
        return [Job(job["number"], tuple(job["stages"]), tuple(job["after"])) for job in read_json(path)]

    def log(self, job: Job) -> Path:
        """Return the file that a job's output is appended to."""
        return self.folder / f"{job.stages[0]}.log"

    def end(self, number: str, state: State) -> None:
        """Note how a job has ended."""
        write_json(self.folder / f"{number}.end", state._asdict())

    def submit(self, scheduler: Scheduler) -> None:
        """Submit what must run and what depends on it; nothing starts before all is submitted."""
        for path in [*self.folder.glob("*.log"), *self.folder.glob("*.end")]:
            path.unlink()
        self.folder.mkdir(parents=True, exist_ok=True)
        jobs: list[Job] = []
        try:
            for stages, after in plan_jobs(scheduler):
                settings = scheduler.launch.of(stages[0])
                before = tuple(jobs[number].number for number in after)
                missing = stages[0] in scheduler.missing
                jobs.append(Job(self._sbatch(stages, before, settings, missing=missing), stages, before))
                print(jobs[-1].number, ", ".join(stages), f"(after {', '.join(before)})" if before else "", flush=True)
        except BaseException:
            if jobs:
                _call("scancel", *(job.number for job in jobs))
            raise
        with replacing(self.folder / "jobs.json") as path:
            write_json(path, [asdict(job) for job in jobs])
        if jobs:
            _call("scontrol", "release", ",".join(job.number for job in jobs if not job.after))
            print(f"{len(jobs)} jobs submitted; see context-nmt status and context-nmt cancel")

    def _sbatch(self, stages: tuple[str, ...], before: tuple[str, ...], settings: JobSettings, *, missing: bool) -> str:
        option = [] if missing else ["--allow-missing"]
        command = [sys.executable, "-m", "context_nmt.pipeline.job", *option, *stages]
        minutes = None if settings.hours is None else max(1, math.ceil(60 * settings.hours))
        grace = GRACE if minutes is None else min(GRACE, 15 * minutes)
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
            "dependency": f"afterok:{':'.join(before)}" if before else None,
            "kill-on-invalid-dep": "yes",
        }
        given = [f"--{name}={value}" for name, value in options.items() if value is not None]
        hold = [] if before else ["--hold"]
        own = shlex.split(settings.options)
        wrap = f"--wrap=exec {shlex.join(command)}"
        return _call("sbatch", "--parsable", "--requeue", *hold, *given, *own, wrap).split(";")[0].strip()

    def require_idle(self) -> None:
        """Raise UserError if a job is queued or running."""
        left = [job.number for job, state in self.states().items() if not state.ended]
        if left:
            raise UserError(
                f"{self.experiment.folder}: {len(left)} jobs are still in Slurm's queue, the first is {left[0]};"
                " wait for them (context-nmt status), or stop them (context-nmt cancel)"
            )

    def states(self) -> dict[Job, State]:
        """Return what has become of each job; the queue is asked only if some have not left a word."""
        jobs, states = self.jobs, dict[Job, State]()
        queue = self._queue() if not all(self._ended(job) for job in jobs) else {}
        for job in jobs:
            before = [states[other] for other in states if other.number in job.after]
            if ended := self._ended(job):
                states[job] = ended
            elif job.number in queue:
                states[job] = queue[job.number]
            elif any(state.ended and state.word != "done" for state in before):
                states[job] = State("not run")
            else:
                states[job] = State("lost", "it has left the queue without a word; its log may say more")
        return states

    def _ended(self, job: Job) -> State | None:
        path = self.folder / f"{job.number}.end"
        return State(**read_json(path)) if path.is_file() else None

    def _queue(self) -> dict[str, State]:
        """Return the state of each job of this user that is in the queue."""
        states = {}
        for line in _call("squeue", "--me", "--noheader", "--format=%i|%T|%r").splitlines():
            number, word, reason = line.strip().split("|")
            pending = State("waiting") if reason == "Dependency" else State("queued", reason)
            states[number] = pending if word == "PENDING" else State("running")
        return states

    def follow(self, display: Display) -> None:
        """Show what the jobs say until all have ended; raise UserError if any has failed."""
        seen, looks = dict.fromkeys(self.jobs, 0), dict.fromkeys(self.jobs, 0)
        while True:
            states = self.states()
            for job in seen:
                looks[job] = looks[job] + 1 if states[job].word == "lost" else 0
                seen[job] = self._show(job, seen[job], display)
            done = [stage for job, state in states.items() if state.word == "done" for stage in job.stages]
            display.count(done, {stage for job in states for stage in job.stages})
            if all(state.ended and (looks[job] == 0 or looks[job] >= PATIENCE) for job, state in states.items()):
                break
            time.sleep(POLL)
        failures = [f"{job.stages[0]}: {state.detail}" for job, state in states.items() if state.word in FAILED]
        if failures:
            left = sum(len(job.stages) for job, state in states.items() if state.word == "not run")
            also = f"; {left} stages that depend on it were not run" if left else ""
            raise UserError(f"{'; '.join(failures)}{also}; the output is above, and in {self.folder}")

    def _show(self, job: Job, start: int, display: Display) -> int:
        """Show a job's whole new lines, and return where they end in its log."""
        log = self.log(job)
        new = log.read_bytes()[start:] if log.is_file() else b""
        end = new.rfind(b"\n") + 1
        for line in new[:end].decode("utf-8", "replace").splitlines():
            if match := SAID.fullmatch(line):
                stage, text = match.groups()
                if text == "started":
                    display.begin(stage)
                if text.startswith(("done in", "failed: ")):
                    display.end(stage, done=text.startswith("done"))
                display.say(stage, text)
            else:
                display.say(job.stages[0], line)
        return start + end

    def requeue(self, number: str) -> None:
        """Put a running job back into the queue; Slurm ends its processes."""
        _call("scontrol", "requeue", number)

    def cancel(self) -> int:
        """Cancel the jobs that have not ended, wait until Slurm has ended them, and return how many there were."""
        left = [job for job, state in self.states().items() if not state.ended]
        if left:
            _call("scancel", *(job.number for job in left))
        while any(job.number in self._queue() for job in left):
            time.sleep(POLL / 4)
        for job in left:
            if not self._ended(job):
                self.end(job.number, State("cancelled"))
        return len(left)


FAILED = ("failed", "cancelled", "lost")


def plan_jobs(scheduler: Scheduler) -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
    """Divide the stages into jobs: the stages of each, and the numbers of the jobs that it depends on.

    A stage joins a job of its run, with the same needs, that already waits for all that the stage depends on.
    """
    jobs: list[list[str]] = []
    after: list[set[int]] = []
    job_of: dict[str, int] = {}
    kinds: list[tuple[str, str, bool]] = []
    for name in scheduler.possible:
        kind = launch_key(name), name.partition("@")[2], name in scheduler.missing
        needed = {job_of[upstream] for upstream in scheduler.stages[name].upstream if upstream in job_of}
        number = next((n for n in range(len(jobs)) if kinds[n] == kind and needed <= {n} | after[n]), len(jobs))
        if number == len(jobs):
            jobs.append([])
            after.append(needed.union(*(after[n] for n in needed)))
            kinds.append(kind)
        jobs[number].append(name)
        job_of[name] = number
    direct = [numbers - set().union(*(after[n] for n in numbers)) for numbers in after]
    return [(tuple(stages), tuple(sorted(numbers))) for stages, numbers in zip(jobs, direct, strict=True)]


def _call(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        raise UserError(f"no program {command[0]}: this machine has no Slurm") from None
    except subprocess.CalledProcessError as error:
        reason = " ".join(error.stderr.split()) or f"exit status {error.returncode}"
        raise UserError(f"{command[0]}: {reason}") from None
