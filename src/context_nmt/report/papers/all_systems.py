"""All systems that have run on one corpus with one recipe, and what their training costs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean
from typing import Any

import pandas as pd

from context_nmt.measures.rows import Measure
from context_nmt.report.papers.published import Paper
from context_nmt.report.papers.verdicts import is_answer, unmarked
from context_nmt.report.tables import (
    BLANK,
    DASH,
    NOTHING,
    TIMES,
    Cell,
    Grid,
    GridRow,
    Heading,
    estimate_cell,
    gain_cells,
    value_cell,
)
from context_nmt.results.table import Estimate, Results, with_most_seeds
from context_nmt.settings.parameters import training_of

ERROR = 0.1  # of the costs that are given
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


@dataclass(frozen=True)
class System:
    """A variant, in the experiment that its numbers come from."""

    variant: str
    results: Results
    paper: str | None = None  # the first paper that compares it with a baseline, or claims something of its mechanism

    @property
    def model(self) -> dict[str, Any]:
        """Its description by the stage `describe`."""
        return self.results.models[self.variant]

    def estimate(self, measure: Measure) -> Estimate | None:
        """Return its number for a measure."""
        return self.results.estimate(self.variant, measure)

    @property
    def baseline(self) -> "System | None":
        """The system that it is compared with."""
        return self._other(self.results.settings.variants[self.variant].baseline)

    @property
    def plain(self) -> "System":
        """The plain system at the end of its baselines."""
        return self.baseline.plain if self.baseline else self

    @property
    def epochs(self) -> tuple[float, float] | None:
        """Bounds on how often its training and the runs before it have read the training text; None if unknown."""
        return self._total(lambda _: 1)

    @property
    def tokens(self) -> float | None:
        """The target tokens of its training and the runs before it, as epochs; None if they are not known well."""
        return _middle(self.epochs)

    @property
    def flops(self) -> float | None:
        """FLOPs of the same, for one target token of the text; None if they are not known well."""
        return _middle(self._total(lambda system: float(system.model["flops_per_target_token"])))

    @property
    def seconds(self) -> float | None:
        """Time of the same, in units of a plain Transformer's time per token; None if it is not known well."""

        def per_token(system: System) -> float | None:
            speed = system.results.speeds.ratio(system.model, "training")
            return 1 / speed if speed else None

        return _middle(self._total(per_token))

    def _other(self, variant: str | None) -> "System | None":
        return System(variant, self.results) if variant in self.results.models else None

    def _total(self, per_token: Callable[["System"], float | None]) -> tuple[float, float] | None:
        """Return bounds on a cost per target token times epochs, summed over its training and the runs before it."""
        own_epochs, own_cost = _epochs(self.results.curves.get(self.variant, [])), per_token(self)
        start = self._other(training_of(self.results.settings.train, self.variant).start)
        earlier = start._total(per_token) if start else (0.0, 0.0)
        if own_epochs is None or own_cost is None or earlier is None:
            return None
        low, high = (epochs * own_cost + before for epochs, before in zip(own_epochs, earlier, strict=True))
        return low, high


def _epochs(curves: Sequence[pd.DataFrame]) -> tuple[float, float] | None:
    """Return bounds on how often trainings with these learning curves read their text, on average; None without any.

    Update u in epoch e (from 1) shows that an epoch has at least u / e updates and, after the first, fewer than
    u / (e - 1).
    """
    curves = [curve for curve in curves if len(curve) and "epoch" in curve]
    if not curves:
        return None
    points = [(update, epoch) for curve in curves for update, epoch in curve["epoch"].items()]
    least = max(update / epoch for update, epoch in points)
    most = min((update / (epoch - 1) for update, epoch in points if epoch > 1), default=inf)
    updates = fmean(curve.index[-1] for curve in curves)
    low, high = sorted((updates / most, updates / least))
    return low, high


def _middle(bounds: tuple[float, float] | None) -> float | None:
    """Return the middle of bounds; None if it may be wrong by more than ERROR."""
    return None if bounds is None or bounds[1] - bounds[0] > ERROR * sum(bounds) else fmean(bounds)


def systems_of_one_recipe(papers: dict[str, Paper], experiments: Sequence[Results]) -> list[System]:
    """Return all systems that have run with the first experiment's recipe, plain ones first, then paper by paper.

    Combinations are last. A system of several experiments is taken from the one with the most seeds; of several such,
    from the one that shares most systems with the first.
    """
    first, names = experiments[0], [paper.name for paper in papers.values()]
    compared_by: dict[str | None, str] = {}
    claimed_by: dict[str, str] = {}
    for paper in papers.values():
        for row in (row for table in paper.tables for row in table.compared):
            compared_by.setdefault(row.variant, paper.name)
        for claim in paper.claims:
            claimed_by.setdefault(claim.variant, paper.name)
    systems = []
    for results in sorted(experiments, key=lambda results: -len(results.scored & first.scored)):
        for variant in results.models if results.recipe == first.recipe else ():
            claimed = claimed_by.get(variant) if results.settings.variants[variant].slots else None
            if variant in results.scored:
                systems.append(System(variant, results, compared_by.get(variant) or claimed))

    def place(system: System) -> int:
        is_plain = not system.results.settings.variants[system.variant].slots
        return names.index(system.paper) + 1 if system.paper else 0 if is_plain else len(names) + 1

    return sorted(with_most_seeds(systems, key=lambda system: system.variant), key=place)


def all_systems_grid(systems: Sequence[System], first: Results) -> Grid | None:
    """Build the table of all systems with the recipe of the first experiment; None if none has run."""
    corpus, metric = first.settings.corpus, first.settings.significance.metric
    measures = [Measure(test, metric) for test in corpus.held_out]
    measures = [measure for measure in measures if any(system.estimate(measure) for system in systems)]
    if not measures:
        return None
    groups: dict[str, tuple[str, ...]] = {"": ("paper", "seeds")}
    groups |= {f"{measure.test_set}, {metric}": ("score", "gain", "95% interval") for measure in measures}
    groups |= {"Model": ("parameters",), "Training costs": ("FLOPs", "seconds", "tokens")}
    groups |= {"Cost of a point of gain": ("FLOPs", "seconds")}
    rows = [
        GridRow(
            f"{number}. {system.results.label(system.variant)}",
            system.variant,
            tuple(BLANK if cell == NOTHING else cell for cell in _cells(system, measures)),
        )
        for number, system in enumerate(systems, start=1)
    ]
    signatures = sorted({signature for system in systems for signature in system.results.signatures(measures[0])})
    test = measures[0].test_set
    fields = {"speeds": first.speeds.note(), "test": test, "metric": metric, "signatures": "; ".join(signatures)}
    return Grid(
        name="all-systems",
        title=f"All systems, {corpus.name} {corpus.direction}",
        headings=tuple(Heading(group, title) for group, titles in groups.items() for title in titles),
        rows=tuple(rows),
        notes=tuple(note.format(**fields) for note in NOTES),
    )


def _cells(system: System, measures: Sequence[Measure]) -> Iterator[Cell]:
    plain, baseline = system.plain, system.baseline
    yield Cell(system.paper or DASH)
    yield value_cell(len(system.results.settings.seeds), "{}")
    for measure in measures:
        estimate = unmarked(system.results, system.variant, measure)
        yield estimate_cell(estimate, with_gain=False)
        yield from gain_cells(estimate and estimate.gain)
    yield value_cell(system.model["parameters"], "{:,}")
    for name in ("flops", "seconds", "tokens"):
        own, reference = getattr(system, name), getattr(plain, name)
        yield value_cell(own / reference if own and reference else None, f"{TIMES} {{:.2f}}")
    estimate = system.estimate(measures[0])
    gain = estimate and estimate.gain
    is_gain = gain is not None and gain.interval is not None and gain.interval[0] > 0
    if gain is None or baseline is None or not is_gain or not is_answer(system.results, system.variant, measures[0]):
        yield from (NOTHING, NOTHING)
        return
    for cost, reference_cost in ((system.flops, baseline.flops), (system.seconds, baseline.seconds)):
        price = 100 * (cost / reference_cost - 1) / gain.mean if cost and reference_cost else None
        yield value_cell(price, "{:+.1f}%")
