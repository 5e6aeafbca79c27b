"""Compute the costs of training a system: FLOPs, seconds and tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from context_nmt.measures.rows import Measure
from context_nmt.report.papers.published import Paper
from context_nmt.report.papers.reproduction import with_most_seeds
from context_nmt.results.estimates import Estimate
from context_nmt.results.table import Results


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
    def tokens(self) -> int:
        """The most target tokens, padding included, that its own training can have seen.

        Of joined sentences, only the last one counts, as in the FLOPs per target token.
        """
        recipe = self.results.settings.recipe(self.variant)
        training, joined = recipe.training, 1 + recipe.model.previous_sources
        return training.batch_tokens * training.accumulation * training.maximum_updates // joined

    @property
    def all_tokens(self) -> int:
        """The tokens of its own training and of the runs before it."""
        return self.tokens + (self.start.all_tokens if self.start else 0)

    @property
    def flops(self) -> float:
        """FLOPs of its training and the runs before it."""
        own_flops = float(self.model["flops_per_target_token"]) * self.tokens
        return own_flops + (self.start.flops if self.start else 0.0)

    @property
    def seconds(self) -> float | None:
        """Time of its training and earlier runs, in units of a plain Transformer's time per token; None if unknown."""
        speed = self.results.speeds.ratio(self.model, "training")
        earlier_seconds = self.start.seconds if self.start else 0.0
        return self.tokens / speed + earlier_seconds if speed and earlier_seconds is not None else None


def systems_of_one_recipe(papers: dict[str, Paper], experiments: Sequence[Results]) -> list[System]:
    """Return all systems that have run with the first experiment's recipe, plain ones first, then paper by paper.

    Combinations are last. A system of several experiments is taken from the one with the most seeds.
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

    systems = [
        System(variant, results, paper_of(variant, results))
        for results in experiments
        if results.recipe == experiments[0].recipe
        for variant in results.models
        if variant in results.scored
    ]
    names = [paper.name for paper in papers.values()]

    def place(system: System) -> int:
        is_plain = not system.results.settings.variants[system.variant].slots
        return names.index(system.paper) + 1 if system.paper else 0 if is_plain else len(names) + 1

    return sorted(with_most_seeds(systems, key=lambda system: system.variant), key=place)
