"""One process or several that torchrun starts: the same code runs in each."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from context_nmt.files import UserError

Item = TypeVar("Item")

REACH = timedelta(minutes=2)  # for each process to reach the others, once
WAIT = timedelta(days=1)  # for a process that has more to do; torchrun ends all if one dies


@dataclass(frozen=True)
class Processes:
    """One of the processes that share a task."""

    rank: int = 0
    count: int = 1
    group: distributed.ProcessGroup | None = None  # of CPUs: no GPU has to stop for what it exchanges
    device_group: distributed.ProcessGroup | None = None  # of the devices of the model

    @property
    def first(self) -> bool:
        """Return whether this process is the one that writes files and prints."""
        return self.rank == 0

    def sum(self, values: list[float]) -> list[float]:
        """Sum a list of numbers over all processes, in float64; every process receives the sums."""
        if self.count == 1:
            return values
        sums = torch.tensor(values, dtype=torch.float64)
        distributed.all_reduce(sums, group=self.group)
        return sums.tolist()

    def gather(self, item: Item) -> list[Item]:
        """Return the items of all processes, in the order of their ranks."""
        if self.count == 1:
            return [item]
        items = [item] * self.count
        distributed.all_gather_object(items, item, group=self.group)
        return items

    def sum_on_device(self, values: Tensor) -> Tensor:
        """Sum a tensor on the device of the model over all processes, without waiting for a GPU."""
        if self.count > 1:
            distributed.all_reduce(values, group=self.device_group)
        return values

    def share(self, items: list[Item]) -> list[Item]:
        """Return this process's part of a list; the parts differ by at most one in length."""
        return items[self.rank :: self.count]

    def sharing_gradients(self, module: nn.Module) -> nn.Module:
        """Wrap a module so that its gradients are the mean over all processes."""
        if self.count == 1:
            return module
        device = next(module.parameters()).device
        device_ids = None if device.type == "cpu" else [device]
        return DistributedDataParallel(module, device_ids=device_ids, process_group=self.device_group)


@contextmanager
def processes(device: torch.device) -> Iterator[Processes]:
    """Join the processes that torchrun started; without torchrun there is one.

    Raise UserError for several tasks of srun without torchrun, which would each do all the work, and for processes that
    cannot reach each other.
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
    try:
        distributed.init_process_group("gloo", timeout=REACH)  # gloo connects at once, NCCL later
    except RuntimeError as error:
        raise UserError(
            f"process {os.environ.get('RANK')} cannot reach all others of {count}, the first of which is at"
            f" {os.environ.get('MASTER_ADDR')} ({str(error).splitlines()[0]}); between nodes, set GLOO_SOCKET_IFNAME,"
            " and for GPUs also NCCL_SOCKET_IFNAME, to the network interface that connects them"
        ) from None
    try:
        group = distributed.new_group(backend="gloo", timeout=WAIT)
        device_group = group if device.type == "cpu" else distributed.new_group(backend="nccl", timeout=WAIT)
        yield Processes(distributed.get_rank(), count, group, device_group)
    finally:
        distributed.destroy_process_group()
