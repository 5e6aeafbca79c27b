"""What a paper says, one number per claim, and how that came out here."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from context_nmt.measures.rows import Measure
from context_nmt.report.cells import TIMES
from context_nmt.report.papers.published import SHARES, Claim, Column, Paper, Table, Wanted
from context_nmt.report.papers.systems import System
from context_nmt.results.numbers import Difference, Number
from context_nmt.results.printed import SIGNIFICANT, interval_text, p_text, signed
from context_nmt.results.table import Results, is_score, name_of


@dataclass(frozen=True)
class Outcome:
    """A claim in one experiment: what its system has, what it is compared with, and on which set."""

    claim: Claim
    results: Results
    variant: str
    against: str
    measure: Measure
    decimals: int
    is_own_text: bool  # the set and the languages are the table's

    @property
    def value(self) -> float:
        return self._number(self.variant).mean

    @property
    def other(self) -> float:
        return self._number(self.against).mean

    @property
    def gain(self) -> float:
        """The difference of the two, as the experiment's tables have it where they do."""
        return self._tested.mean if self._tested else round(self.value - self.other, 4)

    @property
    def seeds(self) -> int:
        return self._number(self.variant).seeds

    @property
    def agrees(self) -> bool | None:
        """Whether the difference, as it is printed, has the claimed sign; None if there is none."""
        gain = round(self.gain, self.decimals)
        return None if gain == 0 else (gain > 0) == self.claim.higher

    @property
    def way(self) -> str:
        """The same in words; what is a question of ours is answered."""
        if self.agrees is None:
            return "no difference"
        if self.claim.table is None:
            return "yes" if self.agrees else "no"
        return "as claimed" if self.agrees else "the other way"

    @property
    def is_sure(self) -> bool:
        """Whether the interval over seeds is without 0 or, with one seed, the system's own test is significant."""
        found = self._tested
        if found is None:
            return False
        if found.interval:
            return not found.interval[0] <= 0 <= found.interval[1]
        return found.p is not None and found.p < SIGNIFICANT

    @property
    def certainty(self) -> str:
        """How sure the difference is, and what else may have made it."""
        found, times = self._tested, self._times_the_tokens
        more = f"; with {times:.2f} {TIMES} the training tokens" if times != 1 else ""
        if found and found.interval:
            ends = interval_text(found.interval, self.decimals)
            return f"{'sure' if self.is_sure else 'may be chance'} (95% interval of {self.seeds} seeds {ends}){more}"
        if found is None or found.p is None:
            return f"not tested{more}"
        test = self.results.settings.variants[self.variant].test.replace("sign", "sign test")
        sure = "significant" if self.is_sure else "may be chance"
        return f"{sure} ({test}, p {p_text(found.p)}, one seed){more}"

    def numbers(self) -> str:
        """Both systems with their numbers."""
        label, other = (self.results.settings.label(name) for name in (self.variant, self.against))
        own, beside = (f"{value:.{self.decimals}f}" for value in (self.value, self.other))
        return (
            f"{label} {own}, {other} {beside} ({signed(self.gain, self.decimals)}"
            f" {name_of(self.measure)} on {self.measure.test_set})"
        )

    def sentence(self) -> str:
        """Say all of it."""
        return f"{self.results.title}: {self.claim.says}: {self.way}, {self.certainty}: {self.numbers()}."

    @cached_property
    def _tested(self) -> Difference | None:
        """The difference to the variant's baseline; None if the claim compares it with another one."""
        if self.results.settings.variants[self.variant].baseline != self.against:
            return None
        return self._number(self.variant).gain

    @property
    def _times_the_tokens(self) -> float:
        """How much more text the first system has been trained on; neither a teacher's nor a probe's counts."""
        own, other = (System(name, self.results, None).all_tokens for name in (self.variant, self.against))
        return round(own / other, 2)

    def _number(self, variant: str) -> Number:
        found = self.results.number(variant, self.measure)
        assert found is not None
        return found


class Published(NamedTuple):
    """A published difference."""

    gain: float
    decimals: int
    column: str

    def __str__(self) -> str:
        return signed(self.gain, self.decimals)


def table_of(paper: Paper, claim: Claim) -> Table | None:
    """The table that a claim stands in."""
    return next((table for table in paper.tables if table.id == claim.table), None)


def published_of(paper: Paper, claim: Claim) -> list[Published]:
    """Find the differences that a claim's table has, column by column."""
    table = table_of(paper, claim)
    if table is None:
        return []
    row = table.row(claim.variant)
    against = claim.against or row.baseline
    gains = []
    for column in _columns(table, claim):
        own = row.published.get(column.id)
        other = table.row(against).published.get(column.id) if against else None
        if column.difference and against == row.baseline:
            other = 0.0
        if own is not None and other is not None:
            gains.append(Published(own - other, column.decimals, column.label))
    return gains


def _columns(table: Table | None, claim: Claim) -> list[Column]:
    """Those of a claim's metrics; of a claim that names none, all scores."""
    columns = table.columns if table else ()
    return [
        column
        for column in columns
        if (_key(column) in map(_key, claim.measures) if claim.measures else is_score(column.metric))
    ]


def _key(wanted: Wanted) -> tuple[object, ...]:
    return wanted.metric, wanted.layer, wanted.tag


def headlines(paper: Paper) -> Iterator[Claim]:
    """Yield what the first table with headlines says of its systems: that they are better than their baselines."""
    for table in [table for table in paper.tables if table.headline][:1]:
        for variant in table.headline:
            against = table.row(variant).baseline
            if against:
                label, other = (re.sub(r"^(\+|\d+) ", "", table.row(name).label) for name in (variant, against))
                says = f"{label} translates better than {other}"
                yield Claim(says=says, variant=variant, against=against, table=table.id)


def outcomes_of(paper: Paper, claim: Claim, experiments: Sequence[Results]) -> list[Outcome]:
    """Find every experiment that can tell, those on the text of the claim's table first.

    Of several with one recipe it is the first with most seeds.
    """
    best: dict[object, Outcome] = {}
    for results in experiments:
        for outcome in _outcome(claim, table_of(paper, claim), results):
            before = best.get(results.recipe)
            if before is None or outcome.seeds > before.seeds:
                best[results.recipe] = outcome
    return sorted(best.values(), key=lambda outcome: not outcome.is_own_text)


def _outcome(claim: Claim, table: Table | None, results: Results) -> Iterator[Outcome]:
    pair = _comparable(claim, results)
    if pair is None:
        return
    corpus, columns = results.settings.corpus, _columns(table, claim)
    languages = corpus.direction
    theirs = [column.test_set for column in columns if languages == (column.languages or (table and table.languages))]
    own = [name for name in theirs if name in results.sets]
    others = [name for name in results.sets if name != corpus.validation]
    wanted = claim.measures or (Wanted(metric=results.settings.significance.metric),)
    for name in (*own, *others, corpus.validation):
        for measure in (one.on(name) for one in wanted if one.is_on(name)):
            if all(results.number(variant, measure) for variant in pair):
                decimals = max([2, *(column.decimals for column in columns if column.metric == measure.metric)])
                yield Outcome(
                    claim=claim,
                    results=results,
                    variant=pair[0],
                    against=pair[1],
                    measure=measure,
                    decimals=4 if measure.metric in SHARES else decimals,
                    is_own_text=name in own,
                )
                return


def _comparable(claim: Claim, results: Results) -> tuple[str, str] | None:
    """The two variants of an experiment that a claim is about, of equal depth."""
    own = results.settings.variants.get(claim.variant)
    for variant, against in ((claim.variant, claim.against or (own and own.baseline)), claim.smaller or ("", "")):
        if {variant, against} <= set(results.models) and _layers(results, variant) == _layers(results, str(against)):
            return variant, str(against)
    return None


def _layers(results: Results, variant: str) -> tuple[int, ...]:
    """Of encoder and decoder."""
    slots: dict[str, Any] = results.models[variant]["slots"]
    return tuple(len(slots.get(slot, ())) for slot in ("encoder_self_attention", "decoder_self_attention"))
