"""Progress of long-running work on standard error: a bar on a terminal, if rich is installed, otherwise lines of text.

A line has a fixed form, which `context-nmt repro` recognises in the output of its stages:

    train: 12% 480/4,000 updates, 12,000 target tokens/s, 3:12 left

If torchrun has started several processes, only the first one prints.
"""

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple, Self, TextIO, TypeVar

from context_nmt.command_line import redirect_to_devnull
from context_nmt.files import UserError

if TYPE_CHECKING:
    import rich.progress

Item = TypeVar("Item")

# Environment variable: seconds between two lines; inf turns lines and bars off.
INTERVAL_VARIABLE = "CONTEXT_NMT_PROGRESS_SECONDS"
DEFAULT_INTERVAL = 30.0
REFRESH_SECONDS = 0.1  # between two states of a bar
LINE_PATTERN = re.compile(r"(?P<name>.+): (?:(?P<percent>\d+)% )?(?P<text>\d.* (?:left|so far))$")


class ProgressLine(NamedTuple):
    """The content of a line of progress."""

    name: str
    percent: int | None
    text: str


def read_line(line: str) -> ProgressLine | None:
    """Return the content of a line of progress; None for any other line."""
    if match := LINE_PATTERN.match(line):
        percent: str | None = match["percent"]
        return ProgressLine(match["name"], None if percent is None else int(percent), match["text"])
    return None


def say(line: str) -> None:
    """Print a line on standard error, above the bar if there is one; a closed stream is not an error."""
    bar = _under_way[0].bar if _under_way else None
    if _is_first_process():
        with ignore_broken_pipe(sys.stderr):
            if bar:
                bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
            else:
                print(line, file=sys.stderr, flush=True)


def tracked(
    items: Iterable[Item],
    name: str | None,
    total: float | None = None,
    unit: str = "",
    *,
    sizes: Iterable[float] | None = None,
    done: float = 0,
) -> Iterator[Item]:
    """Yield the items and show how many are done; with their `sizes`, show how much of their sum, plus `done`."""
    steps = None if sizes is None else list(sizes)
    with Progress(name, total if steps is None else done + sum(steps), unit, done=done) as progress:
        for number, item in enumerate(items):
            progress.step = 1 if steps is None else steps[number]
            yield item
            progress.advance(progress.step)


class Progress:
    """The progress of `total` units of work, of which `done` were done before; it is shown inside its `with` block.

    A Progress inside the block of another is not shown; it fills the current step of the outer one, which ends at
    `advance`. Without a name it is never shown.
    """

    def __init__(self, name: str | None, total: float | None = None, unit: str = "", *, done: float = 0) -> None:
        self.name, self.total, self.unit = name, total, unit
        self.done = self._done_at_start = done
        self.step = 1.0  # the amount that the next call of `advance` is expected to add
        self.bar: rich.progress.Progress | None = None
        self._done_inside, self._detail = 0.0, ""  # the amount of the current step that inner work has done
        self._since, self._next_refresh = time.monotonic(), 0.0
        self._outer: Progress | None = None
        self._is_hidden = False

    def __enter__(self) -> Self:
        self._since, self._seconds = time.monotonic(), _interval()
        self._outer = _under_way[-1] if _under_way else None
        _under_way.append(self)
        self._is_hidden = (
            self._outer is not None or self.name is None or not _is_first_process() or self._seconds == float("inf")
        )
        # Packed runs may have no rich.
        if not self._is_hidden and on_terminal(sys.stderr) and find_spec("rich"):
            self.bar = _bar()
            self.bar.add_task(self.name or "", total=self.total, text="")
            with ignore_broken_pipe(sys.stderr):
                self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        _under_way.remove(self)
        if self.bar:
            with ignore_broken_pipe(sys.stderr):
                self.bar.stop()

    def advance(self, amount: float = 1, detail: str = "") -> None:
        """Record that `amount` more units are done; `detail` replaces their number and speed."""
        self.done += amount
        self._done_inside, self._detail = 0.0, detail
        self._update_display()

    def _fraction_done(self) -> float | None:
        """Return the fraction of the work that is done; None if there is no total."""
        return None if self.total is None else min(1.0, (self.done + self._done_inside) / max(self.total, 1e-9))

    def _text(self) -> str:
        """Return percentage, number of units, speed and time."""
        done, seconds = self.done + self._done_inside, max(1e-9, time.monotonic() - self._since)
        done_here, fraction = done - self._done_at_start, self._fraction_done()
        total = "" if self.total is None else f"/{self.total:,.0f}"
        speed = f"{done_here / seconds:,.{0 if done_here / seconds >= 100 else 1}f}"
        detail = self._detail or f"{int(done):,}{total} {self.unit}, {speed} {self.unit}/s"
        if self.total is None or fraction is None:
            return f"{detail}, {_clock(seconds)} so far"
        left = _clock(seconds * max(0.0, self.total - done) / done_here) if done_here else "?"
        return f"{int(100 * fraction)}% {detail}, {left} left"

    def _update_display(self) -> None:
        global _last_line
        if self._outer is not None:
            self._outer._done_inside = max(self._outer._done_inside, self._outer.step * (self._fraction_done() or 0.0))
            self._outer._update_display()
        if self._is_hidden:
            return
        now = time.monotonic()
        if self.bar:
            if now > self._next_refresh:
                self._next_refresh = now + REFRESH_SECONDS
                with ignore_broken_pipe(sys.stderr):
                    (task,) = self.bar.task_ids
                    self.bar.update(task, completed=self.done + self._done_inside, text=self._text(), refresh=True)
        elif now >= _last_line + self._seconds:
            _last_line = now
            say(f"{self.name}: {self._text()}")


_under_way: list[Progress] = []  # outermost first
_last_line = time.monotonic()  # of this process, so that many short tasks are not silent


def _hide_in_worker() -> None:
    """In a forked worker, leave showing progress to the process that started it."""
    for progress in _under_way:
        progress.bar, progress._is_hidden = None, True


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_hide_in_worker)


def on_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


@contextmanager
def ignore_broken_pipe(stream: TextIO) -> Iterator[None]:
    """Continue if nobody reads a stream any more; discard the rest of its output."""
    try:
        yield
    except OSError:
        redirect_to_devnull(stream)


def _bar() -> "rich.progress.Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.fields[text]}", markup=False),
        console=Console(stderr=True),
        auto_refresh=False,  # no thread, because workers are forked meanwhile
        redirect_stdout=False,
        transient=True,
    )


def _interval() -> float:
    value = os.environ.get(INTERVAL_VARIABLE, DEFAULT_INTERVAL)
    try:
        return float(value)
    except ValueError:
        raise UserError(f"{INTERVAL_VARIABLE} is {value!r}; it must be a number of seconds, or inf") from None


def _is_first_process() -> bool:
    return os.environ.get("WORLD_SIZE", "1") == "1" or os.environ.get("RANK", "0") == "0"


def _clock(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
