"""What a killed training goes on from: after it, every number is as if nothing had happened."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from context_nmt.files import sha256
from context_nmt.models import checkpoints
from context_nmt.training.updating import Totals, Updater


def fingerprint(plan: Path, corpus: list[Path], seed: int, code: str) -> str:
    """Name what a training's numbers depend on: plan, data, seed and code. Other trainings have other names.

    How it is launched is left out, so that it can go on elsewhere; then the last bits may differ.
    """
    hashes = [[path.name, sha256(path)] for path in (plan, *corpus)]
    return hashlib.sha256(json.dumps([seed, hashes, code]).encode()).hexdigest()[:16]


@dataclass
class Progress:
    """How far a training is."""

    update: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)  # of the learning curve, one per validation
    totals: Totals = field(default_factory=Totals)  # since the last validation, of all processes


def save(path: Path, updater: Updater, progress: Progress) -> None:
    """Write weights, Adam's moments and progress, whole or not at all."""
    tensors = {f"weights/{name}": value for name, value in checkpoints.weights_of(updater.model).items()}
    tensors |= {f"moments/{name}": value for name, value in updater.moments().items()}
    checkpoints.save(path, tensors, asdict(progress))


def load(path: Path, updater: Updater) -> Progress:
    """Put weights and moments back; without a file, nothing has happened yet."""
    if not path.exists():
        return Progress()
    tensors, values = checkpoints.load(path)
    parts: dict[str, dict[str, Any]] = {"weights": {}, "moments": {}}
    for name, value in tensors.items():
        part, _, inner = name.partition("/")
        parts[part][inner] = value
    checkpoints.fill(updater.model, parts["weights"], path)
    updater.restore(parts["moments"])
    return Progress(values["update"], values["rows"], Totals(**values["totals"]))
