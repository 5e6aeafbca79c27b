"""Measure in interleaved rounds A B A B …, with each contender in its own process, which stays alive between rounds."""

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

Work = Callable[[], tuple[float, Any]]  # a round: returns the amount of work, in the contender's unit, and the output
Prepare = Callable[..., AbstractContextManager[Work]]
Tables = dict[str, dict[str, Any]]  # by title: the value of each row, a number or the `spread` of its rounds


@dataclass(frozen=True)
class Contender:
    """A program to measure; `prepare(*arguments)` is entered once, in its process, and yields the work of a round."""

    name: str
    unit: str
    prepare: Prepare
    arguments: tuple[Any, ...] = ()
    threads: int = CORES
    shared: str = ""  # the name of a process that contenders share

    @property
    def process(self) -> str:
        return self.shared or self.name


@dataclass
class Measurement:
    """The measurements of one contender."""

    unit: str
    speeds: list[float] = field(default_factory=list)  # units per second in each round
    memory: float = 0.0  # MB, the peak of the GPU if it uses one, else of its process and all child processes
    output: Any = None  # of the last round


def speeds_and_memory(measured: dict[str, Measurement]) -> Tables:
    """Return a table of speeds for each unit, and a table of memory."""
    tables: Tables = {}
    for name, measurement in measured.items():
        tables.setdefault(f"{measurement.unit}/s", {})[name] = spread(measurement.speeds)
    return tables | {"memory, MB": {name: round(measurement.memory) for name, measurement in measured.items()}}


def ratio(measured: dict[str, Measurement], of: str, to: str, *, factor: float = 1.0) -> dict[str, Any]:
    """Compare two contenders round by round; one unit of `of` counts as `factor` units of `to`."""
    pairs = zip(measured[of].speeds, measured[to].speeds, strict=True)
    return spread([speed * factor / base_speed for speed, base_speed in pairs])


def spread(rounds: list[float]) -> dict[str, Any]:
    """Return the values of all rounds, and their median, minimum and maximum, to four digits."""
    median, *rounded = (float(f"{value:.4g}") for value in (statistics.median(rounds), *rounds))
    return {"median": median, "minimum": min(rounded), "maximum": max(rounded), "rounds": rounded}


def measure(part: str, contenders: list[Contender], rounds: int) -> dict[str, Measurement]:
    """Run all contenders in turn, `rounds` times, and report each turn on standard error."""
    results = {contender.name: Measurement(contender.unit) for contender in contenders}
    pools: dict[str, Executor] = {}
    with ExitStack() as stack:
        say(f"{part}: getting ready")
        processes = {}
        for contender in contenders:
            if contender.process not in pools:
                pools[contender.process] = stack.enter_context(own_process(contender.threads))
            processes[contender.name] = wait(contender, pools[contender.process].submit(enter, contender))
        progress = stack.enter_context(Progress(part, rounds * len(contenders), "turns"))
        for number in range(1, rounds + 1):
            for contender in contenders:
                name, result = contender.name, results[contender.name]
                with watched(processes[name]) as memory:
                    turn = wait(contender, pools[contender.process].submit(take_turn, name))
                amount, seconds, result.output, gpu_memory = turn
                result.speeds.append(amount / seconds)
                result.memory = gpu_memory or max(result.memory, *memory)
                say(f"{part}: round {number}/{rounds}, {name}: {result.speeds[-1]:,.1f} {contender.unit}/s")
                progress.advance()
    return results


@contextmanager
def own_process(threads: int) -> Iterator[Executor]:
    """Yield the executor of a process with a number of threads."""
    previous_threads = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = str(threads)  # numerical libraries read it when they are imported
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(os.getpid).result()
        del os.environ["OMP_NUM_THREADS"]
        if previous_threads is not None:
            os.environ["OMP_NUM_THREADS"] = previous_threads
        try:
            yield pool
        finally:
            with suppress(BrokenExecutor):
                pool.submit(_leave)


def wait(contender: Contender, future: Future[Result]) -> Result:
    """Wait for the result of a contender's process; an exception gets a note with the contender's name."""
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
    os.environ[INTERVAL_VARIABLE] = "inf"  # only the measuring process reports progress
    _works[contender.name] = _entered.enter_context(contender.prepare(*contender.arguments))
    return os.getpid()


def take_turn(name: str) -> tuple[float, float, Any, float]:
    """Do a contender's work once; return the amount, the seconds, the output, and the peak GPU memory in MB."""
    start = time.perf_counter()
    amount, output = _works[name]()
    seconds = time.perf_counter() - start
    cuda = getattr(sys.modules.get("torch"), "cuda", None)  # processes that measure text do not import it
    memory = cuda.max_memory_allocated() / 1e6 if cuda and cuda.is_initialized() else 0.0
    return amount, seconds, output, memory


def _leave() -> None:
    _entered.close()


@contextmanager
def watched(process: int | None) -> Iterator[list[float]]:
    """Yield a list that gets the memory in MB of a process and its child processes, at once and every 0.1 s."""
    memory: list[float] = []
    has_ended = threading.Event()

    def watch() -> None:
        memory.append(_memory(process))
        while not has_ended.wait(0.1):
            memory.append(_memory(process))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield memory
    finally:
        has_ended.set()
        watcher.join()


def _memory(process: int | None) -> float:
    """Return the proportional set size in MB, in which pages that processes share count once."""
    total = 0
    try:
        root = psutil.Process(process)
        for member in (root, *root.children(recursive=True)):
            total += member.memory_full_info().pss
    except psutil.NoSuchProcess:
        pass  # it has just ended
    return total / 1e6
