"""Draw learning curves, claims, papers' tables and the costs of gains, readable without colour."""

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
from context_nmt.report.panels import (
    COLOURS,
    MARKERS,
    draw_legend,
    interval_bar,
    label_rows,
    legend,
    panels_of,
    style,
)
from context_nmt.report.papers.all_systems import System
from context_nmt.report.papers.claim_rows import ClaimRow
from context_nmt.report.papers.comparison import Comparison, Reproduction
from context_nmt.report.papers.published import ALIKE, PaperTable
from context_nmt.report.papers.verdicts import (
    AGAINST,
    ALIKE_SYSTEMS,
    LEANING,
    LEANING_AGAINST,
    NOT_TESTABLE,
    OPEN,
    SUPPORTED,
)
from context_nmt.results.metrics import is_score
from context_nmt.results.seed_tests import Sample
from context_nmt.results.table import Difference, Results

CURVES = {  # column of a learning curve: label of its axis
    "train_nll": "Training loss (nats per token)",
    "valid_perplexity": "Validation perplexity",
    "valid_bleu": "Validation BLEU (greedy)",
}
NO_POINTS = pd.Series(dtype=float)  # keeps the line in the legend
MOST_LINES = 8  # of distinct style in a picture of learning curves; the others are grey

BLUE, RED, GREEN = COLOURS[:3]
VERDICTS: dict[str, dict[str, Any]] = {  # shape and filling tell them apart without colour
    SUPPORTED: {"color": GREEN, "marker": "o"},
    LEANING: {"color": GREEN, "marker": "o", "markerfacecolor": "white"},
    ALIKE_SYSTEMS: {"color": BLUE, "marker": "|", "markersize": 9},
    LEANING_AGAINST: {"color": RED, "marker": "X", "markerfacecolor": "white"},
    AGAINST: {"color": RED, "marker": "X"},
    OPEN: {"color": "black", "marker": "s", "markerfacecolor": "white"},
    NOT_TESTABLE: {"color": "0.6", "marker": ".", "markersize": 5, "linewidth": 0.8},
}
PUBLISHED: dict[str, Any] = {"marker": "D", "color": "black", "markerfacecolor": "white"}
ACROSS_CLAIMS = (
    "Difference in BLEU, to the right of 0 as the paper claims; bars: 95% interval over seeds;\n"
    "grey: does not answer the claim; no bar: not run, or out of date"
)
LETTERS_OF_CLAIM = 40  # on one line
INCHES = 0.36  # per claim

LETTERS_OF_PLACES = 60  # below one panel, side by side
Lines = dict[str, dict[str, float]]  # by label, values by place on the axis

COSTS = {  # more systems have FLOPs than seconds, so FLOPs are last, next to the names
    "seconds": "seconds of training / the plain Transformer's",
    "flops": "FLOPs of training / the plain Transformer's",
}
NO_PAPER = "baselines and combinations"
ARROW = {"arrowstyle": "-", "color": "0.7", "linewidth": 0.5, "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 3}


def draw_learning_curves(results: Results, path: Path) -> None:
    """Draw the learning curves that exist, if any; runs of one variant share its colour, line and marker.

    Of more than MOST_LINES variants, only the baselines have their own; the others are thin and grey.
    """
    settings = results.settings
    kept = {
        variant: [run[[name for name in CURVES if name in run and run[name].notna().any()]] for run in runs]
        for variant, runs in results.curves.items()
    }
    curves = {variant: runs for variant, runs in kept.items() if any(len(run.columns) for run in runs)}
    columns = [column for column in CURVES if any(column in run for runs in curves.values() for run in runs)]
    if not columns:
        return
    own = [*curves]
    if len(own) > MOST_LINES:
        baselines = {variant.baseline for variant in settings.variants.values()}
        own = [variant for variant in own if variant in baselines][:MOST_LINES]
    others = [variant for variant in curves if variant not in own]  # drawn below
    grey = {"color": "0.75", "linewidth": 0.6, "label": f"{len(others)} other systems"}
    looks = dict.fromkeys(others, grey) | {
        variant: style(number, label=settings.label(variant)) for number, variant in enumerate(own)
    }
    with panels_of(path, len(columns), height=3.9) as (figure, panels):
        for panel, column in zip(panels, columns, strict=True):
            for variant, look in looks.items():
                for points in (run.get(column, NO_POINTS).dropna() for run in curves[variant]):
                    panel.plot(points.index, points, markevery=max(1, len(points) // 10), **look)
            panel.set_xlabel("Updates")
            panel.set_ylabel(CURVES[column])
            panel.grid(alpha=0.3)
            if column == "valid_perplexity":
                panel.set_yscale("log")
                panel.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7), numticks=12))
                panel.yaxis.set_major_formatter("{x:g}")
                panel.yaxis.set_minor_locator(NullLocator())
        legend(figure, panels[:1])
        figure.suptitle(f"Learning curves, {results.corpus}")


def draw_claims(claims: dict[str, Sequence[ClaimRow]], path: Path) -> bool:
    """Draw claims whose difference is in BLEU, by the name of their paper; return whether any has a number."""
    rows: list[str | ClaimRow] = []
    for name, of_paper in claims.items():
        drawn = [row for row in of_paper if row.is_bleu and (row.difference is not None or row.published)]
        rows += [name, *drawn] if drawn else []
    drawn = [row for row in rows if isinstance(row, ClaimRow)]
    if all(row.difference is None for row in drawn):
        return False
    with panels_of(path, 1, heights=[0.5 + INCHES * len(rows)], width=6.2, as_text=True) as (figure, (panel,)):
        panel.axvspan(-ALIKE, ALIKE, color="0.93", zorder=0)
        panel.axvline(0, color="black", linewidth=0.8)
        for place, row in enumerate(rows):
            if isinstance(row, ClaimRow):
                _draw_claim(panel, place, row)
            else:
                panel.axhline(place - 0.5, color="0.7", linewidth=0.6)
        labels = [row if isinstance(row, str) else fill(row.says, LETTERS_OF_CLAIM) for row in rows]
        label_rows(panel, labels, fontsize=9)
        for row, label in zip(rows, panel.get_yticklabels(), strict=True):
            label.set_fontweight("bold" if isinstance(row, str) else "normal")
        panel.tick_params(axis="x", top=True, labeltop=True, labelsize=9)
        panel.tick_params(axis="y", length=0)
        words = {row.verdict for row in drawn if row.difference is not None}
        looks = {word: look for word, look in VERDICTS.items() if word in words}
        if any(row.published for row in drawn):
            looks["published"] = PUBLISHED | {"markersize": 4.5}
        handles = {word: Line2D([], [], linestyle="none", **look) for word, look in looks.items()}
        handles[f"±{ALIKE} BLEU"] = Line2D([], [], color="0.88", linewidth=8)
        draw_legend(figure, handles, columns=3, title=ACROSS_CLAIMS)
    return True


def _draw_claim(panel: Axes, place: int, row: ClaimRow) -> None:
    sign = -1 if row.direction == "lower" else 1
    published = sorted({sign * value for value in row.published})
    if published:
        panel.plot(published, [place - 0.2] * len(published), linewidth=0.6, markersize=4.5, **PUBLISHED)
    if row.difference is None:
        return
    mean, ends = sign * row.difference, sorted(sign * end for end in (row.low, row.high) if end is not None)
    look: dict[str, Any] = {"linestyle": "none", "capsize": 2, "linewidth": 1.4} | VERDICTS[row.verdict]
    panel.errorbar([mean], [place + (0.2 if published else 0)], xerr=interval_bar(mean, ends), **look)


def draw_comparison(comparison: Comparison, path: Path) -> bool:
    """Draw the reproductions of a table or figure: curves of figures as lines, gains of systems as points.

    Return whether there is anything to draw.
    """
    curves = []
    for reproduction in comparison.reproductions if comparison.table.across else ():
        ours, theirs = _curves(reproduction)
        if any(len(line) > 1 for line in ours.values()):
            curves.append((reproduction, ours, theirs))
    if curves:
        with panels_of(path, len(curves), heights=[3.2] * len(curves), as_text=True) as (_, panels):
            for panel, curve in zip(panels, curves, strict=True):
                _draw_curves(panel, *curve)
        return True
    gains = {one.results.title: found for one in comparison.reproductions if (found := [*_gains(one)])}
    if gains:
        _draw_gains(comparison.table, gains, path)
    return bool(gains)


def _gains(reproduction: Reproduction) -> Iterator[tuple[int, Difference]]:
    """Yield the number of a row of those compared, and a gain, one per test set."""
    measures = [measure for measure in reproduction.measures if measure.test_set and is_score(measure.metric)]
    for place, row in enumerate(reproduction.table.compared):
        for number in (reproduction.number(row, measure) for measure in measures):
            if number and number.gain and not reproduction.has_other_baseline(row):
                yield place, number.gain


def _draw_gains(table: PaperTable, found: dict[str, list[tuple[int, Difference]]], path: Path) -> None:
    rows = table.compared
    columns = [column for column in table.columns if is_score(column.metric)]
    with panels_of(path, 1, heights=[1.4 + (0.17 + 0.11 * len(found)) * len(rows)], as_text=True) as (figure, (panel,)):
        step = 0.7 / (len(found) + 1)
        for place, row in enumerate(rows):
            published = [value for column in columns if (value := table.published_gain(row, column)) is not None]
            if published:
                places = [place - 0.35 + step / 2] * len(published)
                panel.plot(published, places, label="published", markersize=5, linestyle="none", **PUBLISHED)
        for number, (title, of_rows) in enumerate(found.items()):
            for place, gain in of_rows:
                panel.errorbar(
                    [gain.mean],
                    [place - 0.35 + step * (number + 1.5)],
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
        across = "difference from the system's baseline, one mark per test set; bars: 95% interval over seeds"
        panel.set_xlabel(across, fontsize=8)
        for place in range(1, len(rows)):
            panel.axhline(place - 0.5, color="0.85", linewidth=0.6)
        legend(figure, [panel], columns=2)
        figure.suptitle(f"{table.id}: {table.title}", fontsize=10)


def _curves(reproduction: Reproduction) -> tuple[Lines, Lines]:
    """Return the reproduced and the published lines."""
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
        # either the rows have a place on the axis, or the columns
        line = row.label + (f", {column.line}" if column.line else "")
        at, label = (row.at, column.label) if row.at is not None else (column.at, line)
        if at is None:
            continue
        number = reproduction.number(row, measure)
        value = number and (number.gain if column.difference else number)
        if value:
            reproduced.setdefault(label, {})[str(at)] = value.mean
        if column.id in row.published and (column.difference or not reproduction.is_replica):
            published.setdefault(label, {})[str(at)] = row.published[column.id]
    return reproduced, published


def _draw_curves(panel: Axes, reproduction: Reproduction, ours: Lines, theirs: Lines) -> None:
    """Draw a figure: a line per system or measure, open marks for published values."""
    table = reproduction.table
    known = {at for line in (*ours.values(), *theirs.values()) for at in line}
    positions = (*(column.at for column in table.columns), *(row.at for row in table.rows))
    order = dict.fromkeys(str(at) for at in positions if str(at) in known)
    places = {at: place for place, at in enumerate(order)}
    joined = not all(at[:1].isalpha() for at in places)  # no values lie between two tags
    for number, (label, line) in enumerate(ours.items()):
        panel.plot([places[at] for at in line], list(line.values()), **style(number, joined=joined), label=label)
    published = [(places[at], value) for line in theirs.values() for at, value in line.items()]
    if published:
        look = PUBLISHED | {"linestyle": "none", "markersize": 8, "label": "published"}
        panel.plot(*zip(*published, strict=True), **look)
    is_difference = table.columns[0].difference
    if is_difference:
        panel.axhline(0, color="black", linewidth=0.8)
    test_set = next(measure.test_set for measure in reproduction.columns if measure.test_set)
    panel.set_title(reproduction.results.title, fontsize=9, loc="left")
    upright = sum(map(len, places)) > LETTERS_OF_PLACES
    panel.set_xticks(range(len(places)), list(places), rotation=90 if upright else 0)
    panel.set_xlabel(table.across, fontsize=8)
    panel.set_ylabel(f"{'gain' if is_difference else 'value'}, {test_set}", fontsize=8)
    panel.grid(alpha=0.3)
    panel.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=7)


def draw_costs(systems: Sequence[System], named: Collection[str], path: Path) -> bool:
    """Draw the tested BLEU of systems of one recipe on held-out text; return whether there are two of them.

    The variants in `named`, baselines and combinations have their name and the number of their row in the table of all
    systems. Bars are 95% intervals over seeds. Whatever a system continues is part of its costs. Systems of another
    size, those that are out of date, and those whose costs are not known are left out.
    """
    if not systems:
        return False
    settings = systems[0].results.settings
    measures = [Measure(test, settings.significance.metric) for test in settings.corpus.held_out]
    measure = next((one for one in measures if any(system.estimate(one) for system in systems)), None)
    if measure is None:
        return False
    drawn = {
        number: (system, estimate.mean)
        for number, system in enumerate(systems, start=1)
        if system.plain.variant == systems[0].plain.variant
        and system.variant not in system.results.out_of_date
        and (estimate := system.estimate(measure))
    }
    if len(drawn) < 2:
        return False
    papers = list(dict.fromkeys(system.paper or NO_PAPER for system, _ in drawn.values()))
    with panels_of(path, 2, height=4.6, as_text=True) as (figure, panels):
        panels[0].sharey(panels[1])
        for panel, (cost, across) in zip(panels, COSTS.items(), strict=True):
            names: dict[str, tuple[float, float]] = {}
            for number, (system, mean) in drawn.items():
                own, plain = getattr(system, cost), getattr(system.plain, cost)
                if not own or not plain:
                    continue
                interval = Sample(system.results.by_seed(system.variant, measure) or ()).interval()
                look = style(papers.index(system.paper or NO_PAPER), joined=False, linewidth=0.9)
                panel.errorbar([own / plain], [mean], yerr=interval_bar(mean, interval), capsize=2, **look)
                if system.variant in named or system.paper is None:
                    names[f"{number} {system.results.settings.label(system.variant)}"] = (own / plain, mean)
            panel.set_xscale("log")
            panel.xaxis.set_major_formatter(FormatStrFormatter("%g"))
            panel.set_xticks([1, 1.5, 2, 3, 4, 6])
            panel.xaxis.set_minor_locator(NullLocator())
            panel.set_xlabel(across, fontsize=8)
            panel.grid(alpha=0.3)
        _name_points(panels[-1], names)
        panels[0].set_ylabel(f"{measure.metric}, {measure.test_set}", fontsize=8)
        handles = {paper: Line2D([], [], **style(number, joined=False)) for number, paper in enumerate(papers)}
        draw_legend(figure, handles, columns=3)
        figure.suptitle(f"What a gain costs, {systems[0].results.corpus}", fontsize=10)
    return True


def _name_points(panel: Axes, points: dict[str, tuple[float, float]]) -> None:
    """Write the names of points to the right of a panel, the highest on top, with a line to each point."""
    for row, (name, point) in enumerate(sorted(points.items(), key=lambda item: -item[1][1])):
        panel.annotate(
            name,
            point,
            (1.06, 1 - (row + 0.5) / len(points)),
            textcoords="axes fraction",
            fontsize=6.5,
            verticalalignment="center",
            annotation_clip=False,
            arrowprops=ARROW,
        )
