"""The differences that a paper publishes for a claim."""

from statistics import fmean
from typing import NamedTuple

from context_nmt.report.papers.claims import Claim
from context_nmt.report.papers.columns import PaperColumn
from context_nmt.report.papers.judging import columns_of, table_of
from context_nmt.report.papers.outcomes import difference
from context_nmt.report.papers.published import Paper, PaperTable

SHARE = 2  # decimals of a cost's share of another one


class PublishedGain(NamedTuple):
    """A published difference."""

    gain: float
    decimals: int


def published_gains(paper: Paper, claim: Claim) -> list[PublishedGain]:
    """Return the differences in a claim's table, column by column, or the one that the text gives."""
    table = table_of(paper, claim)
    if claim.published is not None:
        decimals = max([1, *(column.decimals for column in columns_of(table, claim))])
        return [PublishedGain(claim.published, decimals)]
    if table is None or claim.against_measure or claim.against_tags or claim.to is not None:
        return []
    columns = columns_of(table, claim)
    if claim.measure and len(claim.measure.members) > 1:
        gains = [_published_gain(table, claim, column) for column in columns]
        known = [gain for gain in gains if gain]
        complete = len(known) == len(claim.measure.members)
        # a mean has a digit more than the numbers
        return [PublishedGain(fmean(gain.gain for gain in known), known[0].decimals + 1)] if complete else []
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
    reference = (min if claim.direction == "lower" else max)(references)
    return PublishedGain(difference(claim, own, reference), SHARE if claim.is_cost else column.decimals)


def _number(table: PaperTable, variant: str, column: PaperColumn, baseline: str | None) -> float | None:
    """Return a published number; in a column of differences from the baseline, that of the baseline is 0."""
    return 0.0 if column.difference and variant == baseline else table.row(variant).published.get(column.id)
