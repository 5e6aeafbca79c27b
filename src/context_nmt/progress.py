"""Progress of long-running work on standard error: a bar on a terminal, elsewhere a line of text from time to time.

A line has a fixed form, by which `context-nmt repro` recognises it in the output of its stages:

    train: 12% 480/4,000 updates, 12,000 target tokens/s, 3:12 left

If torchrun has started several processes, only the first one prints.
"""

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Self, TextIO, TypeVar

from context_nmt.command_line import drop
from context_nmt.files import UserError

if TYPE_CHECKING:
    import rich.progress

Item = TypeVar("Item")

INTERVAL = "CONTEXT_NMT_PROGRESS_SECONDS"  # environment variable: seconds between two lines; inf for no lines, no bars
SECONDS = 30.0  # its default
REFRESH = 0.1  # seconds between two states of a bar
LINE = re.compile(r"(?P<name>.+): (?:(?P<percent>\d+)% )?(?P<text>\d.* (?:left|so far))$")


class ProgressLine(NamedTuple):
    """The content of a line of progress."""

    name: str
    percent: int | None
    text: str


def read_line(line: str) -> ProgressLine | None:
    """Return the content of a line of progress, and None for any other line."""
    if match := LINE.match(line):
        percent: str | None = match["percent"]
        return ProgressLine(match["name"], None if percent is None else int(percent), match["text"])
    return None


def say(line: str) -> None:
    """Print a line on standard error, above the bar if there is one; a closed stream is no error."""
    bar = _under_way[0].bar if _under_way else None
    if _is_first():
        with lenient(sys.stderr):
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
    """Yield the items and show how many are done; with `sizes`, one for each item, how much of their sum and `done`."""
    steps = None if sizes is None else list(sizes)
    with Progress(name, total if steps is None else done + sum(steps), unit, done=done) as progress:
        for number, item in enumerate(items):
            progress.step = 1 if steps is None else steps[number]
            yield item
            progress.advance(progress.step)


class Progress:
    """Work of `total` units, shown while it is entered, of which `done` were done before.

    Inside another one, it is not shown itself but moves on the other's current step, which ends at `advance`. Without
    a name, it is shown nowhere else.
    """

    def __init__(self, name: str | None, total: float | None = None, unit: str = "", *, done: float = 0) -> None:
        self.name, self.total, self.unit = name, total, unit
        self.done = self._before = done
        self.step = 1.0  # what the next call of `advance` is expected to add
        self.bar: rich.progress.Progress | None = None
        self._inside, self._detail = 0.0, ""  # the part of the step that the work inside has done
        self._since, self._next_refresh = time.monotonic(), 0.0
        self._outer: Progress | None = None
        self._quiet = False

    def __enter__(self) -> Self:
        self._since, self._seconds = time.monotonic(), _interval()
        self._outer = _under_way[-1] if _under_way else None
        _under_way.append(self)
        self._quiet = self._outer is not None or self.name is None or not _is_first() or self._seconds == float("inf")
        if not self._quiet and on_terminal(sys.stderr):
            self.bar = _bar()
            self.bar.add_task(self.name or "", total=self.total, text="")
            with lenient(sys.stderr):
                self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        _under_way.remove(self)
        if self.bar:
            with lenient(sys.stderr):
                self.bar.stop()

    def advance(self, amount: float = 1, detail: str = "") -> None:
        """Record that `amount` more units are done; `detail` takes the place of their number and speed."""
        self.done += amount
        self._inside, self._detail = 0.0, detail
        self._moved()

    def _share(self) -> float | None:
        """Return the share of the work that is done; None if there is no total."""
        return None if self.total is None else min(1.0, (self.done + self._inside) / max(self.total, 1e-9))

    def _text(self) -> str:
        """Return per cent, number of units, speed and time."""
        done, passed = self.done + self._inside, max(1e-9, time.monotonic() - self._since)
        gained, share = done - self._before, self._share()
        total = "" if self.total is None else f"/{self.total:,.0f}"
        speed = f"{gained / passed:,.{0 if gained / passed >= 100 else 1}f}"
        detail = self._detail or f"{int(done):,}{total} {self.unit}, {speed} {self.unit}/s"
        if self.total is None or share is None:
            return f"{detail}, {_clock(passed)} so far"
        left = _clock(passed * max(0.0, self.total - done) / gained) if gained else "?"
        return f"{int(100 * share)}% {detail}, {left} left"

    def _moved(self) -> None:
        global _last_line
        if self._outer is not None:
            self._outer._inside = max(self._outer._inside, self._outer.step * (self._share() or 0.0))
            self._outer._moved()
        if self._quiet:
            return
        now = time.monotonic()
        if self.bar:
            if now > self._next_refresh:
                self._next_refresh = now + REFRESH
                with lenient(sys.stderr):
                    (task,) = self.bar.task_ids
                    self.bar.update(task, completed=self.done + self._inside, text=self._text(), refresh=True)
        elif now >= _last_line + self._seconds:
            _last_line = now
            say(f"{self.name}: {self._text()}")


_under_way: list[Progress] = []  # from the outermost
_last_line = time.monotonic()  # for all work of this process, so that many short tasks are not silent


def _be_quiet() -> None:
    """Leave the progress of the work that a forked worker is part of to the process that started it."""
    for progress in _under_way:
        progress.bar, progress._quiet = None, True


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_be_quiet)


def on_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


@contextmanager
def lenient(stream: TextIO) -> Iterator[None]:
    """Continue without a stream that nobody reads any more, such as a closed pipe."""
    try:
        yield
    except OSError:
        drop(stream)


def _bar() -> "rich.progress.Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.fields[text]}", markup=False),
        console=Console(stderr=True),
        auto_refresh=False,  # no thread: workers are forked meanwhile
        redirect_stdout=False,
        transient=True,
    )


def _interval() -> float:
    given = os.environ.get(INTERVAL, SECONDS)
    try:
        return float(given)
    except ValueError:
        raise UserError(f"{INTERVAL} is {given!r}; it must be a number of seconds, or inf") from None


def _is_first() -> bool:
    return os.environ.get("WORLD_SIZE", "1") == "1" or os.environ.get("RANK", "0") == "0"


def _clock(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
