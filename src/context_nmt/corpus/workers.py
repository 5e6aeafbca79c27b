"""Text work in several processes: in order, and with the same result for any number of them."""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import chain, islice
from multiprocessing import get_context, parent_process
from typing import Any, TypeVar

from context_nmt.files import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")

CHUNK = 1000  # lines: about 0.1 s of work, beside which handing them over costs little
FEW = 4  # chunks that are done before workers would have started
MOST = 16  # workers; more would wait for the process that reads and writes


def usable_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def map_chunks(
    work: Callable[[list[Item]], Result], items: Iterable[Item], processes: int | None = None
) -> Iterator[Result]:
    """Yield what `work` makes of each chunk of the items, in their order; each usable core has a process.

    Few chunks are in memory at a time. `work` goes to each process once; few items need none.
    Raises what `work` raises, and UserError when a process is killed.
    """
    iterator = iter(items)
    chunks: Iterator[list[Item]] = iter(lambda: list(islice(iterator, CHUNK)), [])
    first = list(islice(chunks, FEW))
    chunks = chain(first, chunks)
    processes = min(processes or usable_cores(), MOST) if len(first) == FEW else 1
    if processes == 1:
        yield from map(work, chunks)
        return
    # A server that has loaded the text tools forks the processes: they start at once, whatever runs in this one.
    context = get_context("forkserver")
    context.set_forkserver_preload(["context_nmt.corpus.moses"])
    executor = ProcessPoolExecutor(processes, context, _start, (work,))
    try:
        pending = deque(executor.submit(_run, chunk) for chunk in islice(chunks, 2 * processes))
        while pending:
            result = pending.popleft().result()
            pending.extend(executor.submit(_run, chunk) for chunk in islice(chunks, 1))
            yield result
    except BrokenProcessPool:
        raise UserError("a process that worked on the text was killed, perhaps for want of memory") from None
    finally:
        executor.shutdown(cancel_futures=True)


def map_lines(function: Callable[[str], str], lines: Iterable[str]) -> Iterator[str]:
    """Yield the function of each line, in their order; see `map_chunks`."""
    return chain.from_iterable(map_chunks(partial(_map, function), lines))


def _map(function: Callable[[str], str], lines: list[str]) -> list[str]:
    return list(map(function, lines))


_work: Callable[[list[Any]], Any]


def _start(work: Callable[[list[Any]], Any]) -> None:
    global _work
    _work = work
    follow_parent()


def follow_parent() -> None:
    """Let this process leave Ctrl-C to the one that started it, and end when that one is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the first one ends the others
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # the first process was killed: nobody waits for a result


def _run(chunk: list[Any]) -> Any:
    return _work(chunk)
