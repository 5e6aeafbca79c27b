"""Write one line per claim of a paper."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from statistics import fmean
from typing import NamedTuple

from context_nmt.report.cells import DASH
from context_nmt.report.papers.claims import Claim
from context_nmt.report.papers.judging import columns_of, outcomes_of, table_of
from context_nmt.report.papers.outcomes import Outcome
from context_nmt.report.papers.published import Paper, PaperColumn, PaperTable
from context_nmt.results.number_text import signed
from context_nmt.results.table import Results

LEGEND = (
    "The table of a paper's claims has a line for each. Its numbers are of one experiment: one on the paper's own text"
    " if it has run, otherwise the first with most of its systems; the last column counts the others. “In words”: the"
    " paper publishes no number."
    " “Not tested”: neither system is the other's baseline, or the measure has no test; a small difference then means"
    " nothing. “May be chance”: neither the system's own test nor its interval over seeds distinguishes the two."
    " “Interval excludes 0” and “significant” are not corrected for the number of claims, {number} in all: some come"
    " about by chance. Small experiments neither confirm nor refute published numbers."
)
HEADS = ("Claim", "Where", "Published", "Here", "Verdict", "Other experiments")


@dataclass(frozen=True)
class ClaimLine:
    """A claim and its outcome in the first experiment that can test it."""

    says: str
    where: str
    published: str
    numbers: str
    verdict: str
    elsewhere: str

    @property
    def texts(self) -> list[str]:
        """The texts below HEADS."""
        return list(astuple(self))


class PublishedGain(NamedTuple):
    """A published difference."""

    gain: float
    decimals: int

    def __str__(self) -> str:
        return signed(self.gain, self.decimals)


def claim_lines(paper: Paper, experiments: Sequence[Results]) -> list[ClaimLine]:
    """Return a line for every claim of a paper, with the gains of its headlines first."""
    return [_line(paper, claim, experiments) for claim in (*headlines(paper), *paper.claims)]


def _line(paper: Paper, claim: Claim, experiments: Sequence[Results]) -> ClaimLine:
    gains = sorted(published_gains(paper, claim))
    outcomes = outcomes_of(paper, claim, experiments)
    first = outcomes[0] if outcomes else None
    nothing = "no experiment on the paper's text has run" if claim.own_text else "no suitable experiment has run"
    return ClaimLine(
        says=f"our question: {claim.says}" if claim.is_question else claim.says,
        where=claim.place or DASH,
        published=" … ".join(dict.fromkeys(str(gain) for gain in (*gains[:1], *gains[-1:])))
        or (DASH if claim.is_question else "in words"),
        numbers=f"{first.experiment}: {first.numbers()}" if first else DASH,
        verdict=f"{first.way}, {first.certainty}" if first else nothing,
        elsewhere=", ".join(_counts(outcomes[1:])),
    )


def _counts(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the number of experiments with each outcome."""
    for way in dict.fromkeys(outcome.way for outcome in outcomes):
        certainties = [outcome.is_certain for outcome in outcomes if outcome.way == way]
        yield f"{len(certainties)} {way}" + (f" ({sum(certainties)} significant)" if any(certainties) else "")


def headlines(paper: Paper) -> Iterator[Claim]:
    """Yield a claim for each headline system of the first such table: it is better than its baseline."""
    for table in [table for table in paper.tables if table.headline][:1]:
        for variant in table.headline:
            against = table.row(variant).baseline
            if against:
                label, other_label = (re.sub(r"^(\+|\d+) ", "", table.row(name).label) for name in (variant, against))
                says = f"{label}: better than {other_label}"
                yield Claim(says=says, variant=variant, against=(against,), table=table.id)


def published_gains(paper: Paper, claim: Claim) -> list[PublishedGain]:
    """Return the differences in a claim's table, column by column, or the one that the text gives."""
    table = table_of(paper, claim)
    if claim.published is not None:
        decimals = max([1, *(column.decimals for column in columns_of(table, claim))])
        return [PublishedGain(claim.published, decimals)]
    if table is None or claim.against_measure or claim.to is not None:
        return []
    columns = columns_of(table, claim)
    if claim.measure and len(claim.measure.members) > 1:
        gains = [_published_gain(table, claim, column) for column in columns]
        known = [gain for gain in gains if gain]
        complete = len(known) == len(claim.measure.members)
        return [PublishedGain(fmean(gain.gain for gain in known), known[0].decimals)] if complete else []
    return [gain for column in columns if (gain := _published_gain(table, claim, column))]


def _published_gain(table: PaperTable, claim: Claim, column: PaperColumn) -> PublishedGain | None:
    """Return the difference of two rows in a column; of several other rows, from the best."""
    row = table.row(claim.variant)
    others = claim.against or ((row.baseline,) if row.baseline else ())
    if claim.gains:
        values = [table.published_gain(table.row(name), column) for name in (claim.variant, *others)]
    else:
        values = [_number(table, name, column, row.baseline) for name in (claim.variant, *others)]
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not others:
        return None
    own, *references = known
    return PublishedGain(own - (min if claim.direction == "lower" else max)(references), column.decimals)


def _number(table: PaperTable, variant: str, column: PaperColumn, baseline: str | None) -> float | None:
    """Return a published number; in a column of differences from the baseline, that of the baseline is 0."""
    return 0.0 if column.difference and variant == baseline else table.row(variant).published.get(column.id)
