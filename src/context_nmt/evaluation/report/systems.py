"""What one system of an experiment costs: FLOPs, seconds and updates of its training."""

from collections.abc import Sequence
from dataclasses import dataclass

from context_nmt.evaluation.papers.published import Paper
from context_nmt.evaluation.report.written import Written
from context_nmt.settings import ExperimentSettings


@dataclass(frozen=True)
class System:
    """One variant, in the experiment that its numbers are taken from."""

    variant: str
    written: Written
    paper: str | None  # the first paper that compares it with a baseline

    @property
    def baseline(self) -> "System | None":
        """What it is compared with."""
        name = self.written.settings.variants[self.variant].baseline
        return System(name, self.written, None) if name in self.written.models else None

    @property
    def plain(self) -> "System":
        """The plain system at the end of its baselines."""
        return self.baseline.plain if self.baseline else self

    @property
    def flops(self) -> float:
        """Of training, per target token."""
        return float(self.written.models[self.variant]["flops_per_target_token"])

    @property
    def seconds(self) -> float | None:
        """Of training per token, over those of the plain Transformer; None if not measured."""
        speed = self.written.speeds.ratio(self.written.models[self.variant], "training")
        return 1 / speed if speed else None

    @property
    def updates(self) -> int:
        """Of training, with those of the runs that it goes on from."""
        settings, name = self.written.settings, self.variant
        own = settings.variants[name].training.get("maximum_updates", settings.training.maximum_updates)
        train = settings.train
        start = {name: train.document_start for name in train.document} | dict.fromkeys(
            train.continued, train.continued_start
        )
        before = start.get(name)
        return int(own) + (System(before, self.written, None).updates if before else 0)


def systems_of_one_recipe(papers: dict[str, Paper], experiments: Sequence[Written]) -> list[System]:
    """Find all systems that have run with the first experiment's corpus and recipe, in the order of papers.

    A system of several experiments is taken from the one with most seeds.
    """
    best: dict[str, Written] = {}
    for written in experiments:
        if _recipe(written.settings) == _recipe(experiments[0].settings):
            for variant in written.models:
                if variant not in best or len(written.settings.seeds) > len(best[variant].settings.seeds):
                    best[variant] = written
    paper_of = _papers_of(papers)
    systems = [System(variant, written, paper_of.get(variant)) for variant, written in best.items()]
    names = [paper.name for paper in papers.values()]

    def place(system: System) -> int:
        """Plain systems come first, then those of each paper, then combinations."""
        is_plain = not system.written.settings.variants[system.variant].slots
        return names.index(system.paper) + 1 if system.paper else 0 if is_plain else len(names) + 1

    return sorted(systems, key=place)


def _recipe(settings: ExperimentSettings) -> tuple[object, ...]:
    corpus = settings.corpus
    return (
        *(corpus.name, corpus.source, corpus.target, corpus.train, settings.text, settings.units),
        *(settings.model, settings.training, settings.averaging, settings.decoding),
    )


def _papers_of(papers: dict[str, Paper]) -> dict[str, str]:
    found: dict[str, str] = {}
    for paper in papers.values():
        for table in paper.tables:
            for row in table.rows:
                if row.variant and row.baseline:
                    found.setdefault(row.variant, paper.name)
    return found
