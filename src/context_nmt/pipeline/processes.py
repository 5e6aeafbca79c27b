"""Run DVC commands as child processes, show their output, and leave no process running."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from context_nmt.command_line import Unfinished
from context_nmt.files import UserError
from context_nmt.progress import INTERVAL_VARIABLE, ignore_broken_pipe, on_terminal, read_line

CHILD_VARIABLE = "CONTEXT_NMT_CHILD"  # set for a DVC that `context-nmt repro` or a job starts
SHUTDOWN_SECONDS = 20  # that interrupted stages have to clean up
WIDTH_FOR_BARS = 110  # characters; a narrower terminal has no room for bars
FAILURE_PREFIX = "failed: "  # before the reason
ERROR_LINE = re.compile(r"ERROR: failed to reproduce '(?:[^']*:)?([^']*)': (.*)$")
RUNNING_LINE = re.compile(r"Running stage '(?:.*:)?(.*)':$")
# Other lines that DVC prints for every stage, and its advice. These are dropped; all others are printed.
ROUTINE_LINE = re.compile(
    r"Updating lock file|Generating lock file|Stage '.*' (didn't change|is cached)"
    r"|Data and pipelines|To track the changes with git|\tgit add |To enable auto staging"
    r"|\tdvc config core\.autostage|Use `dvc push`"
)


class Line(NamedTuple):
    """A line of a stage's output, or a message that the stage has started, is done or has failed."""

    stage: str
    text: str
    kind: str = "own"  # or started, done, failed


class Display:
    """The lines of all stages; on a terminal, below them, the progress of each stage and of all together."""

    def __init__(self) -> None:
        self.live = on_terminal(sys.stdout)
        self._lock = threading.Lock()  # for printing: each stage has a thread that says its lines
        self._needed: set[str] = set()
        self._done: set[str] = set()
        self._tasks: dict[str, TaskID] = {}
        console = Console()
        bar = (BarColumn(bar_width=20), TimeElapsedColumn()) if console.width >= WIDTH_FOR_BARS else ()
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            *bar,
            TextColumn("{task.fields[text]}", markup=False),
            console=console,
            redirect_stdout=False,  # DVC's colorama would keep the replaced streams
            redirect_stderr=False,
            transient=True,
            disable=not self.live,
        )
        self._all = self._bars.add_task("all stages", total=None, text="finding out what has changed")

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        with ignore_broken_pipe(sys.stdout):
            self._bars.stop()

    def count(self, done: Iterable[str], needed: Iterable[str] = ()) -> None:
        """Add stages that are done and stages that are needed, and show how many of the latter are done."""
        self._done.update(done)
        self._needed.update(needed)
        if total := len(self._needed):
            count = len(self._done & self._needed)
            self._bars.update(self._all, total=total, completed=count, text=f"{count}/{total} done")

    def say(self, line: Line) -> None:
        """Print a line after the name of its stage, or update the stage's progress if it is a progress line."""
        stage, text, kind = line
        if kind == "started":
            self._tasks[stage] = self._bars.add_task(stage, total=None, text="")
        elif kind in ("done", "failed"):
            if (task := self._tasks.pop(stage, None)) is not None:
                self._bars.remove_task(task)
            self.count([stage] if kind == "done" else [])
        progress = read_line(text) if self.live and stage in self._tasks else None
        with self._lock, ignore_broken_pipe(sys.stdout):
            if progress:
                name = "" if progress.name in stage else f"{progress.name}: "
                percent = "" if progress.percent is None else f"{progress.percent}% "
                total, completed = None if progress.percent is None else 100, progress.percent or 0
                progress_text = f"{name}{percent}{progress.text}"
                self._bars.update(self._tasks[stage], total=total, completed=completed, text=progress_text)
            elif self.live:
                self._bars.console.print(f"{stage} | {text}", markup=False, highlight=False, soft_wrap=True)
            else:
                print(f"{stage} | {text}", flush=True)


def stage_lines(stage: str, output: Iterable[str]) -> Iterator[Line]:
    """Yield the lines of DVC's output that are shown, each with its stage; the first lines belong to `stage`."""
    follows_running = False
    for line in output:
        is_command, follows_running = follows_running and line.startswith("> "), False  # the line after RUNNING_LINE
        if started := RUNNING_LINE.match(line):
            stage, follows_running = started[1], True
            yield Line(stage, "started", "started")
        elif failed := ERROR_LINE.match(line):
            stage = failed[1]
            yield Line(stage, f"{FAILURE_PREFIX}{failed[2]}", "failed")
        elif line.strip() and not is_command and not ROUTINE_LINE.match(line):
            yield Line(stage, line.rstrip())


class FinishedProcess(NamedTuple):
    """A process that has ended, and if it failed, the stage that DVC named or had started."""

    name: str
    failed_stage: str | None = None
    reason: str = ""


class StageProcesses:
    """Child processes, which end when the context is left; a display shows each line of their output."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.display = Display()
        shown = {INTERVAL_VARIABLE: "1"} if self.display.live else {}
        self.environment = shown | environment | {CHILD_VARIABLE: "1"}
        self.running: dict[str, subprocess.Popen[str]] = {}
        self._finished: queue.SimpleQueue[FinishedProcess] = queue.SimpleQueue()
        self._quiet = False

    def __enter__(self) -> Self:
        signal.signal(signal.SIGTERM, _stop)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup ignores it
            signal.signal(signal.SIGHUP, signal.default_int_handler)  # so that it also ends the children
        self.display.__enter__()
        return self

    def __exit__(self, _: object, reason: BaseException | None, *__: object) -> None:
        try:
            self._end(signal.SIGTERM if isinstance(reason, Unfinished) else signal.SIGINT)
        finally:
            self.display.__exit__()

    def _end(self, signal_number: signal.Signals) -> None:
        """Send a signal to all children and wait until they have ended; at SIGTERM, trainings save their state."""
        self._quiet = True
        deadline = time.monotonic() + SHUTDOWN_SECONDS
        for process in self.running.values():
            _signal(process, signal_number)
        for process in self.running.values():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
                # At SIGTERM, a shell between DVC and a training ends at once, and DVC with it.
                while signal_number == signal.SIGTERM and time.monotonic() < deadline and _signal(process, 0):
                    time.sleep(0.05)
            except (subprocess.TimeoutExpired, KeyboardInterrupt, Unfinished):
                deadline = 0.0
            _signal(process, signal.SIGKILL)  # for children of a stage that ended at once

    def run(self, name: str, folder: Path, *arguments: str) -> None:
        """Run a DVC command and wait until it has ended; raise UserError if it fails."""
        self.start(name, folder, *arguments)
        _, failed_stage, reason = self.wait()
        if failed_stage:
            raise UserError(f"{failed_stage}: {reason}; its output is above")

    def start(self, name: str, folder: Path, *arguments: str, **environment: str) -> None:
        """Start a DVC command in a folder, in its own process group, so that a signal reaches all its processes."""
        self.running[name] = subprocess.Popen(
            [sys.executable, "-m", "context_nmt.pipeline.dvc", "--wait-for-lock", *arguments],
            cwd=folder,
            env=self.environment | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        threading.Thread(target=self._show_output, args=(name, self.running[name]), daemon=True).start()
        threading.Thread(target=self._kill_leftovers, args=(self.running[name],), daemon=True).start()

    def wait(self) -> FinishedProcess:
        """Wait until a process has ended, and return it."""
        finished = self._finished.get()
        del self.running[finished.name]
        return finished

    def _show_output(self, name: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        current, started, reason = name, 0.0, ""
        for line in stage_lines(name, process.stdout):
            if started and (line.kind == "started" or line.stage != current):
                self._say(Line(current, f"done in {time.monotonic() - started:.0f} s", "done"))
            current, started = line.stage, time.monotonic() if line.kind == "started" else started
            if line.kind == "failed":
                started, reason = 0.0, line.text.removeprefix(FAILURE_PREFIX)
            else:
                self._say(line)
        if status := process.wait():
            ending = f"was killed by signal {-status}" if status < 0 else f"ended with exit status {status}"
            reason = reason or f"DVC {ending}"
            self._say(Line(current, f"{FAILURE_PREFIX}{reason}", "failed"))
            self._finished.put(FinishedProcess(name, current, reason))
        else:
            if started:
                self._say(Line(current, f"done in {time.monotonic() - started:.0f} s", "done"))
            self._finished.put(FinishedProcess(name))

    def _kill_leftovers(self, process: subprocess.Popen[str]) -> None:
        """Kill the processes that a stage has left when DVC has ended; they could keep the output open for ever."""
        process.wait()
        if not self._quiet:  # else trainings may be saving their state, and `_end` waits for them
            _signal(process, signal.SIGKILL)

    def _say(self, line: Line) -> None:
        if not self._quiet:
            self.display.say(line)


def _signal(process: subprocess.Popen[str], number: int) -> bool:
    """Send a signal to the group of a process, and return whether the group still has a process."""
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return False
    return True


def _stop(*_: object) -> NoReturn:
    raise Unfinished("SIGTERM; the same command continues")
