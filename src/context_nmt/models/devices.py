"""The device that a model runs on, the precision that is fast there, and the processes that share a task.

The same code runs in one process or in several that torchrun starts.
"""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, TypeVar

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from context_nmt.files import UserError

Precision = Literal["auto", "fp32", "bf16"]
BF16_OF_CPUS = ("avx512_bf16", "amx_bf16")  # capabilities; without one, a CPU imitates bf16 and is slower than in fp32
Item = TypeVar("Item")

REACH = timedelta(minutes=2)  # for each process to reach the others, once
WAIT = timedelta(days=1)  # for a process that has more to do; torchrun ends all if one dies


def device_named(name: str) -> torch.device:
    """Return a device, the n-th GPU for torchrun's n-th process; raise UserError for a device that is not available."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda":
        name = f"cuda:{os.environ.get('LOCAL_RANK', 0)}"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, ImportError) as error:  # the last two if torch was built without it
        reason = str(error).splitlines()[0].partition(". ")[0]  # of some devices, PyTorch says a page
        raise UserError(f"--device {name}: not available here ({reason})") from None
    if device.type == "cuda":
        torch.cuda.set_device(device)
        torch.backends.cuda.matmul.allow_tf32 = False  # NVIDIA's containers allow it; fp32 means fp32
        # The memory-efficient kernel alone: of PyTorch's it is the fastest for up to 100 units, and
        # cuDNN's makes a plan, of up to a second, for each new shape.
        torch.backends.cuda.enable_cudnn_sdp(False)
        torch.backends.cuda.enable_flash_sdp(False)
    return device


def has_fast_bf16(device: torch.device) -> bool:
    """Return whether the device has instructions for products in bf16 that PyTorch uses."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = torch.cpu.get_capabilities()
    used = torch.backends.cpu.get_cpu_capability()  # less than the processor has if ATEN_CPU_CAPABILITY limits it
    return used.startswith("AVX512") and any(capabilities.get(name) for name in BF16_OF_CPUS)


def resolved(precision: Precision, device: torch.device) -> Literal["fp32", "bf16"]:
    """Return a precision with `auto` decided for this device."""
    if precision == "auto":
        return "bf16" if has_fast_bf16(device) else "fp32"
    return precision


def processor_of(device: torch.device) -> str:
    """Return the name of the GPU, or that of the CPU with the instructions that PyTorch uses."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    capabilities = torch.cpu.get_capabilities()
    name = capabilities.get("cpu_name") or platform.processor() or platform.machine()
    bf16 = [capability for capability in BF16_OF_CPUS if capabilities.get(capability)]
    return " ".join([str(name), torch.backends.cpu.get_cpu_capability(), *bf16])


@dataclass(frozen=True)
class Processes:
    """One of the processes that share a task."""

    rank: int = 0
    count: int = 1
    group: distributed.ProcessGroup | None = None  # of CPUs: no GPU has to stop for what it exchanges
    device_group: distributed.ProcessGroup | None = None  # of the devices of the model
    workers: int | None = None  # forked to decode, with one thread each; None = this process decodes, with all threads

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
