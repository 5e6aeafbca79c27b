"""The claims of a paper, one number each, and their outcomes here."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from context_nmt.measures.rows import Measure
from context_nmt.report.cells import TIMES
from context_nmt.report.papers.published import SHARES, Claim, Paper, PaperColumn, PaperTable, Wanted
from context_nmt.report.papers.reproduction import with_most_seeds
from context_nmt.report.papers.training_costs import System
from context_nmt.results.estimates import Difference, Estimate
from context_nmt.results.number_text import SIGNIFICANT, interval_text, p_text, signed
from context_nmt.results.table import Results, is_score, name_of


def is_certain(gain: Difference) -> bool:
    """Return whether the interval over seeds excludes 0 or, with one seed, the system's own test is significant."""
    if gain.interval:
        return not gain.interval[0] <= 0 <= gain.interval[1]
    return gain.p is not None and gain.p < SIGNIFICANT


@dataclass(frozen=True)
class Outcome:
    """A claim in one experiment: two variants, and the measure that compares them."""

    claim: Claim
    results: Results
    variant: str
    against: str
    measure: Measure
    decimals: int
    is_own_text: bool  # test set and languages are those of the claim's table

    @property
    def gain(self) -> float:
        """The difference, as in the experiment's tables if they have it."""
        estimate, reference = self._pair
        return self._tested.mean if self._tested else round(estimate.mean - reference.mean, 4)

    @property
    def agrees(self) -> bool | None:
        """Whether the difference as printed has the claimed sign; None if it is 0."""
        gain = round(self.gain, self.decimals)
        return None if gain == 0 else (gain > 0) == self.claim.higher

    @property
    def way(self) -> str:
        """The direction of the difference in words; yes or no if the claim is our own question."""
        if self.agrees is None:
            return "no difference"
        if self.claim.table is None:
            return "yes" if self.agrees else "no"
        return "as claimed" if self.agrees else "opposite"

    @property
    def is_certain(self) -> bool:
        """Whether the difference was tested and is beyond chance."""
        return self._tested is not None and is_certain(self._tested)

    @property
    def certainty(self) -> str:
        """The certainty of the difference, and another possible cause of it."""
        tested, (system, reference) = (
            self._tested,
            (System(variant, self.results) for variant in (self.variant, self.against)),
        )
        ratio = round(system.all_tokens / reference.all_tokens, 2)
        remark = f"; with {ratio:.2f} {TIMES} the training tokens" if ratio != 1 else ""
        if tested and tested.interval:
            ends, seeds = interval_text(tested.interval, self.decimals), self._pair[0].seeds
            verdict = "beyond chance" if self.is_certain else "may be chance"
            return f"{verdict} (95% interval of {seeds} seeds {ends}){remark}"
        if tested is None or tested.p is None:
            return f"not tested{remark}"
        test = self.results.settings.variants[self.variant].test.replace("sign", "sign test")
        verdict = "significant" if self.is_certain else "may be chance"
        return f"{verdict} ({test}, p {p_text(tested.p)}, one seed){remark}"

    def numbers(self) -> str:
        """Return both systems with their numbers."""
        labels = [self.results.settings.label(variant) for variant in (self.variant, self.against)]
        scores = [
            f"{label} {estimate.mean:.{self.decimals}f}" for label, estimate in zip(labels, self._pair, strict=True)
        ]
        gain = f"{signed(self.gain, self.decimals)} {name_of(self.measure)} on {self.measure.test_set}"
        return f"{', '.join(scores)} ({gain})"

    def sentence(self) -> str:
        """Return the whole outcome as sentences."""
        says = self.claim.says[0].upper() + self.claim.says[1:]
        way = f": {self.way}" if self.claim.table else f" {self.way.capitalize()}"
        return f"{self.results.title}. {says}{way}, {self.certainty}. {self.numbers()}."

    @cached_property
    def _tested(self) -> Difference | None:
        """The difference from the variant's baseline; None if the claim compares it with another system."""
        is_baseline = self.results.settings.variants[self.variant].baseline == self.against
        return self._pair[0].gain if is_baseline else None

    @cached_property
    def _pair(self) -> tuple[Estimate, Estimate]:
        estimate, reference = (self.results.estimate(variant, self.measure) for variant in (self.variant, self.against))
        assert estimate is not None
        assert reference is not None
        return estimate, reference


class PublishedGain(NamedTuple):
    """A published difference."""

    gain: float
    decimals: int
    column: str

    def __str__(self) -> str:
        return signed(self.gain, self.decimals)


def _table_of(paper: Paper, claim: Claim) -> PaperTable | None:
    return next((table for table in paper.tables if table.id == claim.table), None)


def published_gains(paper: Paper, claim: Claim) -> list[PublishedGain]:
    """Return the differences in a claim's table, column by column."""
    table = _table_of(paper, claim)
    if table is None:
        return []
    row = table.row(claim.variant)
    against = claim.against or row.baseline
    gains = []
    for column in _columns(table, claim):
        value = row.published.get(column.id)
        reference = table.row(against).published.get(column.id) if against else None
        if column.difference and against == row.baseline:
            reference = 0.0
        if value is not None and reference is not None:
            gains.append(PublishedGain(value - reference, column.decimals, column.label))
    return gains


def _columns(table: PaperTable | None, claim: Claim) -> list[PaperColumn]:
    """Return the columns of a claim's measures or, if it names none, of all scores."""
    wanted = [(measure.metric, measure.layer, measure.tag) for measure in claim.measures]
    return [
        column
        for column in (table.columns if table else ())
        if ((column.metric, column.layer, column.tag) in wanted if wanted else is_score(column.metric))
    ]


def headlines(paper: Paper) -> Iterator[Claim]:
    """Yield a claim for each headline system of the first such table: it is better than its baseline."""
    for table in [table for table in paper.tables if table.headline][:1]:
        for variant in table.headline:
            against = table.row(variant).baseline
            if against:
                label, other_label = (re.sub(r"^(\+|\d+) ", "", table.row(name).label) for name in (variant, against))
                says = f"{label}: better than {other_label}"
                yield Claim(says=says, variant=variant, against=against, table=table.id)


def outcomes_of(paper: Paper, claim: Claim, experiments: Sequence[Results]) -> list[Outcome]:
    """Return the outcome in every experiment that can test the claim, those on the text of the claim's table first.

    Among experiments with one recipe, the first with the most seeds counts.
    """
    outcomes = [outcome for results in experiments if (outcome := _outcome(claim, _table_of(paper, claim), results))]
    best = with_most_seeds(outcomes, key=lambda outcome: outcome.results.recipe)
    return sorted(best, key=lambda outcome: not outcome.is_own_text)


def _outcome(claim: Claim, table: PaperTable | None, results: Results) -> Outcome | None:
    pair = _comparable(claim, results)
    if pair is None:
        return None
    columns, validation = _columns(table, claim), results.settings.corpus.validation
    published_sets = [column.test_set for column in columns if column.languages == results.settings.corpus.direction]
    own_sets = [name for name in published_sets if name in results.sets]
    other_sets = [name for name in results.sets if name != validation]
    wanted = claim.measures or (Wanted(metric=results.settings.significance.metric),)
    for name in (*own_sets, *other_sets, validation):
        for measure in (candidate.on(name) for candidate in wanted if candidate.is_on(name)):
            if all(results.estimate(variant, measure) for variant in pair):
                column_decimals = max([2, *(column.decimals for column in columns if column.metric == measure.metric)])
                decimals = 4 if measure.metric in SHARES else column_decimals
                return Outcome(claim, results, *pair, measure, decimals, is_own_text=name in own_sets)
    return None


def _comparable(claim: Claim, results: Results) -> tuple[str, str] | None:
    """Return the two variants of an experiment that a claim compares, if they are equally deep."""
    settings = results.settings.variants.get(claim.variant)
    for variant, against in (
        (claim.variant, claim.against or (settings and settings.baseline)),
        claim.smaller or ("", ""),
    ):
        if {variant, against} <= set(results.models) and _layers(results, variant) == _layers(results, str(against)):
            return variant, str(against)
    return None


def _layers(results: Results, variant: str) -> list[int]:
    """Return the numbers of layers of encoder and decoder."""
    slots = results.models[variant]["slots"]
    return [len(slots.get(slot, ())) for slot in ("encoder_self_attention", "decoder_self_attention")]
