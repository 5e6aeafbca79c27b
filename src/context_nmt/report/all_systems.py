"""All systems that have run on one corpus with one recipe, and what their training costs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf
from statistics import fmean
from typing import Any

import pandas as pd

from context_nmt.measures.rows import BOUND, Measure
from context_nmt.report.formats import paragraphs, render
from context_nmt.report.published import Paper
from context_nmt.report.tables import (
    DASH,
    DASH_CELL,
    EMPTY_CELL,
    TIMES,
    Cell,
    Grid,
    GridRow,
    Heading,
    estimate_cell,
    gain_cells,
    value_cell,
)
from context_nmt.report.verdicts import answers_claim, without_invalid_p
from context_nmt.results.table import Estimate, Results, with_most_seeds
from context_nmt.settings.parameters import training_of

MAXIMUM_ERROR = 0.1  # relative, of a cost that is shown
TRAINING_COSTS = {"flops": "FLOPs", "seconds": "seconds", "tokens": "tokens"}  # attributes of a System, with labels
BOUND_LABEL = "(oracle without context)"


@dataclass(frozen=True)
class System:
    """A variant or external system in the experiment that its numbers come from."""

    variant: str
    results: Results
    paper: str | None = None  # the first paper that compares it with a baseline, or has a claim about it

    @property
    def model(self) -> dict[str, Any]:
        """Its description by the describe stage; empty for an external system."""
        return self.results.models.get(self.variant, {})

    def estimate(self, measure: Measure) -> Estimate | None:
        """Return the mean of a measure over its seeds."""
        return self.results.estimate(self.variant, measure)

    @property
    def baseline(self) -> "System | None":
        """The system that it is compared with, if any."""
        return self._system(self.results.baseline(self.variant))

    @property
    def plain_system(self) -> "System":
        """The plain system at the end of its baselines; an external baseline is not counted, as it has no model."""
        return self.baseline.plain_system if self.baseline and self.baseline.model else self

    @property
    def epochs(self) -> tuple[float, float] | None:
        """Bounds on the number of epochs of its training, including earlier runs; None if unknown."""
        return self._total_cost(lambda _: 1)

    @property
    def tokens(self) -> float | None:
        """Target tokens of its training, including earlier runs, in epochs; None if they are not known well."""
        return _midpoint(self.epochs)

    @property
    def flops(self) -> float | None:
        """Training FLOPs, including earlier runs, per target token of the text; None if they are not known well."""
        return _midpoint(self._total_cost(lambda system: system.model.get("flops_per_target_token")))

    @property
    def seconds(self) -> float | None:
        """Training time, including earlier runs, in a plain Transformer's time per token; None if not known well."""

        def per_token(system: System) -> float | None:
            speed = system.results.speeds.ratio(system.model, "training") if system.model else None
            return 1 / speed if speed else None

        return _midpoint(self._total_cost(per_token))

    def _system(self, variant: str | None) -> "System | None":
        return System(variant, self.results) if variant in self.results.tested_systems else None

    def _total_cost(self, per_token: Callable[["System"], float | None]) -> tuple[float, float] | None:
        """Return bounds on the cost of its training and earlier runs: epochs times the cost of a target token."""
        epochs, cost = _epoch_bounds(self.results.curves.get(self.variant, [])), per_token(self)
        start = self._system(training_of(self.results.settings.train, self.variant).start)
        earlier = start._total_cost(per_token) if start else (0.0, 0.0)
        if epochs is None or cost is None or earlier is None:
            return None
        low, high = (
            epoch_bound * cost + earlier_bound for epoch_bound, earlier_bound in zip(epochs, earlier, strict=True)
        )
        return low, high


def _epoch_bounds(curves: Sequence[pd.DataFrame]) -> tuple[float, float] | None:
    """Return bounds on the mean number of epochs of trainings with these learning curves; None without curves.

    If update u is in epoch e (from 1), then an epoch has at least u / e updates and, for e > 1, fewer than u / (e - 1).
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


def _midpoint(bounds: tuple[float, float] | None) -> float | None:
    """Return the midpoint of bounds; None if its relative error may exceed MAXIMUM_ERROR."""
    return None if bounds is None or bounds[1] - bounds[0] > MAXIMUM_ERROR * sum(bounds) else fmean(bounds)


def systems_of_one_recipe(papers: dict[str, Paper], experiments: Sequence[Results]) -> list[System]:
    """Return all systems of the recipe with the most runs, plain ones first, then paper by paper.

    Combinations and external systems are last. A system of several experiments is taken from the one with the most
    seeds or, of several such experiments, from the one that shares most systems with the first.
    """

    def runs(recipe: object) -> int:
        same = [results for results in experiments if results.recipe == recipe]
        return sum(results.number_of_seeds(name) for results in same for name in results.measured_systems)

    recipe = max((results.recipe for results in experiments), key=runs)
    experiments = [results for results in experiments if results.recipe == recipe]
    first, names = experiments[0], [paper.name for paper in papers.values()]
    comparing_papers: dict[str | None, str] = {}
    claiming_papers: dict[str, str] = {}
    for paper in papers.values():
        for row in (row for table in paper.tables for row in table.compared):
            comparing_papers.setdefault(row.variant, paper.name)
        for claim in paper.claims:
            claiming_papers.setdefault(claim.variant, paper.name)
    systems = []
    for results in sorted(experiments, key=lambda results: -len(results.measured_systems & first.measured_systems)):
        for variant in results.tested_systems:
            settings = results.settings.variants.get(variant)
            claiming_paper = claiming_papers.get(variant) if settings and settings.slots else None
            if variant in results.measured_systems:
                systems.append(System(variant, results, comparing_papers.get(variant) or claiming_paper))

    def sort_key(system: System) -> int:
        if system.variant in system.results.settings.external:
            return len(names) + 2
        is_plain = not system.results.settings.variants[system.variant].slots
        return names.index(system.paper) + 1 if system.paper else 0 if is_plain else len(names) + 1

    return sorted(with_most_seeds(systems, key=lambda system: system.variant), key=sort_key)


def systems_grid(systems: Sequence[System], accuracies: Sequence[Measure] = ()) -> Grid | None:
    """Build the table of systems with one recipe, in BLEU on held-out text.

    Each measure of `accuracies`, on contrastive sets, has a column. Return None if no system has run.
    """
    if not systems:
        return None
    first = systems[0].results
    corpus, metric = first.settings.corpus, first.settings.significance.bleu
    measures = [Measure(test, metric) for test in corpus.held_out]
    measures = [measure for measure in measures if any(system.estimate(measure) for system in systems)]
    if not measures:
        return None
    headings = [Heading("", title, title != "seeds") for title in ("baseline", "paper", "seeds")]
    scores = product(measures, ("score", "gain", "95% interval"))
    headings += [Heading(f"{measure.test_set}, {metric}", title) for measure, title in scores]
    headings += [Heading(measure.test_set, measure.tag) for measure in accuracies]
    headings += [Heading("Model", "parameters")]
    headings += [Heading("Training costs", title) for title in TRAINING_COSTS.values()]
    headings += [Heading("Cost of a point of gain", title) for title in ("FLOPs", "seconds")]
    rows = []
    for number, system in enumerate(systems, start=1):
        cells = (EMPTY_CELL if cell == DASH_CELL else cell for cell in _cells(system, measures, accuracies))
        rows.append(GridRow(f"{number}. {system.results.label(system.variant)}", system.variant, tuple(cells)))
    bounds = {measure.test_set: first.reference_value(BOUND, measure) for measure in measures}
    if any(bounds.values()):
        bound_cells = {
            f"{test_set}, {metric}": value_cell(bound, "{:.2f}") for test_set, bound in bounds.items() if bound
        }
        cells = (
            bound_cells.get(heading.group, EMPTY_CELL) if heading.title == "score" else EMPTY_CELL
            for heading in headings
        )
        rows.append(GridRow(BOUND_LABEL, None, tuple(cells)))
    signatures = sorted({signature for system in systems for signature in system.results.signatures(measures[0])})
    values: dict[str, Any] = {"systems": systems, "first": first, "measure": measures[0], "accuracies": accuracies}
    values["has_bound"] = any(bounds.values())
    return Grid(
        name="all-systems",
        title=f"All systems, {corpus.name} {corpus.direction}",
        headings=tuple(headings),
        rows=tuple(rows),
        notes=tuple(paragraphs(render("all_systems.j2", **values, signatures=signatures))),
    )


def _cells(system: System, measures: Sequence[Measure], accuracies: Sequence[Measure]) -> Iterator[Cell]:
    plain_system, baseline, results = system.plain_system, system.baseline, system.results
    yield Cell(results.settings.label(baseline.variant)) if baseline else DASH_CELL
    yield Cell(system.paper or DASH)
    yield value_cell(results.number_of_seeds(system.variant), "{}")
    for measure in measures:
        estimate = without_invalid_p(results, system.variant, measure)
        yield estimate_cell(estimate, with_gain=False)
        yield from gain_cells(estimate and estimate.gain)
    for measure in accuracies:
        yield estimate_cell(system.estimate(measure), 1, with_gain=False)
    if system.variant in results.out_of_date:
        yield from [DASH_CELL] * 6
        return
    yield value_cell(system.model.get("parameters"), "{:,}")
    for attribute in TRAINING_COSTS:
        cost, reference = getattr(system, attribute), getattr(plain_system, attribute)
        yield value_cell(cost / reference if cost and reference else None, f"{TIMES} {{:.2f}}")
    estimate = system.estimate(measures[0])
    gain = estimate and estimate.gain
    is_gain = gain is not None and gain.interval is not None and gain.interval[0] > 0
    if gain is None or baseline is None or not is_gain or not answers_claim(results, system.variant, measures[0]):
        yield from (DASH_CELL, DASH_CELL)
        return
    for cost, reference_cost in ((system.flops, baseline.flops), (system.seconds, baseline.seconds)):
        cost_of_a_point = 100 * (cost / reference_cost - 1) / gain.mean if cost and reference_cost else None
        yield value_cell(cost_of_a_point, "{:+.1f}%")
