"""One process or several that torchrun starts: the same code runs in each."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, distributed, nn
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
        return self.sum_of(torch.tensor(values, dtype=torch.float64)).tolist() if self.count > 1 else values

    def sum_of(self, values: Tensor) -> Tensor:
        """Sum a tensor over all processes where it is, on the CPU or a GPU, and without waiting for a GPU."""
        if self.count > 1:
            distributed.all_reduce(values)
        return values

    def share(self, items: list[Item]) -> list[Item]:
        """Return this process's part of a list; the parts differ by at most one in length."""
        return items[self.rank :: self.count]

    def sharing_gradients(self, module: nn.Module) -> nn.Module:
        """Wrap a module so that its gradients are the mean over all processes."""
        if self.count == 1:
            return module
        device = next(module.parameters()).device
        return DistributedDataParallel(module, device_ids=None if device.type == "cpu" else [device])


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
    # Numbers that the program decides by go from CPU to CPU, so that no GPU has to stop for them.
    distributed.init_process_group("gloo" if device.type == "cpu" else "cpu:gloo,cuda:nccl")
    try:
        yield Processes(distributed.get_rank(), count)
    finally:
        distributed.destroy_process_group()
