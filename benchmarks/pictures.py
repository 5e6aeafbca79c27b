"""Draw BLEU against speed, and the growth of the text stages."""

from pathlib import Path

from matplotlib.ticker import LogLocator, NullLocator

from benchmarks.report import Part
from context_nmt.report.panels import (
    COLOURS,
    LINE_STYLES,
    MARKERS,
    draw_panels,
    draw_shared_legend,
    label_axes,
    line_style,
)

ABOVE, BELOW = (0, 8), (0, -15)  # points between a marker and its label


def draw_searches(part: Part, path: Path) -> None:
    """Draw BLEU against relative speed, with a panel per mode, a line per system, and bars from minimum to maximum.

    Rows of the tables are named `SYSTEM, SEARCH`; speeds are relative to the first.
    """
    (bleu_title, bleu), *speed_tables = part.tables.items()
    relative = {title: rows for title, rows in speed_tables if title.startswith("speed / ")}
    systems = dict[str, list[str]]()
    for row in bleu:
        systems.setdefault(row.rpartition(", ")[0], []).append(row)
    with draw_panels(path, len(relative), heights=[3.6] * len(relative)) as (figure, panels):
        for panel, (title, speeds) in zip(panels, relative.items(), strict=True):
            base, _, mode = title.removeprefix("speed / ").rpartition(", ")
            for number, (system, rows) in enumerate(systems.items()):
                medians = [speeds[row]["median"] for row in rows]
                panel.errorbar(
                    medians,
                    [bleu[row] for row in rows],
                    xerr=[
                        [speeds[row]["median"] - speeds[row]["minimum"] for row in rows],
                        [speeds[row]["maximum"] - speeds[row]["median"] for row in rows],
                    ],
                    color=COLOURS[number],
                    marker=MARKERS[number],
                    linestyle=LINE_STYLES[number],
                    linewidth=1,
                    markersize=7,
                    capsize=3,
                    label=system if len(rows) > 1 else rows[0],
                )
                for row, speed in zip(rows, medians, strict=True):
                    if len(rows) > 1:
                        offset, search = ABOVE if row == base else BELOW, row.rpartition(", ")[2]
                        panel.annotate(
                            search, (speed, bleu[row]), offset, textcoords="offset points", ha="center", fontsize=8
                        )
            panel.axvline(1, color="0.6", linewidth=0.8, zorder=0)
            panel.set_xscale("log")
            panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
            panel.xaxis.set_major_formatter("{x:g}")
            panel.xaxis.set_minor_locator(NullLocator())
            panel.margins(x=0.2, y=0.2)
            label_axes(panel, mode, f"Sentences/s over those of {base}", f"sacre{bleu_title}")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8)
        figure.suptitle(part.title)


def draw_growth(part: Part, path: Path, titles: tuple[str, ...]) -> None:
    """Draw these tables against the number of pairs; the first also has a line of constant CPU time per pair.

    Rows of the tables are named `STAGE, PAIRS pairs`.
    """
    with draw_panels(path, len(titles), heights=[2.6] * len(titles)) as (figure, panels):
        for panel, title in zip(panels, titles, strict=True):
            stages = dict[str, dict[float, float]]()
            for row, value in part.tables[title].items():
                stage, _, pairs = row.removesuffix(" pairs").partition(", ")
                stages.setdefault(stage, {})[int(pairs.replace(",", "")) / 1e6] = value
            for number, (stage, values) in enumerate(stages.items()):
                panel.plot(list(values), list(values.values()), label=stage, **line_style(number))
                if title == titles[0]:
                    per_million = next(value / size for size, value in values.items())
                    constant = [per_million * size for size in values]
                    panel.plot(list(values), constant, color="0.6", linewidth=0.8, label="constant per pair", zorder=0)
            panel.set_ylim(bottom=0)
            label_axes(panel, title, "million sentence pairs", title)
        draw_shared_legend(figure, panels, columns=3)
