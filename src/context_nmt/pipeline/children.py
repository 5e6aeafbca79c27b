"""DVC commands as child processes, whose output is passed on and of which none is left behind."""

import os
import queue
import re
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

from context_nmt.files import UserError

PATIENCE = 20  # seconds that interrupted stages have to tidy up
# What DVC says of every stage, and its advice; its errors and warnings, and what a stage prints, are passed on.
ROUTINE = re.compile(
    r"Running stage '|> |Updating lock file|Generating lock file|Stage '.*' (didn't change|is cached)"
    r"|Data and pipelines|To track the changes with git|\tgit add |To enable auto staging"
    r"|\tdvc config core\.autostage|Use `dvc push`"
)


class Children:
    """Processes whose output is passed on, each line behind the stage's name; on leaving, none of them is left."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        self.running: dict[str, subprocess.Popen[str]] = {}
        self._finished: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._began: dict[str, float] = {}
        self._quiet = False

    def __enter__(self) -> "Children":
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it
                signal.signal(number, signal.default_int_handler)  # these end the children, too
        return self

    def __exit__(self, *_: object) -> None:
        self._quiet = True
        deadline = time.monotonic() + PATIENCE
        for process in self.running.values():
            os.killpg(process.pid, signal.SIGINT)
        for process in self.running.values():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                deadline = 0.0
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # also what a stage that died at once has left

    def run(self, name: str, folder: Path, *arguments: str) -> None:
        """Run one DVC command to its end."""
        self.start(name, folder, *arguments)
        self.wait()

    def start(self, name: str, folder: Path, *arguments: str) -> None:
        """Start one DVC command in a folder, in a process group of its own that a signal reaches as a whole."""
        self._say(name, "started")
        self._began[name] = time.monotonic()
        self.running[name] = subprocess.Popen(
            ["dvc", "--wait-for-lock", *arguments],  # noqa: S607 (that of the environment)
            cwd=folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=_take_interrupts,
        )
        threading.Thread(target=self._pass_on, args=(name, self.running[name]), daemon=True).start()

    def wait(self) -> str:
        """Wait until one process has ended, and return its name; raises UserError if it failed."""
        name = self._finished.get()
        status = self.running.pop(name).wait()
        if status:
            raise UserError(f"{name}: failed with exit status {status}; its output is above")
        self._say(name, f"done in {time.monotonic() - self._began[name]:.0f} s")
        return name

    def _pass_on(self, name: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() and not self._quiet and not ROUTINE.match(line):
                self._say(name, line.rstrip())
        self._finished.put(name)

    def _say(self, name: str, text: str) -> None:
        print(f"{name} | {text}", flush=True)


def _take_interrupts() -> None:
    """Where this process ignores Ctrl-C, as what a script starts with & does, its children would, too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
