"""Compute the costs of training a system: FLOPs, seconds and tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean
from typing import Any

import pandas as pd

from context_nmt.measures.rows import Measure
from context_nmt.report.papers.published import Paper
from context_nmt.report.papers.reproduction import with_most_seeds
from context_nmt.results.estimates import Estimate
from context_nmt.results.table import Results

ERROR = 0.1  # of the costs that are given


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

    def _other(self, variant: str | None) -> "System | None":
        return System(variant, self.results) if variant in self.results.models else None

    @property
    def baseline(self) -> "System | None":
        """The system that it is compared with."""
        return self._other(self.results.settings.variants[self.variant].baseline)

    @property
    def plain(self) -> "System":
        """The plain system at the end of its baselines."""
        return self.baseline.plain if self.baseline else self

    @property
    def start(self) -> "System | None":
        """The system whose training it continues."""
        train = self.results.settings.train
        starts = dict.fromkeys(train.document, train.document_start)
        starts |= dict.fromkeys(train.continued, train.continued_start)
        return self._other(starts.get(self.variant))

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

    def _total(self, per_token: Callable[["System"], float | None]) -> tuple[float, float] | None:
        """Return bounds on a cost per target token times epochs, summed over its training and the runs before it."""
        own_epochs, own_cost = _epochs(self.results.curves.get(self.variant, [])), per_token(self)
        earlier = self.start._total(per_token) if self.start else (0.0, 0.0)
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
    if bounds is None or bounds[1] - bounds[0] > ERROR * sum(bounds):
        return None
    return fmean(bounds)


def systems_of_one_recipe(papers: dict[str, Paper], experiments: Sequence[Results]) -> list[System]:
    """Return all systems that have run with the first experiment's recipe, plain ones first, then paper by paper.

    Combinations are last. A system of several experiments is taken from the one with the most seeds; of several such,
    from the one that shares most systems with the first.
    """
    compared_by: dict[str | None, str] = {}
    claimed_by: dict[str, str] = {}
    for paper in papers.values():
        for row in (row for table in paper.tables for row in table.compared):
            compared_by.setdefault(row.variant, paper.name)
        for claim in paper.claims:
            claimed_by.setdefault(claim.variant, paper.name)

    def paper_of(variant: str, results: Results) -> str | None:
        has_mechanism = bool(results.settings.variants[variant].slots)
        return compared_by.get(variant) or (claimed_by.get(variant) if has_mechanism else None)

    first = experiments[0]
    most_like_it = sorted(experiments, key=lambda results: -len(results.scored & first.scored))
    systems = [
        System(variant, results, paper_of(variant, results))
        for results in most_like_it
        if results.recipe == first.recipe
        for variant in results.models
        if variant in results.scored
    ]
    names = [paper.name for paper in papers.values()]

    def place(system: System) -> int:
        is_plain = not system.results.settings.variants[system.variant].slots
        return names.index(system.paper) + 1 if system.paper else 0 if is_plain else len(names) + 1

    return sorted(with_most_seeds(systems, key=lambda system: system.variant), key=place)
