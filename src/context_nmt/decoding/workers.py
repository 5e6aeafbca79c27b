"""Work in several processes at once: forked, so that each has the model without a copy, and with one thread."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar, cast

import torch
from torch import distributed

from context_nmt.files import UserError
from context_nmt.models.processes import Processes

Key = TypeVar("Key")
Result = TypeVar("Result")


def usable(device: torch.device) -> int:
    """How many processes can work at once: on a CPU as many as PyTorch has threads (`OMP_NUM_THREADS`), else one.

    Small matrices give a second thread little to do, a second process works on another batch.
    """
    return torch.get_num_threads() if device.type == "cpu" and hasattr(os, "fork") else 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread for a while; its results do not depend on how many the machine has."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def side_by_side(work: Callable[[int], Result], jobs: int, workers: int) -> Iterator[tuple[int, Result]]:
    """Yield `job, work(job)` for the jobs 0, 1, …, begun in this order and yielded as they get done.

    Raises what `work` raised if it is a UserError, and UserError for a worker that died.
    """
    if min(workers, jobs) <= 1:
        yield from ((job, work(job)) for job in range(jobs))
        return
    fork = multiprocessing.get_context("fork")
    processes = {}
    try:
        for _ in range(min(workers, jobs)):
            ours, theirs = fork.Pipe()
            process = fork.Process(target=_serve, args=(work, theirs), daemon=True)
            process.start()
            theirs.close()
            processes[ours] = process
        waiting = iter(range(jobs))
        busy = list(processes)
        for connection in busy:
            connection.send(next(waiting))
        while busy:
            for connection in cast(list[Connection], wait(busy)):
                yield _answer(connection, processes[connection])
                if (job := next(waiting, None)) is None:
                    busy.remove(connection)
                else:
                    connection.send(job)
    finally:
        for connection, process in processes.items():
            process.kill()
            process.join()
            connection.close()


def gathered(results: dict[Key, Result], processes: Processes) -> dict[Key, Result]:
    """The results of all processes that torchrun started, in each of them."""
    if processes.count == 1:
        return results
    parts: list[dict[Key, Result]] = [{} for _ in range(processes.count)]
    distributed.all_gather_object(parts, results)
    return {key: result for part in parts for key, result in part.items()}


def _answer(connection: Connection, process: multiprocessing.process.BaseProcess) -> tuple[int, Any]:
    try:
        job, result, error = connection.recv()
    except EOFError:
        process.join()
        raise UserError(
            f"a decoding process ended with exit status {process.exitcode}; was memory short?"
            " A smaller decoding.batch_tokens needs less, and OMP_NUM_THREADS=1 starts no further processes"
        ) from None
    if error is not None:
        raise error
    return job, result


def _serve(work: Callable[[int], Any], connection: Connection) -> None:
    """Answer jobs until the parent ends this process or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, too, which ends this process
    parent = multiprocessing.parent_process()
    assert parent is not None
    while connection in wait([connection, parent.sentinel]):
        job = connection.recv()
        try:
            connection.send((job, work(job), None))
        except UserError as error:
            connection.send((job, None, error))
    os._exit(0)  # nothing of the parent is this process's to clean up
