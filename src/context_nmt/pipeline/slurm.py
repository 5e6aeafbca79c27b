"""Run the stages of an experiment as jobs of Slurm, one job per stage.

The graph becomes dependencies between jobs, so no process has to stay alive. In each job, DVC decides whether the stage
has changed; the last line of the job's log reports how it ended. This module calls sbatch itself, because submitit
starts pickled Python functions and asks sacct how jobs ended, and not every cluster has sacct.
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
from context_nmt.pipeline.jobs import DONE, FAILED_STATES, StageState, check_states
from context_nmt.pipeline.processes import CHILD_VARIABLE, FAILURE_PREFIX, Display, Line, stage_lines
from context_nmt.settings.launch import LaunchSettings, launch_key
from context_nmt.settings.parameters import Experiment

GRACE_SECONDS = 120  # between the signal to end and the time limit of a job
POLL_SECONDS = 5.0  # between two queries of the queue
BUSY_SECONDS = 60  # for which a query is repeated if Slurm does not answer
VISIBLE_SECONDS = 75  # until a file that one node has written is visible on all; NFS takes up to 60
LOST = StageState("lost", "it left the queue without reporting how it ended; its log may say more")
Jobs = dict[str, tuple[str, list[str]]]  # a stage -> the number of its job, and the stages that it depends on
# Lines of JOB_SCRIPT in a log. Slurm can restart a job, and Slurm's own messages can follow the last line.
BEGAN_LINE = re.compile(r"job \d+ began on ")
ENDED_LINE = re.compile(r"job \d+ (?:was cancelled|ended with (\d+) after (\d+) s)$")

# If Slurm wrongly considers a node dead, it restarts the job elsewhere while the first start is still running. The
# second start waits until the script and DVC of the first start have ended, and then until a training that DVC may have
# left has ended. It releases the training's lock at once, because the training that it starts takes it. DVC and its
# stage run in their own session. Slurm sends SIGTERM to all processes of the job, on all nodes, and the script sends it
# to that session again: a training saves its state, and DVC waits for it. A job that Slurm stops does not report how it
# ended, because Slurm may restart it, unless Slurm has refused to requeue it at its time limit.
JOB_SCRIPT = """\
say() {{ echo; echo "job $SLURM_JOB_ID $1"; }}
wait_for_lock() {{ flock -n $1 || {{ echo 'waiting: an earlier start of this job still runs'; flock $1; }}; }}
stop() {{ cause=${{cause:-$1}}; kill -s TERM -- -$!; }}
requeue() {{
  echo "the time limit is near; the rest continues when this job is restarted"
  for attempt in $(seq {attempts}); do
    answer=$(scontrol requeue $SLURM_JOB_ID 2>&1) && return
    sleep {pause}
    kill -0 $! 2>/dev/null || return
  done
  cause=${{cause:-late}} reason="$reason; scontrol requeue: "$(echo $answer)
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
test "$cause" = stopped && exit $status
test "$cause" = late && printf '\\n%s\\n' "ERROR: failed to reproduce '{stage}': $reason"
say "ended with $status after $(($(date +%s) - began)) s"
exit $status
"""


class Slurm:
    """The jobs of one experiment, recorded in runs/scratch/jobs."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment, self.folder = experiment, experiment.scratch("jobs")
        self.record = self.folder / "submitted.json"  # not jobs.json, which had another format

    def read_jobs(self) -> Jobs:
        """Return the jobs that were submitted last."""
        recorded = read_json(self.record) if self.record.is_file() else []
        return {stage: (number, upstream) for stage, number, upstream in recorded}

    def log(self, stage: str) -> Path:
        """Return the log file of a stage."""
        return self.folder / f"{stage}.log"

    def submit(self, chosen: Mapping[str, bool], stages: Mapping[str, Stage], launch: LaunchSettings) -> None:
        """Submit jobs for the chosen stages; none starts before all are submitted."""
        self.folder.mkdir(parents=True, exist_ok=True)
        jobs: Jobs = {}
        try:
            with capture_signals(
                signal.SIGINT, signal.SIGTERM, signal.SIGHUP
            ) as signals:  # else a number could be lost
                write_json(self.record, [])
                for stage, rebuilds_missing in chosen.items():
                    upstream = sorted(stages[stage].upstream & chosen.keys())
                    dependencies = sorted((jobs[name][0] for name in upstream), key=int)
                    number = self._sbatch(stage, dependencies, launch, rebuilds_missing=rebuilds_missing)
                    jobs[stage] = number, upstream
                    write_json(self.record, [(name, *job) for name, job in jobs.items()])
                    after = f" (after {', '.join(dependencies)})" if dependencies else ""
                    print(f"{number} {stage}{after}", flush=True)
                    if signals:
                        raise KeyboardInterrupt
            for path in self.folder.glob("*.log"):
                path.unlink()  # of earlier jobs
            if jobs:
                _call("scontrol", "release", ",".join(number for number, upstream in jobs.values() if not upstream))
                print(f"{len(jobs)} jobs submitted; see context-nmt status and context-nmt cancel")
        except BaseException:
            if jobs:
                _call("scancel", *(number for number, _ in jobs.values()), patience=BUSY_SECONDS)
                self.record.unlink()
                print(f"{len(jobs)} jobs cancelled, because not all could be submitted", flush=True)
            raise

    def _sbatch(self, stage: str, dependencies: list[str], launch: LaunchSettings, *, rebuilds_missing: bool) -> str:
        """Submit the job of a stage, held if it depends on no other, and return its number."""
        settings, key = launch.for_stage(stage), launch_key(stage)
        minutes = settings.hours and max(1, math.ceil(60 * settings.hours))
        grace = min(GRACE_SECONDS, 15 * minutes) if minutes else GRACE_SECONDS
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
            "dependency": f"afterok:{':'.join(dependencies)}" if dependencies else None,
        }
        arguments = [f"--{name}={value}" for name, value in options.items() if value is not None]
        arguments += ["--kill-on-invalid-dep=yes" if dependencies else "--hold", *shlex.split(settings.options)]
        training = [self.experiment.training_lock(stage.partition("@")[2])] if key == "train" else []
        dvc = [sys.executable, "-m", "context_nmt.pipeline.dvc", "--wait-for-lock", "repro", "--single-item"]
        script = JOB_SCRIPT.format(
            lock=shlex.quote(str((self.folder / f"{stage}.lock").resolve())),
            training_locks=shlex.join(str(path.resolve()) for path in training),
            path=shlex.quote(str(Path(sys.executable).parent)),
            as_child=CHILD_VARIABLE,
            at_the_limit="requeue" if training else "stop late",
            attempts=math.ceil(grace / POLL_SECONDS / 2),  # so that Slurm's answer is known at the time limit
            pause=POLL_SECONDS,
            command=shlex.join([*dvc, *([] if rebuilds_missing else ["--allow-missing"]), stage]),
            stage=stage,
            key=key,
        )
        return _call("sbatch", "--parsable", "--requeue", *arguments, f"--wrap={script}").split(";")[0].strip()

    def require_idle(self) -> None:
        """Raise UserError if a job is queued or running."""
        jobs = self.read_jobs()
        states = self.states(jobs)
        if active := [number for stage, (number, _) in jobs.items() if not states[stage].has_ended]:
            raise UserError(
                f"{self.experiment.folder}: {len(active)} jobs are still in Slurm's queue, the first is {active[0]};"
                " wait for them (context-nmt status), or stop them (context-nmt cancel)"
            )

    def states(self, jobs: Jobs) -> dict[str, StageState]:
        """Return the state of each stage; query the queue only if a job has not reported its end."""
        states = dict[str, StageState]()
        final = {stage: self.read_log(stage)[1] for stage in jobs}
        queue = _queue() if None in final.values() else {}
        for stage, (number, upstream) in jobs.items():
            is_hopeless = any(states[name].word in (*FAILED_STATES, "not run") for name in upstream)
            states[stage] = final[stage] or queue.get(number) or (StageState("not run") if is_hopeless else LOST)
        return states

    def read_log(self, stage: str) -> tuple[list[Line], StageState | None]:
        """Return the complete lines in the log of a stage, and its final state, or None if that is not reported yet."""
        content = self.log(stage).read_bytes().decode("utf-8", "replace") if self.log(stage).is_file() else ""
        lines, end, end_line, reason = list[Line](), None, 0, ""
        for line in stage_lines(stage, content[: content.rfind("\n") + 1].splitlines()):
            if line.kind == "failed":  # shown at the end, because Slurm may restart the job
                reason = line.text.removeprefix(FAILURE_PREFIX)
                continue
            if BEGAN_LINE.match(line.text):
                end, reason = None, ""
            elif match := ENDED_LINE.match(line.text):
                end, end_line = match, len(lines)
            lines.append(line)
        if end is None:
            return lines, None
        status, seconds = end.groups()
        if status is None:
            return lines, StageState("cancelled")
        state = DONE if status == "0" else StageState("failed", reason or f"its job ended with exit status {status}")
        lines[end_line] = Line(
            stage, f"done in {seconds} s" if state == DONE else f"{FAILURE_PREFIX}{state.detail}", state.word
        )
        return lines, state

    def follow(self, display: Display) -> None:
        """Show the output of the jobs until all have ended; raise UserError if a stage failed or the record changed."""
        jobs, shown, idle_queries = self.read_jobs(), Counter[str](), 0
        while True:
            if self.read_jobs() != jobs:
                raise UserError(f"{self.record} was removed or replaced; context-nmt repro runs the remaining stages")
            states = self.states(jobs)
            for stage in jobs:
                lines, _ = self.read_log(stage)
                for line in lines[shown[stage] :]:
                    display.say(line)
                shown[stage] = len(lines)
            display.count([stage for stage, state in states.items() if state == DONE], states)
            idle_queries += 1
            if not all(state.has_ended for state in states.values()):
                idle_queries = 0
            elif LOST not in states.values() or idle_queries * POLL_SECONDS > VISIBLE_SECONDS:
                break
            time.sleep(POLL_SECONDS)
        check_states(states, f"above, and in {self.folder}")

    def cancel(self) -> int:
        """Cancel the jobs that have not ended, wait until they have, and return their number."""
        jobs = self.read_jobs()
        states = self.states(jobs)
        active = {stage: number for stage, (number, _) in jobs.items() if not states[stage].has_ended}
        if active:
            _call("scancel", *active.values(), patience=BUSY_SECONDS)
        while active and {*active.values()} & _queue().keys():
            time.sleep(POLL_SECONDS / 4)
        for stage, number in active.items():
            if self.read_log(stage)[1] is None:
                with self.log(stage).open("a", encoding="utf-8") as log:
                    log.write(f"\njob {number} was cancelled\n")
        return len(active)


def _queue() -> dict[str, StageState]:
    """Return the state of each of this user's jobs in the queue, by number."""
    states = {}
    for line in _call("squeue", "--me", "--all", "--noheader", "--format=%i|%T|%r", patience=BUSY_SECONDS).splitlines():
        number, word, reason = line.strip().split("|", 2)
        pending = StageState("waiting") if reason == "Dependency" else StageState("queued", reason)
        states[number] = pending if word == "PENDING" else StageState("running")
    return states


def _call(*command: str, patience: float = 0) -> str:
    """Return the output of a Slurm program; if it fails, call it again for `patience` seconds, then raise UserError."""
    try:  # in its own session, where Ctrl-C does not reach it
        return subprocess.run(command, capture_output=True, text=True, check=True, start_new_session=True).stdout
    except FileNotFoundError:
        raise UserError(f"no program {command[0]}: this machine has no Slurm") from None
    except subprocess.CalledProcessError as error:
        if patience <= 0:
            reason = " ".join(error.stderr.split()) or f"exit status {error.returncode}"
            raise UserError(f"{command[0]}: {reason}") from None
    time.sleep(POLL_SECONDS)
    return _call(*command, patience=patience - POLL_SECONDS)
