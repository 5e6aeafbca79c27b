"""Compare all systems on one corpus with one recipe, with the cost of their gains, as no paper does."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from context_nmt.measures.rows import Measure
from context_nmt.report.papers.comparison import SPEED
from context_nmt.report.papers.confounds import is_answer, unmarked
from context_nmt.report.papers.training_costs import System
from context_nmt.report.tables import (
    DASH,
    NOTHING,
    TIMES,
    Cell,
    Grid,
    GridRow,
    Heading,
    estimate_cell,
    gain_cells,
    systems_by_command,
    value_cell,
)
from context_nmt.results.table import Results

NOTES = (
    "Each system is from the experiment with the most seeds among those with this corpus, text, units and recipe.",
    "Costs are those of the whole training, relative to the plain system at the end of the chain of baselines: FLOPs,"
    " seconds and target tokens. They include the runs that a system continues, but not its teacher's. Tokens,"
    " without padding, come from the epochs in learning curves: they are exact within a few percent, and missing where"
    " an error of more than a tenth is possible. Seconds are tokens divided by the relative speed of training."
    " {speeds}",
    "± is the sample standard deviation over seeds. Gains are relative to the system's baseline with the same seeds;"
    " the baseline's own row may be of another experiment. † p < 0.05, ‡ p < 0.01: among many systems, some reach this"
    " by chance. An interval needs several seeds.",
    "The cost of a point of gain on {test} is the percentage of FLOPs and seconds that a system takes beyond its"
    " baseline, divided by the gain. It is given only for gains whose interval over seeds is above 0, and"
    " for which nothing is known to be wrong.",
    "{metric}: {signatures}",
)


def all_systems_grid(systems: Sequence[System], first: Results) -> Grid | None:
    """Build the table of all systems with the recipe of the first experiment; None if none has run."""
    corpus, metric = first.settings.corpus, first.settings.significance.metric
    measures = [Measure(test, metric) for test in first.settings.corpus.held_out]
    measures = [measure for measure in measures if any(system.estimate(measure) for system in systems)]
    if not measures:
        return None
    rows = [
        GridRow(
            f"{number}. {system.results.label(system.variant)}",
            system.variant,
            tuple(cell if cell.command or cell.text != DASH else replace(cell, text="") for cell in cells),
        )
        for number, (system, cells) in enumerate(((system, _cells(system, measures)) for system in systems), start=1)
    ]
    signatures = sorted({signature for system in systems for signature in system.results.signatures(measures[0])})
    test = measures[0].test_set
    fields = {"speeds": first.speeds.note(), "test": test, "metric": metric, "signatures": "; ".join(signatures)}
    return Grid(
        name="all-systems",
        title=f"All systems, {corpus.name} {corpus.direction}",
        headings=tuple(_headings(measures)),
        rows=tuple(rows),
        fills=systems_by_command((row.label, row.cells) for row in rows),
        notes=tuple(note.format(**fields) for note in NOTES),
    )


def _headings(measures: Sequence[Measure]) -> Iterator[Heading]:
    groups = {f"{measure.test_set}, {measure.metric}": ("score", "gain", "95% interval") for measure in measures}
    costs = {"Training costs": ("FLOPs", "seconds", "tokens"), "Cost of a point of gain": ("FLOPs", "seconds")}
    for group, titles in ({"": ("paper", "seeds")} | groups | {"Model": ("parameters",)} | costs).items():
        yield from (Heading(group, title) for title in titles)


def _cells(system: System, measures: Sequence[Measure]) -> Iterator[Cell]:
    plain, baseline = system.plain, system.baseline
    yield Cell(system.paper or DASH)
    yield value_cell(len(system.results.settings.seeds), "{}")
    for measure in measures:
        estimate = unmarked(system.results, system.variant, measure)
        yield estimate_cell(estimate, with_gain=False) if estimate else Cell(DASH, command=system.results.command)
        yield from gain_cells(estimate and estimate.gain)
    yield value_cell(system.model["parameters"], "{:,}")
    for cost, reference_cost, command in (
        (system.flops, plain.flops, ""),
        (system.seconds, plain.seconds, SPEED if system.flops else ""),
        (system.tokens, plain.tokens, ""),
    ):
        ratio = cost / reference_cost if cost and reference_cost else None
        yield value_cell(ratio, f"{TIMES} {{:.2f}}", command=command)
    estimate = system.estimate(measures[0])
    gain = estimate and estimate.gain
    is_gain = gain is not None and gain.interval is not None and gain.interval[0] > 0
    if gain is None or baseline is None or not is_gain or not is_answer(system.results, system.variant, measures[0]):
        yield from (NOTHING, NOTHING)
        return
    for cost, reference_cost in ((system.flops, baseline.flops), (system.seconds, baseline.seconds)):
        price = 100 * (cost / reference_cost - 1) / gain.mean if cost and reference_cost else None
        yield value_cell(price, "{:+.1f}%", command=SPEED)
