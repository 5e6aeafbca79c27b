"""Work in several processes, with results that do not depend on the number of processes."""

import os
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import chain, islice
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from context_nmt.command_line import capture_signals
from context_nmt.files import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")

CAN_FORK = hasattr(os, "fork")  # false on Windows, where one process does all work
CHUNK_LINES = 1000  # about 0.1 s of work, much more than the cost of sending the lines to a worker
MIN_CHUNKS = 4  # with fewer, one process is done before workers have started
MAX_WORKERS = 16  # more would wait for the process that reads and writes
OUT_OF_MEMORY = re.compile("can't allocate memory|out of memory", re.IGNORECASE)  # in RuntimeErrors of PyTorch


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_parallel(
    work: Callable[[Item], Result], items: Iterable[Item], workers: int, *, ordered: bool = True, advice: str = ""
) -> Iterator[Result]:
    """Yield `work(item)` for each item, in the order of the items or, unless `ordered`, as soon as each is done.

    The workers are forked, so `work` may hold a model or be a closure: it is neither copied nor pickled. Only a few
    items are in memory at a time. Raise UserError, with `advice` in its message, if memory runs out or a worker is
    killed. UserErrors of `work` are passed on; other errors in a worker become RuntimeErrors.
    """
    work = partial(_with_advice, work, advice)
    if workers <= 1 or not CAN_FORK:
        yield from map(work, items)
        return
    items = iter(items)
    executor = ProcessPoolExecutor(workers, get_context("fork"), _start, (work,))
    pending: list[Future[Result]] = []
    processes: list[BaseProcess] = []
    try:
        first_items = list(islice(items, 2 * workers))
        earlier_children = active_children()
        try:
            # Python ignores an error of a handler that runs in a fork.
            with capture_signals(signal.SIGINT) as interrupts:
                pending.extend(executor.submit(_run, item) for item in first_items)
        finally:  # a pool of forks starts all workers at its first item
            processes = [process for process in active_children() if process not in earlier_children]
        if interrupts:
            raise KeyboardInterrupt
        while pending:
            future = pending[0] if ordered else next(as_completed(pending))
            pending.remove(future)
            pending.extend(executor.submit(_run, item) for item in islice(items, 1))
            yield future.result()
        executor.shutdown()
    except BaseException as error:  # includes Ctrl-C, and a caller that stops early
        killer = threading.Timer(1, _kill, (processes,))  # killing a worker that is sending a result could block
        killer.start()
        executor.shutdown(cancel_futures=True)
        killer.cancel()
        _kill(processes)  # they still wait for work if the executor's thread could not be started
        if isinstance(error, BrokenProcessPool):
            raise UserError(f"a worker process was killed, perhaps because memory ran out{advice}") from None
        raise


def map_chunks(
    work: Callable[[list[Item]], Result], items: Iterable[Item], processes: int | None = None
) -> Iterator[Result]:
    """Yield `work(chunk)` for each chunk of the items, in order, with a worker per core; see `in_parallel`."""
    iterator = iter(items)
    chunks = iter(lambda: list(islice(iterator, CHUNK_LINES)), [])
    first_chunks = list(islice(chunks, MIN_CHUNKS))
    workers = min(processes or usable_cores(), MAX_WORKERS) if len(first_chunks) == MIN_CHUNKS else 1
    return in_parallel(work, chain(first_chunks, chunks), workers)


def map_lines(function: Callable[[str], str], lines: Iterable[str]) -> Iterator[str]:
    """Yield `function(line)` for each line, in order; see `map_chunks`."""
    return chain.from_iterable(map_chunks(lambda chunk: [function(line) for line in chunk], lines))


def follow_parent() -> None:
    """Make this process ignore Ctrl-C, which its parent handles, and exit when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


_work: Callable[[Any], Any]


def _start(work: Callable[[Any], Any]) -> None:
    global _work
    _work = work
    follow_parent()


def _run(item: Any) -> Any:
    try:
        return _work(item)
    except UserError as error:
        raise UserError(str(error)) from None
    except OSError as error:
        raise type(error)(*error.args) from None
    except Exception as error:  # if it could not be pickled, it would look like a killed worker
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


def _kill(workers: Sequence[BaseProcess]) -> None:
    for worker in workers:
        worker.kill()


def _with_advice(work: Callable[[Item], Result], advice: str, item: Item) -> Result:
    try:
        return work(item)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not OUT_OF_MEMORY.search(str(error)):
            raise
        raise UserError(f"memory ran out{advice}") from None
