"""What a paper says, one number per claim, and how that came out here."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from context_nmt.evaluation.markdown import signed
from context_nmt.evaluation.papers.published import SHARES, Claim, Paper, is_score
from context_nmt.evaluation.report.grid import DASH
from context_nmt.evaluation.report.written import Written
from context_nmt.evaluation.results import Difference

SIGNIFICANT = 0.05
AS_CLAIMED = "as claimed"


@dataclass(frozen=True)
class Outcome:
    """A claim in one experiment: what its system has, what it is compared with, and on which set."""

    claim: Claim
    written: Written
    against: str  # a variant
    test_set: str
    metric: str

    @property
    def value(self) -> float:
        return self._mean(self.claim.variant)

    @property
    def other(self) -> float:
        return self._mean(self.against)

    @property
    def gain(self) -> float:
        """The difference of the two, as the experiment's tables have it where they do."""
        return self._tested.mean if self._tested else round(self.value - self.other, 4)

    @property
    def seeds(self) -> int:
        found = self.written.summary(self.claim.variant, self.test_set, self.metric)
        assert found is not None
        return int(found["seeds"])

    @property
    def way(self) -> str:
        """Whether the difference, as it is printed, has the claimed sign."""
        gain = round(self.gain, self.decimals) * (1 if self.claim.higher else -1)
        return AS_CLAIMED if gain > 0 else "the other way" if gain < 0 else "no difference"

    @property
    def certainty(self) -> str:
        """How sure the difference is."""
        found = self._tested
        if found and found.interval:
            low, high = found.interval
            return f"may be chance ({self.seeds} seeds)" if low <= 0 <= high else f"{self.seeds} seeds agree"
        if found is None or found.p is None:
            return "not tested"
        p = "p ≤ 0.001" if found.p <= 0.001 else f"p = {found.p:.2g}"
        return f"significant ({p})" if found.p < SIGNIFICANT else f"may be chance ({p})"

    @property
    def decimals(self) -> int:
        """Four of a share, else two."""
        return 4 if self.metric in SHARES else 2

    def numbers(self) -> str:
        """Both systems with their numbers."""
        label, other = (self.written.settings.label(name) for name in (self.claim.variant, self.against))
        own, beside = (f"{value:.{self.decimals}f}" for value in (self.value, self.other))
        return f"{label} {own}, {other} {beside} ({signed(self.gain, self.decimals)})"

    def sentence(self) -> str:
        """Say all of it."""
        return (
            f"{self.written.title}: {self.claim.says}? {self.metric} on {self.test_set}: {self.numbers()}:"
            f" {self.way}, {self.certainty}."
        )

    @cached_property
    def _tested(self) -> Difference | None:
        """The difference to the variant's baseline; None if the claim compares it with another one."""
        if self.written.settings.variants[self.claim.variant].baseline != self.against:
            return None
        return self.written.difference(self.claim.variant, self.test_set, self.metric)

    def _mean(self, variant: str) -> float:
        found = self.written.summary(variant, self.test_set, self.metric)
        assert found is not None
        return float(found["mean"])


class Published(NamedTuple):
    """A published difference."""

    gain: float
    decimals: int
    column: str

    def __str__(self) -> str:
        return signed(self.gain, self.decimals)


def published_of(paper: Paper, claim: Claim) -> list[Published]:
    """Find the differences that a claim's table has, column by column."""
    table = next((table for table in paper.tables if table.id == claim.table), None)
    if table is None:
        return []
    row = table.row(claim.variant)
    against = claim.against or row.baseline
    columns = [column for column in table.columns if column.metric == claim.metric] or [
        column
        for column in table.columns
        if is_score(column.metric) and claim.metric in (None, *table.replica)  # another measure of the same
    ]
    gains = []
    for column in columns:
        own = row.published.get(column.id)
        other = table.row(against).published.get(column.id) if against else None
        if column.difference and against == row.baseline:
            other = 0.0
        if own is not None and other is not None:
            gains.append(Published(own - other, column.decimals, column.label))
    return gains


def headlines(paper: Paper) -> Iterator[Claim]:
    """Yield what the first table with headlines says of its systems: that they are better than their baselines."""
    for table in [table for table in paper.tables if table.headline][:1]:
        for variant in table.headline:
            baseline = table.row(variant).baseline
            if baseline:
                label, other = (re.sub(r"^(\+|\d+) ", "", table.row(name).label) for name in (variant, baseline))
                yield Claim(says=f"{label} translates better than {other}", variant=variant, table=table.id)


def outcomes_of(claim: Claim, experiments: Sequence[Written]) -> list[Outcome]:
    """Find every experiment that has the claim's systems; of several with one recipe, the first with most seeds."""
    best: dict[object, Outcome] = {}
    for written in experiments:
        for outcome in _outcome(claim, written):
            before = best.get(written.recipe)
            if before is None or outcome.seeds > before.seeds:
                best[written.recipe] = outcome
    return list(best.values())


def _outcome(claim: Claim, written: Written) -> Iterator[Outcome]:
    if claim.variant not in written.models:
        return
    against = claim.against or written.settings.variants[claim.variant].baseline
    if against not in written.models:
        return
    layers = _layers(written.models[claim.variant])
    if layers != _layers(written.models[against]):
        return  # a small experiment may need more of them for one of the two
    metric = (claim.metric or written.settings.significance.metric).format(top=layers[0])
    validation = written.settings.corpus.validation
    names = [name for name in written.test_sets if name != validation]
    for name in (*names, *written.contrastive_sets, *written.probing_sets, validation):
        if all(written.summary(variant, name, metric) for variant in (claim.variant, against)):
            yield Outcome(claim, written, against, name, metric)
            return


def _layers(model: dict[str, Any]) -> tuple[int, ...]:
    """Of encoder and decoder."""
    return tuple(len(model["slots"].get(slot, ())) for slot in ("encoder_self_attention", "decoder_self_attention"))


@dataclass(frozen=True)
class Line:
    """One claim on one line, in the experiment that comes first."""

    paper: str
    says: str
    published: str
    here: str
    verdict: str
    elsewhere: str


def lines_of(papers: Sequence[Paper], experiments: Sequence[Written]) -> list[Line]:
    """Put every claim of every paper on a line, the gains of its headlines first."""
    return [_line(paper, claim, experiments) for paper in papers for claim in (*headlines(paper), *paper.claims)]


def _line(paper: Paper, claim: Claim, experiments: Sequence[Written]) -> Line:
    gains = " … ".join(dict.fromkeys(map(str, _ends(published_of(paper, claim)))))
    outcomes = outcomes_of(claim, experiments)
    says = claim.says if claim.table else f"{claim.says} (our question)"
    if not outcomes:
        return Line(paper.name, says, gains or "in words", DASH, "nothing has run", "")
    first, *others = outcomes
    agreeing = sum(outcome.way == AS_CLAIMED for outcome in others)
    return Line(
        paper=paper.name,
        says=says,
        published=gains or ("in words" if claim.table else DASH),
        here=f"{first.metric}: {first.numbers()}; {first.written.title}",
        verdict=f"{first.way}, {first.certainty}",
        elsewhere=f"as claimed in {agreeing} of {len(others)}" if others else "",
    )


def _ends(gains: Sequence[Published]) -> Sequence[Published]:
    """The smallest and the largest of them."""
    return (min(gains), max(gains)) if gains else ()
