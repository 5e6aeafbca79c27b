"""The device that a model runs on, and the precision that is fast there."""

import os
import platform
from typing import Literal

import torch

from context_nmt.files import UserError

Precision = Literal["auto", "fp32", "bf16"]
BF16_OF_CPUS = ("avx512_bf16", "amx_bf16")  # capabilities; without one, a CPU imitates bf16 and is slower than in fp32


def device_named(name: str) -> torch.device:
    """Return a device; `auto` is `cuda` if there is a GPU, else `cpu`; torchrun's n-th process takes the n-th GPU.

    Raise UserError for a device that is not available.
    """
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
