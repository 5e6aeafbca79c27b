"""Work in several processes, with the same result for any number of them."""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import chain, islice
from multiprocessing import active_children, get_context, parent_process
from typing import Any, TypeVar

from context_nmt.files import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")

CAN_FORK = hasattr(os, "fork")  # not on Windows, where all work is done in one process
CHUNK = 1000  # lines: about 0.1 s of work, compared with which sending them to a worker costs little
FEW = 4  # chunks that one process handles before workers would have started
MOST = 16  # workers; more would wait for the process that reads and writes


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_parallel(
    work: Callable[[Item], Result], items: Iterable[Item], workers: int, *, ordered: bool = True, advice: str = ""
) -> Iterator[Result]:
    """Yield `work(item)` for each item: in their order, or else as soon as each is done.

    The workers are forked, so `work` may hold a model or be a closure: it is neither copied nor pickled. Only a few
    items are in memory at a time. Raises what `work` raises, and UserError with `advice` if a worker is killed.
    """
    if workers <= 1 or not CAN_FORK:
        yield from map(work, items)
        return
    items, others = iter(items), set(active_children())
    executor = ProcessPoolExecutor(workers, get_context("fork"), _start, (work,))
    pending: list[Future[Result]] = []
    try:
        pending.extend(executor.submit(_run, item) for item in islice(items, 2 * workers))
        while pending:
            done = pending[0] if ordered else next(as_completed(pending))
            pending.remove(done)
            pending.extend(executor.submit(_run, item) for item in islice(items, 1))
            yield done.result()
        executor.shutdown()
    except BaseException as error:  # also Ctrl-C, and a caller that stops early
        running = [future for future in pending if not future.cancel()]
        if wait(running, timeout=1).not_done:  # killing a worker that sends a result could block this process
            for worker in set(active_children()) - others:
                worker.kill()
        executor.shutdown()
        if isinstance(error, BrokenProcessPool):
            raise UserError(f"a worker process was killed, perhaps because memory ran out{advice}") from None
        raise


def map_chunks(
    work: Callable[[list[Item]], Result], items: Iterable[Item], processes: int | None = None
) -> Iterator[Result]:
    """Yield `work(chunk)` for each chunk of the items, in their order, with a worker per core; see `in_parallel`."""
    iterator = iter(items)
    chunks = iter(lambda: list(islice(iterator, CHUNK)), [])
    first = list(islice(chunks, FEW))
    workers = min(processes or usable_cores(), MOST) if len(first) == FEW else 1
    return in_parallel(work, chain(first, chunks), workers)


def map_lines(function: Callable[[str], str], lines: Iterable[str]) -> Iterator[str]:
    """Yield the function of each line, in their order; see `map_chunks`."""
    return chain.from_iterable(map_chunks(partial(_map, function), lines))


def _map(function: Callable[[str], str], lines: list[str]) -> list[str]:
    return list(map(function, lines))


def follow_parent() -> None:
    """Make this process ignore Ctrl-C, which its parent handles, and end when its parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
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
    return _work(item)
