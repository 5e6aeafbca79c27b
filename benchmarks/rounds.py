"""Interleaved rounds A B A B …, each contender in a process of its own that stays alive between rounds."""

import multiprocessing
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import psutil

from context_nmt.files import UserError
from context_nmt.progress import INTERVAL, Progress, say

CORES = len(os.sched_getaffinity(0))

Work = Callable[[], tuple[float, Any]]  # one round: returns the amount of work, in the contender's unit, and the output
Prepare = Callable[..., AbstractContextManager[Work]]


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A program to measure: `prepare(*arguments)` is entered once, in its process, and yields the work of a round."""

    name: str
    prepare: Prepare
    arguments: tuple[Any, ...] = ()
    unit: str
    threads: int = CORES


@dataclass
class Measured:
    """The measurements of one contender."""

    unit: str
    speeds: list[float] = field(default_factory=list)  # units per second, one per round
    memory: float = 0.0  # MB, the peak of its process and all child processes
    output: Any = None  # of the last round

    @property
    def median(self) -> float:
        return statistics.median(self.speeds)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        speeds = [_rounded(speed) for speed in self.speeds]
        return {"unit": self.unit, "median": _rounded(self.median), "rounds": speeds, "memory_mb": round(self.memory)}


def ratio(measured: dict[str, Measured], of: str, to: str, *, factor: float = 1.0) -> dict[str, Any]:
    """Compare two contenders of one measurement round by round; one unit of `of` counts as `factor` units of `to`."""
    pairs = zip(measured[of].speeds, measured[to].speeds, strict=True)
    rounds = [speed * factor / base_speed for speed, base_speed in pairs]
    spread = {"median": statistics.median(rounds), "minimum": min(rounds), "maximum": max(rounds)}
    spread = {key: round(value, 3) for key, value in spread.items()}
    return {"of": of, "to": to} | spread | {"rounds": [round(value, 4) for value in rounds]}


def measure(part: str, contenders: list[Contender], rounds: int) -> dict[str, Measured]:
    """Run all contenders in turn, `rounds` times, and report each round on standard error.

    Raise UserError for a contender that fails; its traceback is above.
    """
    results = {contender.name: Measured(contender.unit) for contender in contenders}
    with ExitStack() as stack:
        say(f"{part}: getting ready")
        runners = {contender.name: stack.enter_context(running(contender)) for contender in contenders}
        progress = stack.enter_context(Progress(part, rounds * len(contenders), "turns"))
        for number in range(1, rounds + 1):
            for name, runner in runners.items():
                result = results[name]
                with watched(runner.process.pid) as memory:
                    runner.begin()
                    amount, seconds, result.output = runner.finish()
                result.speeds.append(amount / seconds)
                result.memory = max(result.memory, *memory)
                say(f"{part}: round {number}/{rounds}, {name}: {result.speeds[-1]:,.1f} {result.unit}/s")
                progress.advance()
    return results


class Runner:
    """A contender's process; it waits while others have their turn."""

    def __init__(self, contender: Contender) -> None:
        self.contender = contender
        context = multiprocessing.get_context("spawn")
        self._pipe, child_pipe = context.Pipe()
        previous_threads = os.environ.get("OMP_NUM_THREADS")
        os.environ["OMP_NUM_THREADS"] = str(contender.threads)  # numerical libraries read it when they are loaded
        try:
            self.process = context.Process(target=_serve, args=(child_pipe, contender.prepare, contender.arguments))
            self.process.start()
        finally:
            del os.environ["OMP_NUM_THREADS"]
            if previous_threads is not None:
                os.environ["OMP_NUM_THREADS"] = previous_threads
        child_pipe.close()
        self._receive()

    def begin(self) -> None:
        """Start one round."""
        self._pipe.send(True)

    def finish(self) -> tuple[float, float, Any]:
        """Wait for the end of the round; return the amount of work, the seconds and the output."""
        amount, seconds, output = self._receive()
        return amount, seconds, output

    def close(self) -> None:
        """End the process."""
        with suppress(BrokenPipeError):  # it has failed
            self._pipe.send(False)
        self.process.join()

    def _receive(self) -> Any:
        try:
            return self._pipe.recv()
        except EOFError:
            raise UserError(f"{self.contender.name}: failed, see above") from None


@contextmanager
def watched(process: int | None) -> Iterator[list[float]]:
    """Yield a list that fills with the memory in MB of a process and its child processes, at once and every 0.1 s."""
    memory: list[float] = []
    done = threading.Event()

    def watch() -> None:
        memory.append(_memory(process))
        while not done.wait(0.1):
            memory.append(_memory(process))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield memory
    finally:
        done.set()
        watcher.join()


@contextmanager
def running(contender: Contender) -> Iterator[Runner]:
    """Yield a Runner, and end its process after the block."""
    runner = Runner(contender)
    try:
        yield runner
    finally:
        runner.close()


def _serve(pipe: Any, prepare: Prepare, arguments: tuple[Any, ...]) -> None:
    os.environ[INTERVAL] = "inf"  # the measuring process says how far it is
    with prepare(*arguments) as work, suppress(EOFError):  # the measuring process is gone
        pipe.send("ready")
        while pipe.recv():
            start = time.perf_counter()
            amount, output = work()
            pipe.send((amount, time.perf_counter() - start, output))


def _memory(process: int | None) -> float:
    """Return the proportional set size in MB: pages that several processes share count once."""
    total = 0
    try:
        root = psutil.Process(process)
        for member in (root, *root.children(recursive=True)):
            total += member.memory_full_info().pss
    except psutil.NoSuchProcess:
        pass  # it has just ended
    return total / 1e6


def _rounded(speed: float) -> float:
    return float(f"{speed:.4g}")
