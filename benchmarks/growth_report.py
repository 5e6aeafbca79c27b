"""The table and the picture of the text stages' time and memory by size of the corpus."""

from pathlib import Path
from typing import Any

from benchmarks.machine import machine_line
from benchmarks.tables import ByMachine, marked, table
from context_nmt.report.tables import DASH

STAGES = ("tokenize", "bpe")  # bpe learns merges, segments and numbers the units
LINEAR = 1.15  # CPU seconds per pair, relative to the smallest corpus, at most
MOST_MEMORY = 4.0  # GB of a stage
PANELS = (("cpu_seconds", "CPU time, minutes", 60), ("memory_mb", "Memory, GB", 1000))


def growth_section(machines: ByMachine, pictures: list[str]) -> list[str]:
    """Return the lines about time and memory of the text stages by size of the corpus."""
    lines = ["## Growth of the text stages", ""]
    for key, path in zip(machines, pictures, strict=True):
        lines += [f"![Time and memory against the size of the corpus, {key}]({path})", ""]
    sizes = sorted({int(size) for one in machines.values() for size in one})
    rows = []
    for stage in STAGES:
        for size in sizes:
            rows.append([stage, f"{size:,}"])
            for one in machines.values():
                rows[-1] += _cells(one, stage, size)
    columns = ("seconds", "CPU s", "CPU s / pair", "memory, GB")
    named = columns if len(machines) == 1 else [f"{column}, {key}" for key in machines for column in columns]
    lines += [*table(["stage", "pairs", *named], rows), ""]
    words = {int(size): values["distinct_words"] for one in machines.values() for size, values in one.items()}
    found = ", ".join(f"{words[size]:,} in {size:,}" for size in sizes)
    lines += [
        f"- The stages of an experiment, as `python stages` runs them, on generated sentences; distinct words of one"
        f" language, with punctuation: {found}. `bpe` learns merges, segments and numbers the units.",
        "- CPU time and memory are those of all processes of a stage; pages that processes share count once. Seconds"
        " also count waiting for other programs' work on the machine, CPU seconds do not. The column"
        f" CPU s / pair is relative to the smallest corpus; targets: at most {LINEAR:g}, and {MOST_MEMORY:g} GB.",
    ]
    for key, one in machines.items():
        largest = max(one.values(), key=_pairs)
        lines.append(f"- {key}: {machine_line(largest['machine'])}")
    return lines


def _pairs(measured: dict[str, Any]) -> int:
    return int(measured["pairs"])


def _cells(sizes: dict[str, Any], stage: str, size: int) -> list[str]:
    if str(size) not in sizes:
        return [DASH] * 4
    smallest = min(sizes.values(), key=_pairs)
    measured = sizes[str(size)]["stages"][stage]
    relative = measured["cpu_seconds"] / size / (smallest["stages"][stage]["cpu_seconds"] / smallest["pairs"])
    return [
        f"{measured['seconds']:,.0f}",
        f"{measured['cpu_seconds']:,.0f}",
        marked(f"{relative:.2f}", relative > LINEAR),
        marked(f"{measured['memory_mb'] / 1000:.2f}", measured["memory_mb"] > 1000 * MOST_MEMORY),
    ]


def draw(sizes: dict[str, dict[str, Any]], path: Path) -> None:
    """Draw CPU time and memory against the number of pairs, with a line of constant CPU time per pair."""
    from context_nmt.report.panels import label_axes, legend, panels_of, style  # not for tables

    ordered = sorted(sizes.values(), key=_pairs)
    millions = [_pairs(one) / 1e6 for one in ordered]
    with panels_of(path, len(PANELS), height=3.4) as (figure, panels):
        for panel, (key, title, scale) in zip(panels, PANELS, strict=True):
            for number, stage in enumerate(STAGES):
                values = [one["stages"][stage][key] / scale for one in ordered]
                panel.plot(millions, values, label=stage, **style(number))
                if key == "cpu_seconds":
                    constant = [values[0] * size / millions[0] for size in millions]
                    panel.plot(millions, constant, color="0.6", linewidth=0.8, label="constant per pair", zorder=0)
            panel.set_ylim(bottom=0)
            label_axes(panel, title, "million sentence pairs", title)
        legend(figure, panels)
