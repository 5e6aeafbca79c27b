"""The machine that is measured, and its peak of matrix products."""

import platform
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from benchmarks.rounds import CORES, Contender, Work

SIZE = 2048  # of the square matrices
PRODUCTS = 100  # in a round
INSTRUCTIONS = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16")
PACKAGES = ("torch", "numpy", "ctranslate2", "sacremoses", "subword-nmt")


def describe(packages: Iterable[str] = PACKAGES) -> dict[str, Any]:
    """Return the properties of the machine that figures depend on."""
    information = re.findall(r"^(.+?)\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    cpu = defaultdict(lambda: "unknown", information)  # its last core
    return {
        "processor": cpu["model name"],
        "family_and_model": f"{cpu['cpu family']}/{cpu['model']}",
        "cores": CORES,
        "instructions": [name for name in INSTRUCTIONS if name in cpu["flags"].split()],
        "memory_gb": round(psutil.virtual_memory().total / 1.024e9),
        "system": f"{platform.system()} {platform.machine()}",
        "commit": _commit(),
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }


def processor(machine: dict[str, Any]) -> str:
    """Return the processor without trademarks and frequency, e.g. `AMD EPYC`."""
    return " ".join(re.sub(r"\((R|TM)\)|\bCPU\b|\bProcessor\b|@.*", " ", machine["processor"]).split())


def file_name(machine: dict[str, Any]) -> str:
    """Return the name of this kind of machine in file names: processor, newest instructions and number of cores."""
    newest = machine["instructions"][-1:] or ["plain"]
    words = [processor(machine), machine["family_and_model"], *newest, f"{machine['cores']} cores"]
    return hyphenated(" ".join(words))


def hyphenated(name: str) -> str:
    """Return a name as part of a file's name, e.g. `nvidia-h200`."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def machine_line(machine: dict[str, Any]) -> str:
    """Describe the machine in one sentence."""
    versions = ("python", "torch", "numpy", "ctranslate2", "sacrebleu", "sacremoses", "subword-nmt")
    named = ", ".join(f"{name} {machine[name]}" for name in versions if name in machine)
    return (
        f"{machine['processor']} (family/model {machine['family_and_model']}), {machine['cores']} cores,"
        f" {machine['memory_gb']} GB, {machine['system']}, with {', '.join(machine['instructions'])}; {named}"
        f"{'; code of ' + machine['commit'] if 'commit' in machine else ''}."
    )


def _commit() -> str:
    """Return the commit that is checked out, whose code is measured."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def products(kind: str) -> Contender:
    """Return large square matrix products as a contender, the peak for training; `kind` is a torch type."""
    return Contender(name=f"matrix product, {kind}", prepare=_prepare, arguments=(kind,), unit="GFLOP")


@contextmanager
def _prepare(kind: str) -> Iterator[Work]:
    import torch  # not in processes that measure text

    left, right = (torch.randn(SIZE, SIZE).to(getattr(torch, kind)) for _ in range(2))

    def work() -> tuple[float, None]:
        for _ in range(PRODUCTS):
            torch.mm(left, right)
        return PRODUCTS * 2 * SIZE**3 / 1e9, None

    work()
    yield work
