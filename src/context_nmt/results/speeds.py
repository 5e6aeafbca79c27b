"""How fast systems train and decode relative to the plain Transformer, as `make speed` has measured it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_nmt.files import UserError, read_json


@dataclass(frozen=True)
class Speeds:
    """What was measured on one machine; a system is known by its kind and what fills its slots, whatever its name."""

    hardware: str
    size: str  # of the models that were measured
    variants: dict[str, dict[str, Any]]

    def ratio(self, model: dict[str, Any], work: str) -> float | None:
        """The median of a speed over the Transformer's; a model is what describe says, `work` training or decoding."""
        wanted = model["kind"], fillings(model["slots"])
        for measured in self.variants.values():
            if (measured["kind"], measured["slots"]) == wanted:
                return float(measured[work]["median"]) if measured[work] else None
        return None

    def note(self) -> str:
        """What the ratios are, for the notes of a page."""
        if not self.variants:
            return "No speed is measured (`make speed`)."
        return (
            "Speeds are those of a system with the same attentions over those of a plain Transformer of equal size,"
            f" {self.size}, {self.hardware}, from benchmarks/variants.json."
        )


def fillings(slots: dict[str, Any]) -> dict[str, list[Any]]:
    """What fills each slot, without how many layers there are."""
    return {
        slot: json.loads(f"[{','.join(sorted({json.dumps(one, sort_keys=True) for one in layers}))}]")
        for slot, layers in slots.items()
    }


def read_speeds(path: Path) -> Speeds:
    """Read benchmarks/variants.json; raises UserError for a missing or malformed file."""
    found = read_json(path)
    try:
        speeds = Speeds(hardware=found["hardware"], size=found["size"], variants=found["variants"])
        for variant in speeds.variants.values():
            for work in ("training", "decoding"):
                speeds.ratio(variant, work)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: not what `make speed` writes ({type(error).__name__}: {error})") from None
    return speeds
