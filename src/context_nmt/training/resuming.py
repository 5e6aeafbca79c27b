"""What a killed training goes on from: after it, every number is as if nothing had happened."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import context_nmt
from context_nmt.files import sha256
from context_nmt.models import checkpoints
from context_nmt.training.updating import Totals, Updater

# What the numbers of a training depend on besides its plan, as the train stage in dvc.yaml has it.
CODE = (
    "transformer",
    "models/building.py",
    "models/checkpoints.py",
    "models/document_model.py",
    "models/masked_language_model.py",
    "models/processes.py",
    "models/translation_model.py",
    "training",
    "corpus/batching.py",
    "corpus/previous.py",
)


def fingerprint(plan: Path, corpus: list[Path], seed: int) -> str:
    """Name what a training's numbers depend on: plan, data, seed and code. Other trainings have other names.

    How it is launched is left out, so that it can go on elsewhere; then the last bits may differ.
    """
    package = Path(context_nmt.__file__).parent
    code = [file for part in CODE for file in sorted((package / part).rglob("*.py")) or [package / part]]
    hashes = [[path.name, sha256(path)] for path in (plan, *corpus)]
    hashes += [[str(path.relative_to(package)), sha256(path)] for path in code]
    return hashlib.sha256(json.dumps([seed, hashes]).encode()).hexdigest()[:16]


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
