"""Run DVC commands as child processes, print their output and leave no process running."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

from context_nmt.command_line import Unfinished
from context_nmt.files import UserError
from context_nmt.pipeline.display import Display
from context_nmt.progress import INTERVAL

PATIENCE = 20  # seconds that interrupted stages have to tidy up
FAILED = re.compile(r"ERROR: failed to reproduce '(?:[^']*:)?([^']*)': (.*)$")
RUNNING = re.compile(r"Running stage '(?:.*:)?(.*)':$")
DVC = "import sys; from context_nmt.pipeline.dvc import run; sys.exit(run(sys.argv[1:], as_child=True))"
# Other lines that DVC prints for every stage, and its advice; these are dropped, all others are printed.
ROUTINE = re.compile(
    r"Updating lock file|Generating lock file|Stage '.*' (didn't change|is cached)"
    r"|Data and pipelines|To track the changes with git|\tgit add |To enable auto staging"
    r"|\tdvc config core\.autostage|Use `dvc push`"
)


class Ended(NamedTuple):
    """A process that has ended."""

    name: str
    failure: str  # its reason, or nothing
    failed_stage: str | None  # the one that DVC named or had begun


class Children:
    """Child processes that end with the context; a display shows each line of their output."""

    def __init__(self, environment: dict[str, str], *, inherited: Sequence[int] = ()) -> None:
        self.display, self.inherited = Display(), inherited  # open files that DVC keeps open, too
        self.environment = ({INTERVAL: "1"} if self.display.live else {}) | environment
        self.running: dict[str, subprocess.Popen[str]] = {}
        self._finished: queue.SimpleQueue[Ended] = queue.SimpleQueue()
        self._quiet = False

    def __enter__(self) -> "Children":
        signal.signal(signal.SIGTERM, _stop)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as nohup does
            signal.signal(signal.SIGHUP, signal.default_int_handler)  # so that it ends the children, too
        self.display.__enter__()
        return self

    def __exit__(self, _: object, reason: BaseException | None, *__: object) -> None:
        try:
            self._end(signal.SIGTERM if isinstance(reason, Unfinished) else signal.SIGINT)
        finally:
            self.display.__exit__()

    def _end(self, signal_number: signal.Signals) -> None:
        """Send a signal to all children and wait for their end; at SIGTERM, trainings save their state."""
        self._quiet = True
        deadline = time.monotonic() + PATIENCE
        for process in self.running.values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal_number)
        for process in self.running.values():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
                # A shell between DVC and a training dies of SIGTERM at once, and DVC with it.
                while signal_number == signal.SIGTERM and time.monotonic() < deadline and _is_alive(process.pid):
                    time.sleep(0.05)
            except (subprocess.TimeoutExpired, KeyboardInterrupt, Unfinished):
                deadline = 0.0
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # also children of a stage that died at once

    def run(self, name: str, folder: Path, *arguments: str) -> None:
        """Run one DVC command and wait for it; raise UserError if it fails."""
        self.start(name, folder, *arguments)
        if failure := self.wait().failure:
            raise UserError(f"{failure}; its output is above")

    def start(self, name: str, folder: Path, *arguments: str, **environment: str) -> None:
        """Start one DVC command in a folder, in a process group of its own, so that a signal reaches all of it."""
        self.running[name] = subprocess.Popen(
            [sys.executable, "-c", DVC, "--wait-for-lock", *arguments],
            cwd=folder,
            env=self.environment | environment,
            pass_fds=self.inherited,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        threading.Thread(target=self._pass_on, args=(name, self.running[name]), daemon=True).start()
        threading.Thread(target=self._tidy, args=(self.running[name],), daemon=True).start()

    def wait(self) -> Ended:
        """Wait until one process has ended."""
        ended = self._finished.get()
        del self.running[ended.name]
        return ended

    def _pass_on(self, name: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        stage, began, follows_running, failure = name, 0.0, False, ""
        self.display.begin(name)
        for line in process.stdout:
            is_command, follows_running = follows_running and line.startswith("> "), False  # the line after RUNNING
            if match := RUNNING.match(line):
                self._done(stage, began)
                stage, began = match[1], time.monotonic()
                self.display.begin(stage)
                self._say(stage, "started")
                follows_running = True
            elif match := FAILED.match(line):
                if stage != match[1]:
                    self._done(stage, began)
                stage, began, failure = match[1], 0.0, f"{match[1]}: {match[2]}"
            elif line.strip() and not is_command and not ROUTINE.match(line):
                self._say(stage, line.rstrip())
        status = process.wait()
        self._done(stage, 0.0 if status else began)
        if status:
            how = f"was killed by signal {-status}" if status < 0 else f"ended with exit status {status}"
            failure = failure or f"{stage}: DVC {how}"
            self._say(stage, f"failed: {failure.removeprefix(f'{stage}: ')}")
        self._finished.put(Ended(name, failure, stage) if status else Ended(name, "", None))

    def _tidy(self, process: subprocess.Popen[str]) -> None:
        """End what a stage has left when DVC has ended; it could keep the output open for ever."""
        process.wait()
        if not self._quiet:  # otherwise trainings are saving their state, and `_end` waits for them
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def _done(self, stage: str, began: float) -> None:
        self.display.end(stage, done=began > 0)
        if began:
            self._say(stage, f"done in {time.monotonic() - began:.0f} s")

    def _say(self, stage: str, text: str) -> None:
        if not self._quiet:
            self.display.say(stage, text)


def _stop(*_: object) -> NoReturn:
    raise Unfinished("SIGTERM; the same command continues")


def _is_alive(group: int) -> bool:
    """Return whether a process group has a process."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
