"""The measured machine, and its peak speed of matrix products."""

import platform
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from benchmarks.rounds import CORES, Contender, Work

MATRIX_SIZE = 2048  # rows and columns
PRODUCTS_PER_ROUND = 100
INSTRUCTIONS = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16")
PACKAGES = ("torch", "numpy", "ctranslate2", "sacrebleu", "sacremoses", "subword-nmt")


def describe() -> dict[str, Any]:
    """Return the machine's properties, and the versions of programs that figures depend on."""
    information = re.findall(r"^(.+?)\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    cpu = defaultdict(lambda: "unknown", information)  # its last core
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    machine = {
        "processor": cpu["model name"],
        "family_and_model": f"{cpu['cpu family']}/{cpu['model']}",
        "cores": CORES,
        "instructions": [name for name in INSTRUCTIONS if name in cpu["flags"].split()],
        "memory_gb": round(psutil.virtual_memory().total / 1.024e9),
        "system": f"{platform.system()} {platform.machine()}",
        "commit": commit or "unknown",
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            machine[package] = version(package)
    return machine


def processor(machine: dict[str, Any]) -> str:
    """Return the GPU, or the processor without trademarks and frequency, e.g. `AMD EPYC`."""
    name = machine.get("gpu", machine["processor"])
    return " ".join(re.sub(r"\((R|TM)\)|\bCPU\b|\bProcessor\b|@.*", " ", name).split())


def file_name(machine: dict[str, Any]) -> str:
    """Return the name of this kind of machine in file names: the GPU, or processor, newest instructions and cores."""
    newest = machine["instructions"][-1:] or ["plain"]
    words = [machine["family_and_model"], *newest, f"{machine['cores']} cores"] if "gpu" not in machine else []
    return re.sub(r"[^a-z0-9]+", "-", " ".join([processor(machine), *words]).lower()).strip("-")


def hardware(machine: dict[str, Any]) -> str:
    """Describe the machine in one line."""
    gpu = f"{machine['gpu']}; " if "gpu" in machine else ""
    return (
        f"{gpu}{machine['processor']} (family/model {machine['family_and_model']}), {machine['cores']} cores,"
        f" {machine['memory_gb']} GB, {machine['system']}, with {', '.join(machine['instructions'])}"
    )


def versions(machine: dict[str, Any]) -> str:
    """List the versions of programs, and the commit of the measured code."""
    named = [f"{name} {machine[name]}" for name in ("CUDA", "python", *PACKAGES) if name in machine]
    return ", ".join([*named, f"code of {machine['commit']}"])


def products(kind: str, device: str = "cpu", size: int = MATRIX_SIZE, count: int = PRODUCTS_PER_ROUND) -> Contender:
    """Return products of large square matrices as a contender, the peak for training; `kind` is a torch type."""
    return Contender(f"matrix product, {kind}", "GFLOP", _prepare, (kind, device, size, count))


@contextmanager
def _prepare(kind: str, device: str, size: int, count: int) -> Iterator[Work]:
    import torch  # not in processes that measure text

    left, right = (torch.randn(size, size).to(device, getattr(torch, kind)) for _ in range(2))

    def work() -> tuple[float, None]:
        for _ in range(count):
            product = torch.mm(left, right)
        product[0, 0].item()  # waits for a GPU
        return count * 2 * size**3 / 1e9, None

    work()
    yield work
