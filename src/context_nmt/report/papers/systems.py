"""What one system of an experiment costs: FLOPs, seconds and tokens of its training."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from context_nmt.measures.rows import Measure
from context_nmt.report.papers.published import Paper
from context_nmt.results.numbers import Number
from context_nmt.results.table import Results


@dataclass(frozen=True)
class System:
    """One variant, in the experiment that its numbers are taken from."""

    variant: str
    results: Results
    paper: str | None  # the first paper that compares it with a baseline

    @property
    def model(self) -> dict[str, Any]:
        """What describe says of it."""
        return self.results.models[self.variant]

    def number(self, measure: Measure) -> Number | None:
        """What it has of a measure."""
        return self.results.number(self.variant, measure)

    @property
    def baseline(self) -> "System | None":
        """What it is compared with."""
        name = self.results.settings.variants[self.variant].baseline
        return System(name, self.results, None) if name in self.results.models else None

    @property
    def plain(self) -> "System":
        """The plain system at the end of its baselines."""
        return self.baseline.plain if self.baseline else self

    @property
    def start(self) -> "System | None":
        """The run of another variant that its training goes on from."""
        train = self.results.settings.train
        starts = dict.fromkeys(train.document, train.document_start)
        starts |= dict.fromkeys(train.continued, train.continued_start)
        name = starts.get(self.variant)
        return System(name, self.results, None) if name in self.results.models else None

    @property
    def tokens(self) -> int:
        """How many target tokens, padding included, its own training has seen at most."""
        settings = self.results.settings
        given = {"batch_tokens": settings.training.batch_tokens, "accumulation": settings.training.accumulation}
        given |= {"maximum_updates": settings.training.maximum_updates}
        own = given | settings.variants[self.variant].training
        return int(own["batch_tokens"]) * int(own["accumulation"]) * int(own["maximum_updates"])

    @property
    def all_tokens(self) -> int:
        """The same with the runs before it."""
        return self.tokens + (self.start.all_tokens if self.start else 0)

    @property
    def flops(self) -> float:
        """Of its training, with the runs before it."""
        own = float(self.model["flops_per_target_token"]) * self.tokens
        return own + (self.start.flops if self.start else 0.0)

    @property
    def seconds(self) -> float | None:
        """Of its training, with the runs before it, in those of a plain Transformer per token; None if not measured."""
        speed = self.results.speeds.ratio(self.model, "training")
        before = self.start.seconds if self.start else 0.0
        return self.tokens / speed + before if speed and before is not None else None


def systems_of_one_recipe(papers: dict[str, Paper], experiments: Sequence[Results]) -> list[System]:
    """Find all systems that have run with the first experiment's corpus and recipe, in the order of papers.

    A system of several experiments is taken from the one with most seeds.
    """
    best: dict[str, Results] = {}
    for results in experiments:
        if results.recipe == experiments[0].recipe:
            for variant in results.models:
                if variant not in best or len(results.settings.seeds) > len(best[variant].settings.seeds):
                    best[variant] = results
    paper_of = _papers_of(papers)
    systems = [System(variant, results, paper_of.get(variant)) for variant, results in best.items()]
    names = [paper.name for paper in papers.values()]

    def place(system: System) -> int:
        """Plain systems come first, then those of each paper, then combinations."""
        is_plain = not system.results.settings.variants[system.variant].slots
        return names.index(system.paper) + 1 if system.paper else 0 if is_plain else len(names) + 1

    return sorted(systems, key=place)


def _papers_of(papers: dict[str, Paper]) -> dict[str, str]:
    found: dict[str, str] = {}
    for paper in papers.values():
        for table in paper.tables:
            for row in table.rows:
                if row.variant and row.baseline:
                    found.setdefault(row.variant, paper.name)
    return found
