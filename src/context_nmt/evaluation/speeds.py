"""How fast variants train and decode relative to the plain Transformer, as `make speed` has measured it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_nmt.files import UserError, read_json


@dataclass(frozen=True)
class Speeds:
    """What was measured on one machine; by variants' names, since experiments give them to the same systems."""

    hardware: str
    size: str  # of the models that were measured
    variants: dict[str, dict[str, Any]]

    def ratio(self, variant: str, work: str) -> float | None:
        """The median of a variant's speed over the Transformer's; `work` is training or decoding."""
        measured = self.variants.get(variant, {}).get(work)
        return float(measured["median"]) if measured else None

    def note(self) -> str:
        """What the ratios are, for the notes of a page."""
        if not self.variants:
            return "No speed is measured (`make speed`)."
        return (
            f"Speeds are those of the variant of that name over the plain Transformer's, {self.size}, {self.hardware}, "
            "from benchmarks/variants.json."
        )


def read_speeds(path: Path) -> Speeds:
    """Read benchmarks/variants.json; raises UserError for a missing or malformed file."""
    found = read_json(path)
    try:
        speeds = Speeds(hardware=found["hardware"], size=found["size"], variants=found["variants"])
        for variant in speeds.variants:
            for work in ("training", "decoding"):
                speeds.ratio(variant, work)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: not what `make speed` writes ({type(error).__name__}: {error})") from None
    return speeds
