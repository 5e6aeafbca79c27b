"""The device that a model runs on, its fast precision, and the processes that share a task.

The same code runs in one process, or in several processes that torchrun starts.
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

from context_nmt.files import UserError

Precision = Literal["auto", "fp32", "bf16"]
CPU_BF16_CAPABILITIES = ("avx512_bf16", "amx_bf16")  # without one, a CPU emulates bf16, slower than fp32
Item = TypeVar("Item")

CONNECTION_TIMEOUT = timedelta(minutes=2)  # until all processes are connected, at the start
WAITING_TIMEOUT = timedelta(days=1)  # for a process with more work; if one dies, torchrun ends all


def device_named(name: str, *, alone: bool = False) -> torch.device:
    """Return the device of this process, for cuda the GPU of its local rank; raise UserError if it is not available.

    Unless the process needs a GPU `alone`, processes share GPUs if torchrun started more than there are: two decode
    faster than one.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda":
        rank, gpus = int(os.environ.get("LOCAL_RANK", 0)), torch.cuda.device_count()
        name = f"cuda:{rank % gpus if gpus and not alone else rank}"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, ImportError) as error:  # the last two if torch was built without the device
        reason = str(error).splitlines()[0].partition(". ")[0]  # for some devices, PyTorch's message is a page long
        raise UserError(f"--device {name}: not available here ({reason})") from None
    if device.type == "cuda":
        torch.cuda.set_device(device)
        torch.backends.cuda.matmul.allow_tf32 = False  # NVIDIA's containers allow it, but fp32 means fp32
        # Use only the memory-efficient kernel: it is PyTorch's fastest for up to 100 units, and cuDNN's kernel spends
        # up to a second planning for each new shape.
        torch.backends.cuda.enable_cudnn_sdp(False)
        torch.backends.cuda.enable_flash_sdp(False)
    return device


def has_fast_bf16(device: torch.device) -> bool:
    """Return whether PyTorch uses bf16 instructions of the device for matrix products."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = torch.cpu.get_capabilities()
    used = torch.backends.cpu.get_cpu_capability()  # ATEN_CPU_CAPABILITY may limit it
    return used.startswith("AVX512") and any(capabilities.get(name) for name in CPU_BF16_CAPABILITIES)


def resolve_precision(precision: Precision, device: torch.device) -> Literal["fp32", "bf16"]:
    """Return the precision; for `auto`, bf16 if the device is fast in bf16, otherwise fp32."""
    if precision == "auto":
        return "bf16" if has_fast_bf16(device) else "fp32"
    return precision


def processor_name(device: torch.device) -> str:
    """Return the name of the GPU, or the name of the CPU with the instructions that PyTorch uses."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    capabilities = torch.cpu.get_capabilities()
    name = capabilities.get("cpu_name") or platform.processor() or platform.machine()
    bf16 = [capability for capability in CPU_BF16_CAPABILITIES if capabilities.get(capability)]
    return " ".join([str(name), torch.backends.cpu.get_cpu_capability(), *bf16])


@dataclass(frozen=True)
class Processes:
    """The processes that share a task, seen from one of them."""

    rank: int = 0
    count: int = 1
    group: distributed.ProcessGroup | None = None  # exchanges values on CPUs, so that no GPU has to stop
    device_group: distributed.ProcessGroup | None = None  # exchanges values on the model's devices
    workers: int | None = None  # forked to decode with one thread each; None = decode in this process with all threads

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes files and prints."""
        return self.rank == 0

    def sum(self, values: list[float]) -> list[float]:
        """Sum each number over all processes, in float64, and return the sums in every process."""
        if self.count == 1:
            return values
        sums = torch.tensor(values, dtype=torch.float64)
        distributed.all_reduce(sums, group=self.group)
        return sums.tolist()

    def gather(self, item: Item) -> list[Item]:
        """Return the items of all processes, ordered by rank."""
        if self.count == 1:
            return [item]
        items = [item] * self.count
        distributed.all_gather_object(items, item, group=self.group)
        return items

    def sum_on_device(self, values: Tensor) -> Tensor:
        """Sum a tensor on the model's device over all processes, without waiting for a GPU."""
        if self.count > 1:
            distributed.all_reduce(values, group=self.device_group)
        return values

    def share(self, items: list[Item]) -> list[Item]:
        """Return this process's share of a list; the lengths of shares differ by at most one."""
        return items[self.rank :: self.count]

    def sum_gradients(self, model: nn.Module) -> None:
        """Sum the gradients of a model over all processes, in one exchange."""
        if self.count == 1:
            return
        gradients = []
        for parameter in model.parameters():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            gradients.append(parameter.grad)
        sums = self.sum_on_device(torch.cat([gradient.flatten() for gradient in gradients]))
        for gradient, total in zip(gradients, torch.split(sums, [g.numel() for g in gradients]), strict=True):
            gradient.copy_(total.view_as(gradient))


@contextmanager
def join_processes(device: torch.device) -> Iterator[Processes]:
    """Join the processes that torchrun started; without torchrun there is only this process.

    Raise UserError if srun started several tasks without torchrun, which would each do all the work, and if the
    processes cannot connect.
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
        distributed.init_process_group("gloo", timeout=CONNECTION_TIMEOUT)  # gloo connects immediately, NCCL later
    except RuntimeError as error:
        raise UserError(
            f"process {os.environ.get('RANK')} cannot reach all others of {count}, the first of which is at"
            f" {os.environ.get('MASTER_ADDR')} ({str(error).splitlines()[0]}); between nodes, set GLOO_SOCKET_IFNAME,"
            " and for GPUs also NCCL_SOCKET_IFNAME, to the network interface that connects them"
        ) from None
    try:
        group = distributed.new_group(backend="gloo", timeout=WAITING_TIMEOUT)
        device_group = group if device.type == "cpu" else distributed.new_group(backend="nccl", timeout=WAITING_TIMEOUT)
        yield Processes(distributed.get_rank(), count, group, device_group)
    finally:
        distributed.destroy_process_group()
