"""Interleaved rounds A B A B …, each contender in a process of its own that stays alive between rounds."""

import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any, TypeVar

import psutil

from context_nmt.progress import INTERVAL_VARIABLE, Progress, say

Result = TypeVar("Result")

CORES = len(os.sched_getaffinity(0))

Work = Callable[[], tuple[float, Any]]  # one round: returns the amount of work, in the contender's unit, and the output
Prepare = Callable[..., AbstractContextManager[Work]]
Tables = dict[str, dict[str, Any]]  # by title: the value of each row, a number or the `spread` of its rounds


@dataclass(frozen=True)
class Contender:
    """A program to measure: `prepare(*arguments)` is entered once, in its process, and yields the work of a round."""

    name: str
    unit: str
    prepare: Prepare
    arguments: tuple[Any, ...] = ()
    threads: int = CORES
    shared: str = ""  # a process that it shares with the contenders of the same name here

    @property
    def process(self) -> str:
        return self.shared or self.name


@dataclass
class Measured:
    """The measurements of one contender."""

    unit: str
    speeds: list[float] = field(default_factory=list)  # units per second, one per round
    memory: float = 0.0  # MB, the peak of the GPU if it uses one, else of its process and all child processes
    output: Any = None  # of the last round


def speeds_and_memory(measured: dict[str, Measured]) -> Tables:
    """Return a table of speeds for each unit, and one of memory."""
    tables: Tables = {}
    for name, one in measured.items():
        tables.setdefault(f"{one.unit}/s", {})[name] = spread(one.speeds)
    return tables | {"memory, MB": {name: round(one.memory) for name, one in measured.items()}}


def ratio(measured: dict[str, Measured], of: str, to: str, *, factor: float = 1.0) -> dict[str, Any]:
    """Compare two contenders round by round; one unit of `of` counts as `factor` units of `to`."""
    pairs = zip(measured[of].speeds, measured[to].speeds, strict=True)
    return spread([speed * factor / base_speed for speed, base_speed in pairs])


def spread(rounds: list[float]) -> dict[str, Any]:
    """Return the values of all rounds, with their median, minimum and maximum, to four digits."""
    median, *rounded = (float(f"{value:.4g}") for value in (statistics.median(rounds), *rounds))
    return {"median": median, "minimum": min(rounded), "maximum": max(rounded), "rounds": rounded}


def measure(part: str, contenders: list[Contender], rounds: int) -> dict[str, Measured]:
    """Run all contenders in turn, `rounds` times, and report each round on standard error."""
    results = {contender.name: Measured(contender.unit) for contender in contenders}
    pools: dict[str, Executor] = {}
    with ExitStack() as stack:
        say(f"{part}: getting ready")
        processes = {}
        for one in contenders:
            if one.process not in pools:
                pools[one.process] = stack.enter_context(own_process(one.threads))
            processes[one.name] = done(one, pools[one.process].submit(enter, one))
        progress = stack.enter_context(Progress(part, rounds * len(contenders), "turns"))
        for number in range(1, rounds + 1):
            for one in contenders:
                result = results[one.name]
                with watched(processes[one.name]) as memory:
                    amount, seconds, result.output, on_gpu = done(one, pools[one.process].submit(turn, one.name))
                result.speeds.append(amount / seconds)
                result.memory = on_gpu or max(result.memory, *memory)
                say(f"{part}: round {number}/{rounds}, {one.name}: {result.speeds[-1]:,.1f} {one.unit}/s")
                progress.advance()
    return results


@contextmanager
def own_process(threads: int) -> Iterator[Executor]:
    """Yield a process that waits while others have their turn."""
    given = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = str(threads)  # numerical libraries read it when they are loaded
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(os.getpid).result()
        del os.environ["OMP_NUM_THREADS"]
        if given is not None:
            os.environ["OMP_NUM_THREADS"] = given
        try:
            yield pool
        finally:
            with suppress(BrokenExecutor):
                pool.submit(_leave)


def done(contender: Contender, future: Future[Result]) -> Result:
    """Wait for a contender's process; its name is a note of an exception."""
    try:
        return future.result()
    except Exception as error:
        error.add_note(f"{contender.name}: failed")
        raise


# In a contender's process:
_entered = ExitStack()
_works: dict[str, Work] = {}  # by contender


def enter(contender: Contender) -> int:
    """Prepare a contender in its process, and return the process's id."""
    os.environ[INTERVAL_VARIABLE] = "inf"  # the measuring process says how far it is
    _works[contender.name] = _entered.enter_context(contender.prepare(*contender.arguments))
    return os.getpid()


def turn(name: str) -> tuple[float, float, Any, float]:
    """Do a contender's work once: return the amount, the seconds, the output, and the peak of a GPU's memory in MB."""
    start = time.perf_counter()
    amount, output = _works[name]()
    seconds = time.perf_counter() - start
    cuda = getattr(sys.modules.get("torch"), "cuda", None)  # not loaded by those that measure text
    memory = cuda.max_memory_allocated() / 1e6 if cuda and cuda.is_initialized() else 0.0
    return amount, seconds, output, memory


def _leave() -> None:
    _entered.close()


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
