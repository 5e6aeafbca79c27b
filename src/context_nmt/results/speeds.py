"""Speeds of training and decoding relative to the plain Transformer, as `make speed` measures them."""

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from context_nmt.files import UserError, read_json
from context_nmt.settings.model import CONCATENATION_KEYS

# What a null setting means, by slot and mechanism. It is not in the mechanism's file, whose changes cause training.
NULL_SETTINGS = {("decoder_output", "hierarchical_attention"): {"context": "target"}}
SETTINGS_WITHOUT_COST = {  # they do not change the amount of work
    "context_aware_cross_attention": ("window",),
    "context_aware_self_attention": ("gate_bias",),
    "hierarchical_attention": ("gate_bias",),
    "lexical_shortcuts": ("normalized_states",),
}
# Slots that every model fills with these are left out: speeds were measured before there were such slots.
PLAIN_SLOTS = ({"mechanism": "feed_forward"}, {"mechanism": "layer_norm"})


@dataclass(frozen=True)
class Speeds:
    """Speeds measured on one machine; systems are matched by `architecture`, not by name."""

    hardware: str
    size: str  # of the measured models
    variants: dict[str, dict[str, Any]]

    def ratio(self, model: dict[str, Any], work: str) -> float | None:
        """Return the mean speed relative to the Transformer's; None if unknown.

        `model` is a description by the describe stage, `work` is training or decoding.
        """
        rounds = self.rounds(model, work)
        return fmean(rounds) if rounds else None

    def rounds(self, model: dict[str, Any], work: str) -> tuple[float, ...]:
        """Return the speed relative to the Transformer's in each round, all variants in the same rounds, if known."""
        measured = self._measurement(model, work)
        return tuple(map(float, measured["rounds"])) if measured else ()

    def _measurement(self, model: dict[str, Any], work: str) -> dict[str, Any]:
        wanted_architecture = architecture(model)
        matches = (
            measured[work] for measured in self.variants.values() if architecture(measured) == wanted_architecture
        )
        return next(matches, None) or {}

    def note(self) -> str:
        """Return an explanation of the ratios, for the notes of a page."""
        if not self.variants:
            return "No speeds have been measured (`make speed`)."
        return (
            "Speeds are relative to a plain Transformer of the same size, measured for the same mechanisms in models of"
            f" {self.size} on {self.hardware}; the mean of the rounds in benchmarks/variants.json."
        )


def architecture(model: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a description that relative speed depends on.

    They are the kind, the distinct fillings of each slot in any number of layers, and how many sentences are joined.
    """
    slots = {}
    for slot, layers in model["slots"].items():
        fillings = {json.dumps(_settings_with_cost(slot, layer), sort_keys=True) for layer in layers}
        if all(layer in PLAIN_SLOTS for layer in layers):
            continue
        slots[slot] = [json.loads(filling) for filling in sorted(fillings)]
    return {"kind": model["kind"], "slots": slots} | {key: model[key] for key in CONCATENATION_KEYS if key in model}


def _settings_with_cost(slot: str, layer: dict[str, Any]) -> dict[str, Any]:
    """Return a filling with its null settings resolved, without settings that do not change the work."""
    mechanism = layer.get("mechanism", "")
    defaults, free = NULL_SETTINGS.get((slot, mechanism), {}), SETTINGS_WITHOUT_COST.get(mechanism, ())
    return {key: defaults.get(key) if value is None else value for key, value in layer.items() if key not in free}


def read_speeds(path: Path) -> Speeds:
    """Read benchmarks/variants.json; raise UserError for a missing or malformed file."""
    measurements = read_json(path)
    try:
        speeds = Speeds(hardware=measurements["hardware"], size=measurements["size"], variants=measurements["variants"])
        for variant in speeds.variants.values():
            for work in ("training", "decoding"):
                speeds.ratio(variant, work)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: not what `make speed` writes ({type(error).__name__}: {error})") from None
    return speeds
