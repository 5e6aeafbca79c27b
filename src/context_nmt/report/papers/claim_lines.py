"""Write one line per claim of a paper."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from context_nmt.report.cells import DASH, TIMES
from context_nmt.report.papers.claims import Claim
from context_nmt.report.papers.columns import PaperColumn
from context_nmt.report.papers.judging import columns_of, outcomes_of, table_of
from context_nmt.report.papers.outcomes import Outcome
from context_nmt.report.papers.published import Paper, PaperTable
from context_nmt.report.papers.training_costs import System
from context_nmt.report.papers.verdicts import ANSWERS, FEWEST, SEEDS, WORDS, Verdict, evidence, verdicts_of, word_alone
from context_nmt.results.number_text import signed
from context_nmt.results.table import Results

LEGEND = (
    "The table of a paper's claims has a line for each. The experiment and the measure that judge a claim were chosen"
    " in advance; the last column has what other experiments show. A claim about several corpora is judged on one."
    f" A verdict needs at least {SEEDS} training runs of each system: a paired t-test over seeds, two-sided, p < 0.05"
    " after Holm's correction for all claims of the paper; intervals are not corrected. Against several systems, it"
    f" must hold against each. With fewer than {SEEDS} seeds, but at least {FEWEST}, there is an interval and no"
    " decision. “Smallest decisive difference”: with this variation between seeds, a difference of this size would have"
    " decided; it is given for claims without a margin, against one system. “In words”: the paper publishes no number."
    f" “But not in”: {FEWEST} or more seeds of another experiment show the opposite (p < 0.05, not corrected)."
    " Small experiments neither confirm nor refute published numbers."
)
DECIDED_HEADS = ("Paper", "As claimed, or yes", "The other way, or no", "Not known")
HEADS = ("Claim", "Where", "Published", "Here", "Verdict", "Other experiments")


class PublishedGain(NamedTuple):
    """A published difference."""

    gain: float
    decimals: int

    def __str__(self) -> str:
        return signed(self.gain, self.decimals)


@dataclass(frozen=True)
class ClaimLine:
    """A claim and the verdict on it."""

    verdict: Verdict
    texts: tuple[str, ...]  # below HEADS
    published: list[PublishedGain]
    elsewhere: Sequence[Outcome]  # in experiments that do not judge it


def claim_lines(paper: Paper, experiments: Sequence[Results]) -> list[ClaimLine]:
    """Return a line for every claim of a paper, in an experiment's own report for those that it judges or can test."""
    found = [outcomes_of(paper, claim, experiments) for claim in paper.claims]
    verdicts = verdicts_of(paper.claims, [outcomes[0] if outcomes else None for outcomes in found])
    folder = experiments[0].folder
    return [
        _line(paper, verdict, outcomes[1:])
        for verdict, outcomes in zip(verdicts, found, strict=True)
        if outcomes or not folder or verdict.claim.experiment == folder
    ]


def counts_of(lines: Sequence[ClaimLine]) -> list[str]:
    """Return how many claims have each verdict, as "3 not decided", without those that none has; our questions last."""
    counts = Counter((line.verdict.claim.is_question, line.verdict.word) for line in lines)
    claims, questions = (
        [f"{counts[ours, word]} {ANSWERS.get(word, word) if ours else word}" for word in WORDS if counts[ours, word]]
        for ours in (False, True)
    )
    return [*claims, *([f"our questions: {', '.join(questions)}"] if questions else [])]


def decided_row(lines: Sequence[ClaimLine]) -> tuple[str, ...]:
    """Return, below DECIDED_HEADS, what is decided about the claims of a paper and how much is not."""
    decided = ("; ".join(_with_doubts(line) for line in lines if line.verdict.word == word) for word in ANSWERS)
    others = counts_of([line for line in lines if line.verdict.word not in ANSWERS])
    return tuple(text or DASH for text in (*decided, "; ".join(others)))


def _with_doubts(line: ClaimLine) -> str:
    """Return a decided claim with the other experiments that show the opposite."""
    opposite = next(word for word in ANSWERS if word != line.verdict.word)
    doubts = [outcome.experiment for outcome in line.elsewhere if word_alone(outcome) == opposite]
    return f"{line.texts[0]} (but not in {', '.join(doubts)})" if doubts else line.texts[0]


def what_was_too_small(lines: Sequence[ClaimLine]) -> str:
    """Say how many undecided claims publish a difference that these runs could not have decided; empty without any."""
    pairs = [
        (line.verdict.decisive, line.published)
        for line in lines
        if line.verdict.decisive is not None and line.published
    ]
    small = sum(max(abs(one.gain) for one in published) < decisive for decisive, published in pairs)
    return (
        f"In {small} of {len(pairs)} undecided claims with published numbers, the published difference is smaller than"
        " any that these runs could have decided."
        if pairs
        else ""
    )


def _line(paper: Paper, verdict: Verdict, others: Sequence[Outcome]) -> ClaimLine:
    claim, outcome = verdict.claim, verdict.outcome
    gains = sorted(published_gains(paper, claim))
    published = " … ".join(dict.fromkeys(str(gain) for gain in (*gains[:1], *gains[-1:])))
    texts = (
        f"our question: {claim.says}" if claim.is_question else claim.says,
        claim.place or DASH,
        published or (DASH if claim.is_question or claim.is_cost else "in words"),
        f"{outcome.experiment}: {outcome.numbers()}" if outcome else DASH,
        "; ".join([str(verdict), *_remarks(outcome)]) if outcome else str(verdict),
        "; ".join(map(_elsewhere, others)),
    )
    return ClaimLine(verdict, texts, gains, others)


def _elsewhere(outcome: Outcome) -> str:
    """Return what an experiment shows that does not judge the claim."""
    parts = (outcome.direction_text, signed(outcome.gain, outcome.decimals))
    return f"{outcome.experiment}: {evidence(outcome, *parts)}"


def _remarks(outcome: Outcome) -> Iterator[str]:
    """Yield other possible causes of a difference, and what its seeds do not vary."""
    settings, other = outcome.results.settings, outcome.other or outcome.side
    own, reference = (System(side.variant, outcome.results) for side in (outcome.side, other))
    if own.epochs and reference.epochs and (own.epochs[0] > reference.epochs[1] or own.epochs[1] < reference.epochs[0]):
        yield f"with {fmean(own.epochs) / fmean(reference.epochs):.1f} {TIMES} the training tokens"
    if students := [settings.label(name) for name in outcome.systems if name in settings.train.distilled]:
        yield f"all seeds of {', '.join(dict.fromkeys(students))} learned from one teacher run"


def published_gains(paper: Paper, claim: Claim) -> list[PublishedGain]:
    """Return the differences in a claim's table, column by column, or the one that the text gives.

    A cost has none: papers give speeds in units of their own.
    """
    if claim.is_cost:
        return []
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
