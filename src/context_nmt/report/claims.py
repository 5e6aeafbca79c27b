"""What a paper says, one number per claim, and how that came out here."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from context_nmt.report.markdown import signed
from context_nmt.report.papers.published import SHARES, Claim, Column, Paper, Table, is_score
from context_nmt.report.systems import System
from context_nmt.report.written import Written
from context_nmt.results.table import Difference

SIGNIFICANT = 0.05
TIMES = "×"  # noqa: RUF001


@dataclass(frozen=True)
class Outcome:
    """A claim in one experiment: what its system has, what it is compared with, and on which set."""

    claim: Claim
    written: Written
    variant: str
    against: str
    test_set: str
    metric: str
    decimals: int
    is_own_text: bool  # the set and the languages are the table's

    @property
    def value(self) -> float:
        return self._mean(self.variant)

    @property
    def other(self) -> float:
        return self._mean(self.against)

    @property
    def gain(self) -> float:
        """The difference of the two, as the experiment's tables have it where they do."""
        return self._tested.mean if self._tested else round(self.value - self.other, 4)

    @property
    def seeds(self) -> int:
        found = self.written.summary(self.variant, self.test_set, self.metric)
        assert found is not None
        return int(found["seeds"])

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
            ends = " … ".join(signed(end, self.decimals) for end in found.interval)
            return f"{'sure' if self.is_sure else 'may be chance'} (95% interval of {self.seeds} seeds {ends}){more}"
        if found is None or found.p is None:
            return f"not tested{more}"
        p = "p ≤ 0.001" if found.p <= 0.001 else f"p = {found.p:.2g}"
        test = self.written.settings.variants[self.variant].test.replace("sign", "sign test")
        return f"{'significant' if self.is_sure else 'may be chance'} ({test}, {p}, one seed){more}"

    def numbers(self) -> str:
        """Both systems with their numbers."""
        label, other = (self.written.settings.label(name) for name in (self.variant, self.against))
        own, beside = (f"{value:.{self.decimals}f}" for value in (self.value, self.other))
        return f"{label} {own}, {other} {beside} ({signed(self.gain, self.decimals)} {self.metric} on {self.test_set})"

    def sentence(self) -> str:
        """Say all of it."""
        return f"{self.written.title}: {self.claim.says}: {self.way}, {self.certainty}: {self.numbers()}."

    @cached_property
    def _tested(self) -> Difference | None:
        """The difference to the variant's baseline; None if the claim compares it with another one."""
        if self.written.settings.variants[self.variant].baseline != self.against:
            return None
        return self.written.difference(self.variant, self.test_set, self.metric)

    @property
    def _times_the_tokens(self) -> float:
        """How much more text the first system has been trained on; neither a teacher's nor a probe's counts."""
        own, other = (System(name, self.written, None).all_tokens for name in (self.variant, self.against))
        return round(own / other, 2)

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
        column for column in columns if (column.metric in claim.metrics if claim.metrics else is_score(column.metric))
    ]


def headlines(paper: Paper) -> Iterator[Claim]:
    """Yield what the first table with headlines says of its systems: that they are better than their baselines."""
    for table in [table for table in paper.tables if table.headline][:1]:
        for variant in table.headline:
            against = table.row(variant).baseline
            if against:
                label, other = (re.sub(r"^(\+|\d+) ", "", table.row(name).label) for name in (variant, against))
                says = f"{label} translates better than {other}"
                yield Claim(says=says, variant=variant, against=against, table=table.id)


def outcomes_of(paper: Paper, claim: Claim, experiments: Sequence[Written]) -> list[Outcome]:
    """Find every experiment that can tell, those on the text of the claim's table first.

    Of several with one recipe it is the first with most seeds.
    """
    best: dict[object, Outcome] = {}
    for written in experiments:
        for outcome in _outcome(claim, table_of(paper, claim), written):
            before = best.get(written.recipe)
            if before is None or outcome.seeds > before.seeds:
                best[written.recipe] = outcome
    return sorted(best.values(), key=lambda outcome: not outcome.is_own_text)


def _outcome(claim: Claim, table: Table | None, written: Written) -> Iterator[Outcome]:
    pair = _comparable(claim, written)
    if pair is None:
        return
    corpus, columns = written.settings.corpus, _columns(table, claim)
    tests = [name for name in written.test_sets if name != corpus.validation]
    sets = [*tests, *written.contrastive_sets, *written.probing_sets, corpus.validation]
    languages = f"{corpus.source}-{corpus.target}"
    theirs = [column.test_set for column in columns if languages == (column.languages or (table and table.languages))]
    own = [name for name in theirs if name in sets]
    for name in (*own, *sets):
        for metric in claim.metrics or (written.settings.significance.metric,):
            if all(written.summary(variant, name, metric) for variant in pair):
                decimals = max([2, *(column.decimals for column in columns if column.metric == metric)])
                yield Outcome(
                    claim=claim,
                    written=written,
                    variant=pair[0],
                    against=pair[1],
                    test_set=name,
                    metric=metric,
                    decimals=4 if metric in SHARES else decimals,
                    is_own_text=name in own,
                )
                return


def _comparable(claim: Claim, written: Written) -> tuple[str, str] | None:
    """The two variants of an experiment that a claim is about, of equal depth."""
    own = written.settings.variants.get(claim.variant)
    for variant, against in ((claim.variant, claim.against or (own and own.baseline)), claim.smaller or ("", "")):
        if {variant, against} <= set(written.models) and _layers(written, variant) == _layers(written, str(against)):
            return variant, str(against)
    return None


def _layers(written: Written, variant: str) -> tuple[int, ...]:
    """Of encoder and decoder."""
    slots: dict[str, Any] = written.models[variant]["slots"]
    return tuple(len(slots.get(slot, ())) for slot in ("encoder_self_attention", "decoder_self_attention"))
