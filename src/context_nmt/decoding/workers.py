"""The number of processes that decode at once, and how they share cores and results."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch

from context_nmt.corpus.workers import CAN_FORK
from context_nmt.models.processes import Processes

Key = TypeVar("Key")
Result = TypeVar("Result")


def usable(device: torch.device) -> int:
    """Return how many processes can decode at once: PyTorch's number of threads (`OMP_NUM_THREADS`) on a CPU, else 1.

    With small matrices a second thread has little to do; a second process works on another batch.
    """
    return torch.get_num_threads() if device.type == "cpu" and CAN_FORK else 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread inside the block, so that results do not depend on the machine's number of threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def gathered(results: dict[Key, Result], processes: Processes) -> dict[Key, Result]:
    """Gather the results of all processes that torchrun started; every process receives all of them."""
    return {key: result for share in processes.gather(results) for key, result in share.items()}
