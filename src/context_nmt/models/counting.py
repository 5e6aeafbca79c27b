"""Count the parameters and floating-point operations of a model, without training or data."""

import re
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from context_nmt.models.building import build, place_of
from context_nmt.models.mechanisms import facts_of
from context_nmt.models.plans import ModelPlan
from context_nmt.settings.model import CONCATENATION_KEYS

SENTENCE_LENGTH = 25  # units on each side, about the mean of WMT newstest sets in BPE units


def describe(plan: ModelPlan, *, source_vocabulary: int, target_vocabulary: int) -> dict[str, Any]:
    """Return kind, parameters in total and by part, FLOPs per target token, and the mechanism in each slot and layer.

    For concatenation, also return the numbers of previous sentences that are joined. FLOPs are counted in training: the
    matrix products of one forward and backward pass over a sentence pair of 25 and 25 units (fewer if the model has too
    few learned positions), plus the FACTS.further_flops of mechanisms, divided by the number of target units. A
    multiplication and an addition count as two. Previous sentences have the same length; the divisor does not include
    their target units.
    """
    length = SENTENCE_LENGTH
    with torch.device("meta"):
        model = build(plan, source_vocabulary=source_vocabulary, target_vocabulary=target_vocabulary)
        if plan.model.positions == "learned":
            length = min(length, (plan.model.maximum_positions + 1) // (model.previous_sources + 1) - 1)
        with FlopCounterMode(display=False) as counter:
            previous = (model.previous_sources, model.previous_targets)  # joined with BREAK
            inputs = [torch.zeros(1, (length + 1) * (count + 1) - 1, dtype=torch.long) for count in previous]
            if model.in_documents:  # previous sentences are encoded once
                inputs.append(torch.zeros(1, model.context_sentences, dtype=torch.long))
            model.output(model(*inputs)).sum().backward()
    flops = counter.get_total_flops() + sum(
        further(place_of(plan.model, slot, number), length)
        for slot, layers in plan.slots.items()
        for number, layer in enumerate(layers, start=1)
        if (further := facts_of(layer.mechanism).further_flops)
    )
    parts: dict[str, int] = {}
    for name, parameter in model.named_parameters():  # encoder.layers.3.self_attention.query.weight
        first, *rest = re.sub(r"layers\.\d+\.", "", name).split(".")
        part = f"{first}.{rest[0]}" if first in ("encoder", "decoder") else first  # encoder.self_attention
        parts[part] = parts.get(part, 0) + parameter.numel()
    return {
        "kind": plan.model.kind,
        **{key: number for key in CONCATENATION_KEYS if (number := getattr(model, key))},
        "parameters": sum(parts.values()),
        "parameters_by_part": parts,
        "flops_per_target_token": round(flops / length),
        "slots": {
            slot: [{"mechanism": layer.mechanism, **layer.settings} for layer in layers]
            for slot, layers in plan.slots.items()
        },
    }
