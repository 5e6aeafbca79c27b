"""Run the stages of an experiment as jobs of Slurm, one each.

The graph becomes dependencies between jobs, so no process has to stay alive. In each job, DVC decides whether the stage
has changed; the last line of its log says how it ended. This calls sbatch itself: submitit starts pickled Python
functions, and asks sacct how jobs ended, which not every cluster has.
"""

import math
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from context_nmt.command_line import noticing
from context_nmt.files import UserError, read_json, write_json
from context_nmt.pipeline.dvc import Stage
from context_nmt.pipeline.jobs import BAD, DONE, State, check_states
from context_nmt.pipeline.processes import AS_CHILD, FAILED, Display, stage_lines
from context_nmt.settings.launch import LaunchSettings, launch_key
from context_nmt.settings.parameters import Experiment

GRACE = 120  # seconds before the time limit at which a job is told to end
POLL = 5.0  # seconds between two looks at the queue
BUSY = 60  # seconds for which Slurm is asked again if it does not answer
SHOWN = 75  # seconds after which a file that one node has written is there for all; NFS takes up to 60
LOST = State("lost", "it left the queue without reporting how it ended; its log may say more")
CANCELLED = "cancelled"  # the last line of a log, as those that match ENDED
ENDED = re.compile(r"ended with (\d+) after (\d+) s$")

# If a node is lost to Slurm but lives, a job is started again elsewhere while its processes, or at least a training,
# still run there: the new one waits for their locks. SIGTERM comes from Slurm and reaches the processes on all nodes: a
# training saves its state, and DVC waits for its stage, both in a session of their own. A job that Slurm stops does not
# say how it ended, since it may start again.
SCRIPT = """\
echo "on $SLURMD_NODENAME"
for lock in {locks}; do
  exec 9>>"$lock"
  flock -n 9 || {{ echo 'waiting: an earlier start of this job still runs'; flock 9; }}
done
export PATH={path}:"$PATH" {as_child}=1
${{SLURM_CPUS_PER_TASK:+export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK}}
threads=$((${{SLURM_CPUS_ON_NODE:-1}} / ${{SLURM_GPUS_ON_NODE:-1}}))
export OMP_NUM_THREADS="${{OMP_NUM_THREADS:-$((threads ? threads : 1))}}"
began=$(date +%s)
trap 'told=${{told:-stopped}}; kill -s TERM -- -$!' TERM
trap '{at_the_limit}' USR1
setsid {command} &
while wait $!; status=$?; kill -0 $! 2>/dev/null; do :; done
test "$told" = stopped && exit $status
test "$told" = late && echo "ERROR: failed to reproduce '{stage}': over its time limit, launch.{key}.hours"
echo "ended with $status after $(($(date +%s) - began)) s"
exit $status
"""
GO_ON = """\
echo "the time limit is near; what is left goes on when this job is started again"
until scontrol requeue $SLURM_JOB_ID; do sleep 5; done"""
GIVE_UP = "told=late; kill -s TERM -- -$!"


class Slurm:
    """The jobs of one experiment, noted in runs/scratch/jobs."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment, self.folder = experiment, experiment.scratch("jobs")
        self.note = self.folder / "jobs.json"

    @property
    def jobs(self) -> dict[str, tuple[str, list[str]]]:
        """The number of the job of each stage that was submitted last, and the stages that it comes after."""
        noted = read_json(self.note) if self.note.is_file() else []
        return {stage: (number, upstream) for stage, number, upstream in noted}

    def log(self, stage: str) -> Path:
        """Return the file that the output of a stage is appended to."""
        return self.folder / f"{stage}.log"

    def submit(self, chosen: Mapping[str, bool], stages: Mapping[str, Stage], launch: LaunchSettings) -> None:
        """Submit jobs for the chosen stages; nothing starts before all are submitted."""
        self.folder.mkdir(parents=True, exist_ok=True)
        jobs = dict[str, tuple[str, list[str]]]()
        try:
            with noticing(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:  # else a number could be lost
                write_json(self.note, [])
                for stage, remade in chosen.items():
                    upstream = sorted(stages[stage].upstream & chosen.keys())
                    before = sorted((jobs[name][0] for name in upstream), key=int)
                    jobs[stage] = self._sbatch(stage, before, launch, remade=remade), upstream
                    write_json(self.note, [(name, *job) for name, job in jobs.items()])
                    after = f" (after {', '.join(before)})" if before else ""
                    print(f"{jobs[stage][0]} {stage}{after}", flush=True)
                    if signals:
                        raise KeyboardInterrupt
            for path in self.folder.glob("*.log"):
                path.unlink()  # of jobs before
            if jobs:
                _call("scontrol", "release", ",".join(number for number, upstream in jobs.values() if not upstream))
                print(f"{len(jobs)} jobs submitted; see context-nmt status and context-nmt cancel")
        except BaseException:
            if jobs:
                _call("scancel", *(number for number, _ in jobs.values()), patience=BUSY)
                self.note.unlink()
                print(f"{len(jobs)} jobs cancelled, as not all could be submitted", flush=True)
            raise

    def _sbatch(self, stage: str, before: list[str], launch: LaunchSettings, *, remade: bool) -> str:
        settings, key = launch.of(stage), launch_key(stage)
        minutes = settings.hours and max(1, math.ceil(60 * settings.hours))
        options = {
            "job-name": stage,
            "chdir": self.experiment.folder.resolve(),
            "output": self.log(stage).resolve(),
            "open-mode": "append",
            "signal": f"B:USR1@{min(GRACE, 15 * minutes) if minutes else GRACE}",
            "nodes": settings.nodes,
            "cpus-per-task": settings.cores,
            "gpus-per-node": settings.gpus or None,
            "mem": settings.memory,
            "time": minutes,
            "partition": settings.partition,
            "dependency": f"afterok:{':'.join(before)}" if before else None,
        }
        given = [f"--{name}={value}" for name, value in options.items() if value is not None]
        given += [*(["--kill-on-invalid-dep=yes"] if before else ["--hold"]), *shlex.split(settings.options)]
        training = [self.experiment.training_lock(stage.partition("@")[2])] if key == "train" else []
        dvc = [sys.executable, "-m", "context_nmt.pipeline.dvc", "--wait-for-lock", "repro", "--single-item"]
        script = SCRIPT.format(
            locks=shlex.join(str(path.resolve()) for path in (*training, self.folder / f"{stage}.lock")),
            path=shlex.quote(str(Path(sys.executable).parent)),
            as_child=AS_CHILD,
            at_the_limit=GO_ON if training else GIVE_UP,
            command=shlex.join([*dvc, *([] if remade else ["--allow-missing"]), stage]),
            stage=stage,
            key=key,
        )
        return _call("sbatch", "--parsable", "--requeue", *given, f"--wrap={script}").split(";")[0].strip()

    def require_idle(self) -> None:
        """Raise UserError if a job is queued or running."""
        states = self.states()
        if left := [number for stage, (number, _) in self.jobs.items() if not states[stage].ended]:
            raise UserError(
                f"{self.experiment.folder}: {len(left)} jobs are still in Slurm's queue, the first is {left[0]};"
                " wait for them (context-nmt status), or stop them (context-nmt cancel)"
            )

    def states(self) -> dict[str, State]:
        """Return the state of each stage; ask for the queue only if a job has not reported."""
        jobs, states = self.jobs, dict[str, State]()
        ended = {stage: self.read_log(stage)[1] for stage in jobs}
        queue = _queue() if None in ended.values() else {}
        for stage, (number, upstream) in jobs.items():
            is_hopeless = any(states[name].word in (*BAD, "not run") for name in upstream)
            states[stage] = ended[stage] or (State("not run") if is_hopeless else queue.get(number, LOST))
        return states

    def read_log(self, stage: str) -> tuple[list[str], State | None]:
        """Return the whole lines that a stage has said, and how it has ended, or None if it has not reported that."""
        content = self.log(stage).read_bytes().decode("utf-8", "replace") if self.log(stage).is_file() else ""
        said = [line for _, line in stage_lines(stage, content[: content.rfind("\n") + 1].splitlines())]
        lines = [line for line in said if not line.startswith(FAILED)]  # Slurm may start it again
        ended = ENDED.match(lines[-1]) if lines else None
        if ended and ended[1] == "0":
            return [*lines[:-1], f"done in {ended[2]} s"], DONE
        if ended:
            reasons = [line.removeprefix(FAILED) for line in said if line.startswith(FAILED)]
            state = State("failed", reasons[-1] if reasons else f"its job ended with exit status {ended[1]}")
            return [*lines[:-1], f"{FAILED}{state.detail}"], state
        return lines, State(CANCELLED) if lines[-1:] == [CANCELLED] else None

    def follow(self, display: Display) -> None:
        """Show what the jobs say until all have ended; raise UserError if any stage has failed."""
        jobs, shown, looks = self.jobs, Counter[str](), 0
        while True:
            if self.jobs != jobs:
                raise UserError(f"{self.note} was removed or replaced; context-nmt repro runs what is left")
            states = self.states()
            for stage in jobs:
                lines, _ = self.read_log(stage)
                for line in lines[shown[stage] :]:
                    display.say(stage, line)
                shown[stage] = len(lines)
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
        left = {stage: number for stage, (number, _) in self.jobs.items() if not states[stage].ended}
        if left:
            _call("scancel", *left.values(), patience=BUSY)
        while left and {*left.values()} & _queue().keys():
            time.sleep(POLL / 4)
        for stage in left:
            if self.read_log(stage)[1] is None:
                with self.log(stage).open("a", encoding="utf-8") as log:
                    log.write(f"{CANCELLED}\n")
        return len(left)


def _queue() -> dict[str, State]:
    """Return the state of each job of this user that is in the queue."""
    states = {}
    for line in _call("squeue", "--me", "--all", "--noheader", "--format=%i|%T|%r", patience=BUSY).splitlines():
        number, word, reason = line.strip().split("|", 2)
        pending = State("waiting") if reason == "Dependency" else State("queued", reason)
        states[number] = pending if word == "PENDING" else State("running")
    return states


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
