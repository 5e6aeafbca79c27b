"""Rows of one run by flat names, METRIC_TAG_LAYER, as the tables of papers and results.json name numbers."""

from pathlib import Path
from typing import Any

from context_nmt.measures.contrastive import NORMALIZED, SUMMED
from context_nmt.measures.rows import BOUND, CHANCE, HUMAN, TEXT, Measure, read_rows

Flat = dict[str, dict[str, dict[str, Any]]]  # {test_set: {name: {"score", "signature", …}}}


def read_flat(path: Path) -> Flat:
    """Read a file of rows; "items", "reference" and "chance" are what the test set has for a number.

    Raises UserError for a missing or malformed file.
    """
    found: Flat = {}
    beside: list[tuple[str, str, str, float]] = []
    for row in read_rows(path):
        measure, names = row.measure, found.setdefault(row.measure.test_set, {})
        name = flat_name(measure)
        if row.of in (HUMAN, CHANCE):
            beside.append((measure.test_set, name, {HUMAN: "reference", CHANCE: "chance"}[row.of], row.value))
        elif row.of == TEXT and measure.metric == "items":
            both = (flat_name(Measure(measure.test_set, metric, tag=measure.tag)) for metric in (SUMMED, NORMALIZED))
            beside += [(measure.test_set, one, "items", int(row.value)) for one in both]
        else:
            name += "_bound" if row.of == BOUND else ""
            names[name] = {"score": row.value, "signature": row.signature}
    for test_set, name, what, value in beside:
        if name in found[test_set]:
            found[test_set][name][what] = value
    return found


def flat_name(measure: Measure) -> str:
    """One name for all that a measure is: pronouns_cross_normalized, gate_encoder_key_2."""
    metric, tag = measure.metric, measure.tag
    if metric in (SUMMED, NORMALIZED):
        return f"{measure.test_set}_{tag}{metric.removeprefix(SUMMED)}"
    if metric == "probe_deviation":
        return f"probe_{tag}_deviation"
    parts = [metric.replace("_by_", "_"), tag, "" if measure.layer is None else str(measure.layer)]
    return "_".join(part for part in parts if part)
