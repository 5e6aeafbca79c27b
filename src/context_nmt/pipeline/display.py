"""What `context-nmt repro` shows of its stages: their lines and, on a terminal, below them how far each of them is."""

import sys
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from context_nmt.progress import lenient, on_terminal, read_line

WIDE = 110  # characters of a terminal from which on there is room for bars


class Display:
    """The lines of stages; on a terminal, the last line of progress of each is shown in place, and a line for all."""

    def __init__(self) -> None:
        self.live = on_terminal(sys.stdout)
        self._ended: set[str] = set()
        self._needed: set[str] = set()
        self._tasks: dict[str, TaskID] = {}
        console = Console()
        bar = (BarColumn(bar_width=20), TimeElapsedColumn()) if console.width >= WIDE else ()
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            *bar,
            TextColumn("{task.fields[text]}", markup=False),
            console=console,
            redirect_stdout=False,  # DVC's colorama would keep what takes the place of the streams
            redirect_stderr=False,
            transient=True,
            disable=not self.live,
        )
        self._all = self._bars.add_task("all stages", total=None, text="finding out what has changed")

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        with lenient(sys.stdout):
            self._bars.stop()

    @property
    def latest(self) -> str | None:
        """The stage that started last, of those that run."""
        return next(reversed(self._tasks), None)

    @property
    def ran(self) -> set[str]:
        """The stages that are done, and the one that started last."""
        return self._ended | ({self.latest} if self.latest else set())

    def begin(self, stage: str) -> None:
        """Show a line for a stage that starts."""
        self._tasks[stage] = self._bars.add_task(stage, total=None, text="")

    def end(self, stage: str, *, done: bool) -> None:
        """Take away the line of a stage."""
        if (task := self._tasks.pop(stage, None)) is not None:
            self._bars.remove_task(task)
        if done:
            self.count([stage], self._needed)

    def count(self, done: list[str], needed: set[str]) -> None:
        """Show how many of the stages that are needed are done."""
        self._ended.update(done)
        self._needed = needed
        if needed:
            count = len(self._ended & needed)
            self._bars.update(self._all, total=len(needed), completed=count, text=f"{count}/{len(needed)} done")

    def say(self, stage: str, line: str) -> None:
        """Print a line of a stage after its name, or show it in place if it is one of progress."""
        told = read_line(line) if self.live and stage in self._tasks else None
        with lenient(sys.stdout):
            if told:
                name = "" if told.name in stage else f"{told.name}: "
                percent = "" if told.percent is None else f"{told.percent}% "
                total = None if told.percent is None else 100
                text = f"{name}{percent}{told.text}"
                self._bars.update(self._tasks[stage], total=total, completed=told.percent or 0, text=text)
            elif self.live:
                self._bars.console.print(f"{stage} | {line}", markup=False, highlight=False, soft_wrap=True)
            else:
                print(f"{stage} | {line}", flush=True)
