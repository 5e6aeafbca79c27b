"""Draw learning curves, claims, papers' tables and the costs of gains; all are readable without colour."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from textwrap import fill
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullLocator

from context_nmt.measures.rows import Measure
from context_nmt.report.all_systems import TRAINING_COSTS, System
from context_nmt.report.claim_rows import ClaimRow
from context_nmt.report.comparison import Comparison, Reproduction
from context_nmt.report.panels import (
    COLOURS,
    MARKERS,
    draw_legend,
    draw_panels,
    draw_shared_legend,
    interval_bar,
    label_rows,
    line_style,
)
from context_nmt.report.published import BLEU_MARGIN, PaperTable
from context_nmt.report.verdicts import (
    AGAINST,
    LEANING,
    LEANING_AGAINST,
    NO_DIFFERENCE,
    NOT_TESTABLE,
    OPEN,
    SUPPORTED,
)
from context_nmt.results.metrics import format_difference, is_score
from context_nmt.results.seed_tests import Sample
from context_nmt.results.table import Difference, Results

CURVE_LABELS = {  # column of a learning curve: label of its axis
    "train_nll": "Training loss (nats per token)",
    "valid_perplexity": "Validation perplexity",
    "valid_bleu": "Validation BLEU (greedy)",
}
EMPTY_CURVE = pd.Series(dtype=float)  # keeps a line in the legend
MAXIMUM_DISTINCT_CURVES = 8  # curves with a style of their own; others are grey

BLUE, RED, GREEN = COLOURS[:3]
VERDICT_STYLES: dict[str, dict[str, Any]] = {  # distinguished by shape and filling, also without colour
    SUPPORTED: {"color": GREEN, "marker": "o"},
    LEANING: {"color": GREEN, "marker": "o", "markerfacecolor": "white"},
    NO_DIFFERENCE: {"color": BLUE, "marker": "|", "markersize": 9},
    LEANING_AGAINST: {"color": RED, "marker": "X", "markerfacecolor": "white"},
    AGAINST: {"color": RED, "marker": "X"},
    OPEN: {"color": "black", "marker": "s", "markerfacecolor": "white"},
    NOT_TESTABLE: {"color": "0.6", "marker": ".", "markersize": 5, "linewidth": 0.8},
}
PUBLISHED_STYLE: dict[str, Any] = {"marker": "D", "color": "black", "markerfacecolor": "white"}
CLAIMS_LEGEND_TITLE = (
    "Difference in BLEU; right of 0: as the paper claims; bars: 95% interval over seeds;\n"
    "grey: does not answer the claim; no bar: too few seeds; published only: no result here"
)
CLAIM_LINE_LENGTH = 40  # characters
INCHES_PER_CLAIM = 0.36
END_OF_CLAIMS_AXIS = 8  # BLEU; one large difference would make the others too small to see

LABEL_LENGTH = 30  # characters of a line beside a panel
LONGEST_TICK_LABELS = 30  # characters that fit below a panel, side by side
Lines = dict[str, dict[str, float]]  # by label: values by position on the axis

DRAWN_COSTS = ("seconds", "flops")  # more systems have FLOPs, so they are last, next to the names
NO_PAPER_LABEL = "baselines and combinations"
NAME_ARROW = {"arrowstyle": "-", "color": "0.7", "linewidth": 0.5, "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 3}


def draw_learning_curves(results: Results, path: Path) -> None:
    """Draw the learning curves that exist, if any; runs of a variant share their colour, line and marker.

    Of more than MAXIMUM_DISTINCT_CURVES variants, only baselines have a style of their own; others are thin and grey.
    """
    settings = results.settings
    kept = {
        variant: [run[[name for name in CURVE_LABELS if name in run and run[name].notna().any()]] for run in runs]
        for variant, runs in results.curves.items()
    }
    curves = {variant: runs for variant, runs in kept.items() if any(len(run.columns) for run in runs)}
    columns = [column for column in CURVE_LABELS if any(column in run for runs in curves.values() for run in runs)]
    if not columns:
        return
    distinct = [*curves]
    if len(distinct) > MAXIMUM_DISTINCT_CURVES:
        baselines = {variant.baseline for variant in settings.variants.values()}
        distinct = [variant for variant in distinct if variant in baselines][:MAXIMUM_DISTINCT_CURVES]
    grey_variants = [variant for variant in curves if variant not in distinct]  # drawn below
    grey_style = {"color": "0.75", "linewidth": 0.6, "label": f"{len(grey_variants)} other systems"}
    styles = dict.fromkeys(grey_variants, grey_style) | {
        variant: line_style(number, label=settings.label(variant)) for number, variant in enumerate(distinct)
    }
    with draw_panels(path, len(columns), height=3.9) as (figure, panels):
        for panel, column in zip(panels, columns, strict=True):
            for variant, style in styles.items():
                for points in (run.get(column, EMPTY_CURVE).dropna() for run in curves[variant]):
                    panel.plot(points.index, points, markevery=max(1, len(points) // 10), **style)
            panel.set_xlabel("Updates")
            panel.set_ylabel(CURVE_LABELS[column])
            panel.grid(alpha=0.3)
            if column == "valid_perplexity":
                panel.set_yscale("log")
                panel.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7), numticks=12))
                panel.yaxis.set_major_formatter("{x:g}")
                panel.yaxis.set_minor_locator(NullLocator())
        draw_shared_legend(figure, panels[:1])
        figure.suptitle(f"Learning curves, {results.corpus}")


def draw_claims(claims: dict[str, Sequence[ClaimRow]], path: Path) -> bool:
    """Draw the claims about BLEU, by the name of their paper; return whether any has a number from here."""
    rows: list[str | ClaimRow] = []
    for name, paper_rows in claims.items():
        drawn = [row for row in paper_rows if row.topic == "BLEU" and (row.difference is not None or row.published)]
        rows += [name, *drawn] if drawn else []
    drawn = [row for row in rows if isinstance(row, ClaimRow)]
    if all(row.difference is None for row in drawn):
        return False
    with draw_panels(path, 1, heights=[0.5 + INCHES_PER_CLAIM * len(rows)], as_text=True) as (figure, (panel,)):
        panel.axvspan(-BLEU_MARGIN, BLEU_MARGIN, color="0.93", zorder=0)
        panel.axvline(0, color="black", linewidth=0.8)
        for number, row in enumerate(rows):
            if isinstance(row, ClaimRow):
                _draw_claim(panel, number, row)
            else:
                panel.axhline(number - 0.5, color="0.7", linewidth=0.6)
        labels = [row if isinstance(row, str) else fill(row.says, CLAIM_LINE_LENGTH) for row in rows]
        label_rows(panel, labels, fontsize=9)
        for row, label in zip(rows, panel.get_yticklabels(), strict=True):
            label.set_fontweight("bold" if isinstance(row, str) else "normal")
        panel.tick_params(axis="x", top=True, labeltop=True, labelsize=9)
        panel.tick_params(axis="y", length=0)
        low, high = panel.get_xlim()
        panel.set_xlim(max(low, -END_OF_CLAIMS_AXIS), min(high, END_OF_CLAIMS_AXIS))
        verdicts = {row.verdict for row in drawn if row.difference is not None}
        styles = {verdict: style for verdict, style in VERDICT_STYLES.items() if verdict in verdicts}
        if any(row.published for row in drawn):
            styles["published"] = PUBLISHED_STYLE | {"markersize": 4.5}
        handles = {verdict: Line2D([], [], linestyle="none", **style) for verdict, style in styles.items()}
        handles[f"±{BLEU_MARGIN} BLEU"] = Line2D([], [], color="0.88", linewidth=8)
        draw_legend(figure, handles, columns=3, title=CLAIMS_LEGEND_TITLE)
    return True


def _draw_claim(panel: Axes, number: int, row: ClaimRow) -> None:
    sign = -1 if row.direction == "lower" else 1
    published = sorted({sign * value for value in row.published})
    if published:
        panel.plot(published, [number - 0.2] * len(published), linewidth=0.6, markersize=4.5, **PUBLISHED_STYLE)
    if row.difference is None:
        return
    mean, ends = sign * row.difference, sorted(sign * end for end in (row.low, row.high) if end is not None)
    style: dict[str, Any] = {"linestyle": "none", "capsize": 2, "linewidth": 1.4} | VERDICT_STYLES[row.verdict]
    height = number + (0.2 if published else 0)
    panel.errorbar([mean], [height], xerr=interval_bar(mean, ends), **style)
    if abs(mean) > END_OF_CLAIMS_AXIS:
        number_text, to_edge = format_difference(mean, 1), panel.get_yaxis_transform()
        edge, side, text = (0.98, "right", f"{number_text} →") if mean > 0 else (0.02, "left", f"← {number_text}")
        panel.text(edge, height, text, transform=to_edge, ha=side, va="center", fontsize=9, color=style["color"])


def draw_comparison(comparison: Comparison, path: Path) -> bool:
    """Draw the reproductions of a table or figure: a figure's curves as lines, the gains of systems as points.

    Return whether there is anything to draw.
    """
    curves = []
    for reproduction in comparison.reproductions if comparison.table.across else ():
        reproduced, published = _curves(reproduction)
        if any(len(line) > 1 for line in reproduced.values()):
            curves.append((reproduction, reproduced, published))
    if curves:
        with draw_panels(path, len(curves), heights=[3.2] * len(curves), as_text=True) as (_, panels):
            for panel, curve in zip(panels, curves, strict=True):
                _draw_curves(panel, *curve)
        return True
    gains = {
        reproduction.results.title: reproduction_gains
        for reproduction in comparison.reproductions
        if (reproduction_gains := [*_gains(reproduction)])
    }
    if gains:
        _draw_gains(comparison.table, gains, path)
    return bool(gains)


def _gains(reproduction: Reproduction) -> Iterator[tuple[int, Difference]]:
    """Yield the number of a compared row with its gain, for each test set."""
    measures = [measure for measure in reproduction.measures if measure.test_set and is_score(measure.metric)]
    for row_number, row in enumerate(reproduction.table.compared):
        for estimate in (reproduction.number(row, measure) for measure in measures):
            if estimate and estimate.gain and not reproduction.has_other_baseline(row):
                yield row_number, estimate.gain


def _draw_gains(table: PaperTable, gains_by_title: dict[str, list[tuple[int, Difference]]], path: Path) -> None:
    rows = table.compared
    columns = [column for column in table.columns if is_score(column.metric)]
    height = 1.4 + (0.17 + 0.11 * len(gains_by_title)) * len(rows) + 0.17 * len(gains_by_title)
    with draw_panels(path, 1, heights=[height], as_text=True) as (figure, (panel,)):
        step = 0.7 / (len(gains_by_title) + 1)
        for row_number, row in enumerate(rows):
            published = [value for column in columns if (value := table.published_gain(row, column)) is not None]
            if published:
                positions = [row_number - 0.35 + step / 2] * len(published)
                panel.plot(published, positions, label="published", markersize=5, linestyle="none", **PUBLISHED_STYLE)
        for number, (title, row_gains) in enumerate(gains_by_title.items()):
            for row_number, gain in row_gains:
                panel.errorbar(
                    [gain.mean],
                    [row_number - 0.35 + step * (number + 1.5)],
                    xerr=interval_bar(gain.mean, gain.interval),
                    label=title,
                    linestyle="none",
                    marker=MARKERS[number % len(MARKERS)],
                    color=COLOURS[number % len(COLOURS)],
                    capsize=3,
                    markersize=5,
                    linewidth=1,
                )
        panel.axvline(0, color="black", linewidth=0.8)
        label_rows(panel, [row.label for row in rows], fontsize=9)
        x_label = "difference from the system's baseline, one mark per test set;\nbars: 95% interval over seeds"
        panel.set_xlabel(x_label, fontsize=8)
        for row_number in range(1, len(rows)):
            panel.axhline(row_number - 0.5, color="0.85", linewidth=0.6)
        draw_shared_legend(figure, [panel], columns=1)
        figure.suptitle(fill(f"{table.id}: {table.title}", 70), fontsize=10)


def _curves(reproduction: Reproduction) -> tuple[Lines, Lines]:
    """Return the reproduced and the published lines of a figure."""
    table = reproduction.table
    columns = {replace(column.measure, test_set=""): column for column in table.columns}
    measured = [  # on a test set, each with the column of its metric, or the first
        (column or columns.get(replace(measure, test_set=""), table.columns[0]), measure)
        for measure, column in reproduction.columns.items()
        if measure.test_set
    ]
    reproduced: Lines = {}
    published: Lines = {}
    for row, (column, measure) in product(table.rows, measured):
        # either rows or columns have a position on the axis
        line = row.label + (f", {column.line}" if column.line else "")
        position, label = (row.at, column.label) if row.at is not None else (column.at, line)
        if position is None:
            continue
        number = reproduction.number(row, measure)
        value = number and (number.gain if column.difference else number)
        if value:
            reproduced.setdefault(label, {})[str(position)] = value.mean
        if column.id in row.published and (column.difference or not reproduction.is_replica):
            published.setdefault(label, {})[str(position)] = row.published[column.id]
    return reproduced, published


def _draw_curves(panel: Axes, reproduction: Reproduction, reproduced_lines: Lines, published_lines: Lines) -> None:
    """Draw a figure, with a line per system or measure and open marks for published values."""
    table = reproduction.table
    drawn = {at for line in (*reproduced_lines.values(), *published_lines.values()) for at in line}
    axis_labels = (*(column.at for column in table.columns), *(row.at for row in table.rows))
    order = dict.fromkeys(str(label) for label in axis_labels if str(label) in drawn)
    positions = {label: position for position, label in enumerate(order)}
    joined = not all(at[:1].isalpha() for at in positions)  # between two tags there are no values
    for number, (label, line) in enumerate(reproduced_lines.items()):
        style = line_style(number, joined=joined, label=fill(label, LABEL_LENGTH))
        panel.plot([positions[at] for at in line], list(line.values()), **style)
    published = [(positions[at], value) for line in published_lines.values() for at, value in line.items()]
    if published:
        style = PUBLISHED_STYLE | {"linestyle": "none", "markersize": 8, "label": "published"}
        panel.plot(*zip(*published, strict=True), **style)
    is_difference = table.columns[0].difference
    if is_difference:
        panel.axhline(0, color="black", linewidth=0.8)
    test_set = next(measure.test_set for measure in reproduction.columns if measure.test_set)
    panel.set_title(reproduction.results.title, fontsize=9, loc="left")
    is_upright = sum(map(len, positions)) > LONGEST_TICK_LABELS
    panel.set_xticks(range(len(positions)), list(positions), rotation=90 if is_upright else 0)
    panel.set_xlabel(table.across, fontsize=8)
    panel.set_ylabel(f"{'gain' if is_difference else 'value'}, {test_set}", fontsize=8)
    panel.grid(alpha=0.3)
    panel.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)


def draw_costs(systems: Sequence[System], named_variants: Collection[str], path: Path) -> bool:
    """Draw the BLEU of systems with one recipe, on held-out text, over the costs of their training.

    Return whether at least two systems can be drawn. Variants in `named_variants`, baselines and combinations are
    labelled with their name and their row in the table of all systems. Bars are 95% intervals over seeds. Costs include
    the runs that a system was started from. Systems of another size, out-of-date systems and systems of unknown cost
    are left out.
    """
    if not systems:
        return False
    settings = systems[0].results.settings
    measures = [Measure(test, settings.significance.bleu) for test in settings.corpus.held_out]
    measure = next((candidate for candidate in measures if any(system.estimate(candidate) for system in systems)), None)
    if measure is None:
        return False
    drawn = {
        number: (system, estimate.mean)
        for number, system in enumerate(systems, start=1)
        if system.plain_system.variant == systems[0].plain_system.variant
        and system.variant not in system.results.out_of_date
        and (estimate := system.estimate(measure))
    }
    if len(drawn) < 2:
        return False
    papers = list(dict.fromkeys(system.paper or NO_PAPER_LABEL for system, _ in drawn.values()))
    with draw_panels(path, 2, heights=[3, 4], as_text=True) as (figure, panels):
        for panel, attribute in zip(panels, DRAWN_COSTS, strict=True):
            names: dict[str, tuple[float, float]] = {}
            for number, (system, mean) in drawn.items():
                cost, plain_cost = getattr(system, attribute), getattr(system.plain_system, attribute)
                if not cost or not plain_cost:
                    continue
                interval = Sample(system.results.by_seed(system.variant, measure) or ()).interval()
                style = line_style(papers.index(system.paper or NO_PAPER_LABEL), joined=False, linewidth=0.9)
                panel.errorbar([cost / plain_cost], [mean], yerr=interval_bar(mean, interval), capsize=2, **style)
                if system.variant in named_variants or system.paper is None:
                    names[f"{number} {system.results.settings.label(system.variant)}"] = (cost / plain_cost, mean)
            panel.set_xscale("log")
            panel.xaxis.set_major_formatter(FormatStrFormatter("%g"))
            panel.set_xticks([1, 1.5, 2, 3, 4, 6])
            panel.xaxis.set_minor_locator(NullLocator())
            panel.set_xlabel(f"{TRAINING_COSTS[attribute]} of training / the plain Transformer's", fontsize=8)
            panel.set_ylabel(f"{measure.metric}, {measure.test_set}", fontsize=8)
            panel.grid(alpha=0.3)
        _name_points(panels[-1], names)
        handles = {paper: Line2D([], [], **line_style(number, joined=False)) for number, paper in enumerate(papers)}
        draw_legend(figure, handles, columns=2)
        figure.suptitle(f"What a gain costs, {systems[0].results.corpus}", fontsize=10)
    return True


def _name_points(panel: Axes, points: dict[str, tuple[float, float]]) -> None:
    """Write the names of points to the right of a panel, the highest point first, with a line to each point."""
    for line, (name, point) in enumerate(sorted(points.items(), key=lambda item: -item[1][1])):
        panel.annotate(
            fill(name, LABEL_LENGTH),
            point,
            (1.06, 1 - (line + 0.5) / len(points)),
            textcoords="axes fraction",
            fontsize=8,
            verticalalignment="center",
            annotation_clip=False,
            arrowprops=NAME_ARROW,
        )
