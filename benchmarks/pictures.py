"""Pictures of what was measured: BLEU against speed, and the growth of the text stages."""

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullLocator

from benchmarks.page import TEXT_STAGES
from context_nmt.report.panels import COLOURS, LINES, MARKERS, label_axes, legend, panels_of, style

MODES = {"alone": "one sentence at a time", "batched": "batched"}
ABOVE, BELOW = (0, 8), (0, -15)  # points between a marker and its label
GROWTH = (("cpu_seconds", "CPU time, minutes", 60), ("memory_mb", "Memory, GB", 1000))


def draw_searches(values: dict[str, Any], path: Path) -> None:
    """Draw a panel per mode, a marker and a line per system, bars from least to greatest."""
    with panels_of(path, len(MODES), height=4.2) as (figure, panels):
        for panel, (mode, title) in zip(panels, MODES.items(), strict=True):
            for number, system in enumerate(dict.fromkeys(search["system"] for search in values["searches"])):
                searches = [search for search in values["searches"] if search["system"] == system]
                _draw_system(panel, searches, mode, number, values["systems"][system]["label"])
            panel.axvline(1, color="0.6", linewidth=0.8, zorder=0)
            panel.set_xscale("log")
            panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
            panel.xaxis.set_major_formatter("{x:g}")
            panel.xaxis.set_minor_locator(NullLocator())
            panel.margins(x=0.2, y=0.2)
            panel.set_title(title, fontsize=10)
            panel.set_xlabel(f"Sentences/s over those of {values['searches'][0]['search']}")
            panel.set_ylabel(f"BLEU (sacrebleu, {values['test_set']})")
            panel.grid(alpha=0.3)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
        figure.suptitle(f"BLEU and speed of decoding, {values['corpus']}")


def _draw_system(panel: Axes, found: list[dict[str, Any]], mode: str, number: int, label: str) -> None:
    speeds = [search[mode]["relative"] for search in found]
    if len(found) == 1:
        label = f"{label}, {found[0]['search']}"
    medians, scores = [speed["median"] for speed in speeds], [search["bleu"] for search in found]
    panel.errorbar(
        medians,
        scores,
        xerr=[
            [speed["median"] - speed["minimum"] for speed in speeds],
            [speed["maximum"] - speed["median"] for speed in speeds],
        ],
        color=COLOURS[number],
        marker=MARKERS[number],
        linestyle=LINES[number],
        linewidth=1,
        markersize=7,
        capsize=3,
        label=label,
    )
    for search, speed, score in zip(found, medians, scores, strict=True):
        if len(found) > 1:
            offset = ABOVE if number == 0 and search is found[0] else BELOW
            panel.annotate(
                search["search"], (speed, score), offset, textcoords="offset points", ha="center", fontsize=8
            )


def draw_growth(sizes: dict[str, dict[str, Any]], path: Path) -> None:
    """Draw CPU time and memory against the number of pairs, with a line of constant CPU time per pair."""
    ordered = [sizes[size] for size in sorted(sizes, key=int)]
    millions = [one["pairs"] / 1e6 for one in ordered]
    with panels_of(path, len(GROWTH), height=3.4) as (figure, panels):
        for panel, (key, title, scale) in zip(panels, GROWTH, strict=True):
            for number, stage in enumerate(TEXT_STAGES):
                values = [one["stages"][stage][key] / scale for one in ordered]
                panel.plot(millions, values, label=stage, **style(number))
                if key == "cpu_seconds":
                    constant = [values[0] * size / millions[0] for size in millions]
                    panel.plot(millions, constant, color="0.6", linewidth=0.8, label="constant per pair", zorder=0)
            panel.set_ylim(bottom=0)
            label_axes(panel, title, "million sentence pairs", title)
        legend(figure, panels)
