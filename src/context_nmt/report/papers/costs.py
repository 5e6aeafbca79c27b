"""A table that no paper has: all systems on one corpus with one recipe, and what a gain costs."""

from collections.abc import Iterator, Sequence

from context_nmt.measures.rows import Measure
from context_nmt.report.cells import DASH, NOTHING, TIMES, Cell, gain_cells, number_cell, value_cell
from context_nmt.report.grid import Column, Fill, Grid, GridRow
from context_nmt.report.papers.entries import SPEED
from context_nmt.report.papers.published import Paper
from context_nmt.report.papers.systems import System, systems_of_one_recipe
from context_nmt.results.numbers import Difference
from context_nmt.results.printed import SIGNIFICANT
from context_nmt.results.table import Results

NOTES = (
    "Each system is that of the experiment with most seeds, among those with this corpus, text, units and recipe.",
    "Costs are those of the whole training, over those of the plain system at the end of the system's baselines:"
    " FLOPs, seconds and target tokens, with the runs that a system goes on from, without those of a teacher. Seconds"
    " are tokens over the relative speed of training. {speeds}",
    "± is the sample standard deviation over seeds; gains are over the system's baseline with the same seeds, of which"
    " the baseline's own row may have more; † p < 0.05, ‡ p < 0.01: of many systems some get there by chance. An"
    " interval needs several seeds.",
    "What a point of gain on {test} costs is how much more FLOPs and seconds a system takes than its baseline, in per"
    " cent, over the gain. Only gains have such a price whose interval over seeds is above 0 or, with one seed, whose"
    " p is below 0.05.",
    "{metric}: {signatures}",
)


def cost_grid(papers: dict[str, Paper], experiments: Sequence[Results]) -> Grid | None:
    """Build the table for the first experiment and those of its recipe; None if nothing of it has run."""
    first, systems = experiments[0], systems_of_one_recipe(papers, experiments)
    corpus, metric = first.settings.corpus, first.settings.significance.metric
    tests = corpus.held_out
    tests = [test for test in tests if any(system.number(Measure(test, metric)) for system in systems)]
    if not tests:
        return None
    rows = tuple(GridRow(_label(system), system.variant, tuple(_cells(system, tests, metric))) for system in systems)
    lacking: dict[str, list[str]] = {}
    for row in rows:
        for command in dict.fromkeys(cell.command for cell in row.cells if cell.command):
            lacking.setdefault(command, []).append(row.label)
    signatures = sorted({one for system in systems for one in system.results.signatures(Measure(tests[0], metric))})
    words = {"speeds": first.speeds.note(), "test": tests[0], "metric": metric, "signatures": "; ".join(signatures)}
    return Grid(
        name="all-systems",
        title=f"All systems, {corpus.name} {corpus.direction}",
        columns=tuple(_columns(tests, metric)),
        rows=rows,
        fills=tuple(Fill(command, tuple(labels)) for command, labels in lacking.items()),
        notes=tuple(note.format(**words) for note in NOTES),
    )


def _label(system: System) -> str:
    return system.results.settings.label(system.variant)


def _columns(tests: Sequence[str], metric: str) -> Iterator[Column]:
    yield from (Column("", title) for title in ("paper", "seeds"))
    for test in tests:
        yield from (Column(f"{test}, {metric}", title) for title in ("score", "gain", "95% interval"))
    yield Column("Model", "parameters")
    yield from (Column("Training costs", title) for title in ("FLOPs", "seconds", "tokens"))
    yield from (Column("A point of gain costs", title) for title in ("FLOPs", "seconds"))


def _cells(system: System, tests: Sequence[str], metric: str) -> Iterator[Cell]:
    plain, baseline = system.plain, system.baseline
    yield Cell(system.paper or DASH)
    yield value_cell(len(system.results.settings.seeds), "{}")
    for test in tests:
        number = system.number(Measure(test, metric))
        lacking = Cell(DASH, command=system.results.command)
        yield number_cell(number, with_gain=False) if number else lacking
        yield from gain_cells(number and number.gain)
    yield value_cell(system.model["parameters"], "{:,}")
    for own, other in (
        (system.flops, plain.flops),
        (system.seconds, plain.seconds),
        (system.all_tokens, plain.all_tokens),
    ):
        yield value_cell(own / other if own and other else None, f"{TIMES} {{:.2f}}", command=SPEED)
    number = system.number(Measure(tests[0], metric))
    if number is None or number.gain is None or baseline is None or not is_sure_gain(number.gain):
        yield from (NOTHING, NOTHING)
        return
    for own, other in ((system.flops, baseline.flops), (system.seconds, baseline.seconds)):
        price = 100 * (own / other - 1) / number.gain.mean if own and other else None
        yield value_cell(price, "{:+.1f}%", command=SPEED)


def is_sure_gain(gain: Difference) -> bool:
    """Whether it is above 0 in its interval over seeds or, with one seed, by its test."""
    if gain.interval:
        return gain.interval[0] > 0
    return gain.mean > 0 and gain.p is not None and gain.p < SIGNIFICANT
