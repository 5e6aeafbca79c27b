"""One process or several that torchrun starts: the same code runs in each."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from context_nmt.files import UserError

Item = TypeVar("Item")


@dataclass(frozen=True)
class Processes:
    """One of the processes that share a task."""

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Return whether this process is the one that writes files and prints."""
        return self.rank == 0

    def sum(self, values: list[float]) -> list[float]:
        """Sum a list of numbers over all processes, in float64; every process receives the sums."""
        if self.count == 1:
            return values
        sums = torch.tensor(values, dtype=torch.float64, device=_device())
        distributed.all_reduce(sums)
        return sums.tolist()

    def share(self, items: list[Item]) -> list[Item]:
        """Return this process's part of a list; the parts differ by at most one in length."""
        return items[self.rank :: self.count]

    def sharing_gradients(self, module: nn.Module) -> nn.Module:
        """Wrap a module so that its gradients are the mean over all processes."""
        if self.count == 1:
            return module
        devices = None if _device().type == "cpu" else [_device()]
        return DistributedDataParallel(module, device_ids=devices)


@contextmanager
def processes(device: torch.device) -> Iterator[Processes]:
    """Join the processes that torchrun started; without torchrun there is one.

    Raise UserError for several tasks of srun without torchrun: each would do all the work.
    """
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1 and int(os.environ.get("SLURM_STEP_NUM_TASKS", "1")) > 1:
        raise UserError(
            "srun started several tasks that cannot reach each other; in launch of params.yaml, let torchrun start"
            " the processes: srun --ntasks-per-node 1 torchrun --nproc-per-node 8 …"
        )
    if count == 1:
        yield Processes()
        return
    distributed.init_process_group("gloo" if device.type == "cpu" else "nccl")
    try:
        yield Processes(distributed.get_rank(), count)
    finally:
        distributed.destroy_process_group()


def _device() -> torch.device:
    if distributed.get_backend() == "gloo":
        return torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device())
