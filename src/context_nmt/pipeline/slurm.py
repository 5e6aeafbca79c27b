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

from context_nmt.command_line import capture_signals
from context_nmt.files import UserError, read_json, write_json
from context_nmt.pipeline.dvc import Stage
from context_nmt.pipeline.jobs import BAD, DONE, State, check_states
from context_nmt.pipeline.processes import AS_CHILD, FAILED, Display, Line, stage_lines
from context_nmt.settings.launch import LaunchSettings, launch_key
from context_nmt.settings.parameters import Experiment

GRACE = 120  # seconds before the time limit at which a job is told to end
POLL = 5.0  # seconds between two looks at the queue
BUSY = 60  # seconds for which Slurm is asked again if it does not answer
SHOWN = 75  # seconds after which a file that one node has written is there for all; NFS takes up to 60
LOST = State("lost", "it left the queue without reporting how it ended; its log may say more")
Jobs = dict[str, tuple[str, list[str]]]  # a stage -> the number of its job, and the stages that it comes after
# Lines of SCRIPT in a log. Slurm can start a job again, and its own messages can follow the last line.
BEGAN = re.compile(r"job \d+ began on ")
ENDED = re.compile(r"job \d+ (?:was cancelled|ended with (\d+) after (\d+) s)$")

# What a job runs. If Slurm takes a node for dead and it is not, it starts the job again elsewhere while the first start
# goes on. The second start waits until the script and DVC of the first one have ended, and then until the training has
# ended that DVC may have left. It lets go of that lock at once, since the training that it starts takes it.
# DVC and its stage have a session of their own. Slurm sends SIGTERM to all processes of the job, on all nodes, and the
# script sends it to that session again: a training saves its state, and DVC waits for it. A job that Slurm stops does
# not say how it ended, as it may start again, unless Slurm has refused to start it again at its time limit.
SCRIPT = """\
say() {{ echo; echo "job $SLURM_JOB_ID $1"; }}
wait_for_lock() {{ flock -n $1 || {{ echo 'waiting: an earlier start of this job still runs'; flock $1; }}; }}
stop() {{ told=${{told:-$1}}; kill -s TERM -- -$!; }}
go_on() {{
  echo "the time limit is near; what is left goes on when this job is started again"
  for attempt in $(seq {attempts}); do
    answer=$(scontrol requeue $SLURM_JOB_ID 2>&1) && return
    sleep {pause}
    kill -0 $! 2>/dev/null || return
  done
  told=${{told:-late}} reason="$reason; scontrol requeue: "$(echo $answer)
}}
say "began on $SLURMD_NODENAME"
exec 9>>{lock}
wait_for_lock 9
for training in {training_locks}; do exec 8>>"$training"; wait_for_lock 8; exec 8>&-; done
export PATH={path}:"$PATH" {as_child}=1
${{SLURM_CPUS_PER_TASK:+export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK}}
threads=$((${{SLURM_CPUS_ON_NODE:-1}} / ${{SLURM_GPUS_ON_NODE:-1}}))
export OMP_NUM_THREADS="${{OMP_NUM_THREADS:-$((threads ? threads : 1))}}"
began=$(date +%s)
reason='over its time limit, launch.{key}.hours'
trap 'interrupted=yes; stop stopped' TERM
trap 'interrupted=yes; {at_the_limit}' USR1
setsid {command} &
while interrupted=no; wait $!; status=$?; test $interrupted = yes && test $status -gt 128; do :; done
test "$told" = stopped && exit $status
test "$told" = late && printf '\\n%s\\n' "ERROR: failed to reproduce '{stage}': $reason"
say "ended with $status after $(($(date +%s) - began)) s"
exit $status
"""


class Slurm:
    """The jobs of one experiment, noted in runs/scratch/jobs."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment, self.folder = experiment, experiment.scratch("jobs")
        self.note = self.folder / "submitted.json"  # not jobs.json, which had another form

    def read_jobs(self) -> Jobs:
        """Return the jobs that were submitted last."""
        noted = read_json(self.note) if self.note.is_file() else []
        return {stage: (number, upstream) for stage, number, upstream in noted}

    def log(self, stage: str) -> Path:
        """Return the file that the output of a stage is appended to."""
        return self.folder / f"{stage}.log"

    def submit(self, chosen: Mapping[str, bool], stages: Mapping[str, Stage], launch: LaunchSettings) -> None:
        """Submit jobs for the chosen stages; nothing starts before all are submitted."""
        self.folder.mkdir(parents=True, exist_ok=True)
        jobs: Jobs = {}
        try:
            # Otherwise a job's number could be lost.
            with capture_signals(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
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
        settings, key = launch.for_stage(stage), launch_key(stage)
        minutes = settings.hours and max(1, math.ceil(60 * settings.hours))
        grace = min(GRACE, 15 * minutes) if minutes else GRACE
        options = {
            "job-name": stage,
            "chdir": self.experiment.folder.resolve(),
            "output": self.log(stage).resolve(),
            "open-mode": "append",
            "signal": f"B:USR1@{grace}",
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
            lock=shlex.quote(str((self.folder / f"{stage}.lock").resolve())),
            training_locks=shlex.join(str(path.resolve()) for path in training),
            path=shlex.quote(str(Path(sys.executable).parent)),
            as_child=AS_CHILD,
            at_the_limit="go_on" if training else "stop late",
            attempts=math.ceil(grace / POLL / 2),  # so that Slurm's answer is known when the time is over
            pause=POLL,
            command=shlex.join([*dvc, *([] if remade else ["--allow-missing"]), stage]),
            stage=stage,
            key=key,
        )
        return _call("sbatch", "--parsable", "--requeue", *given, f"--wrap={script}").split(";")[0].strip()

    def require_idle(self) -> None:
        """Raise UserError if a job is queued or running."""
        jobs = self.read_jobs()
        states = self.states(jobs)
        if left := [number for stage, (number, _) in jobs.items() if not states[stage].ended]:
            raise UserError(
                f"{self.experiment.folder}: {len(left)} jobs are still in Slurm's queue, the first is {left[0]};"
                " wait for them (context-nmt status), or stop them (context-nmt cancel)"
            )

    def states(self, jobs: Jobs) -> dict[str, State]:
        """Return the state of each stage; ask for the queue only if a job has not reported."""
        states = dict[str, State]()
        ended = {stage: self.read_log(stage)[1] for stage in jobs}
        queue = _queue() if None in ended.values() else {}
        for stage, (number, upstream) in jobs.items():
            is_hopeless = any(states[name].word in (*BAD, "not run") for name in upstream)
            states[stage] = ended[stage] or queue.get(number) or (State("not run") if is_hopeless else LOST)
        return states

    def read_log(self, stage: str) -> tuple[list[Line], State | None]:
        """Return the whole lines that a stage has said, and how it has ended, or None if it has not reported that."""
        content = self.log(stage).read_bytes().decode("utf-8", "replace") if self.log(stage).is_file() else ""
        lines, end, at, reason = list[Line](), None, 0, ""
        for line in stage_lines(stage, content[: content.rfind("\n") + 1].splitlines()):
            if line.kind == "failed":  # shown at the end, as Slurm may start the job again
                reason = line.text.removeprefix(FAILED)
                continue
            if BEGAN.match(line.text):
                end, reason = None, ""
            elif match := ENDED.match(line.text):
                end, at = match, len(lines)
            lines.append(line)
        if end is None:
            return lines, None
        status, seconds = end.groups()
        if status is None:
            return lines, State("cancelled")
        state = DONE if status == "0" else State("failed", reason or f"its job ended with exit status {status}")
        lines[at] = Line(stage, f"done in {seconds} s" if state == DONE else f"{FAILED}{state.detail}", state.word)
        return lines, state

    def follow(self, display: Display) -> None:
        """Show what the jobs say until all have ended; raise UserError if any stage has failed."""
        jobs, shown, looks = self.read_jobs(), Counter[str](), 0
        while True:
            if self.read_jobs() != jobs:
                raise UserError(f"{self.note} was removed or replaced; context-nmt repro runs what is left")
            states = self.states(jobs)
            for stage in jobs:
                lines, _ = self.read_log(stage)
                for line in lines[shown[stage] :]:
                    display.say(line)
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
        jobs = self.read_jobs()
        states = self.states(jobs)
        left = {stage: number for stage, (number, _) in jobs.items() if not states[stage].ended}
        if left:
            _call("scancel", *left.values(), patience=BUSY)
        while left and {*left.values()} & _queue().keys():
            time.sleep(POLL / 4)
        for stage, number in left.items():
            if self.read_log(stage)[1] is None:
                with self.log(stage).open("a", encoding="utf-8") as log:
                    log.write(f"\njob {number} was cancelled\n")
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
