"""A minute's reading on a paper: its claims, their outcomes here and how certain these are, as sentences of numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from context_nmt.measures.rows import Measure
from context_nmt.report.papers.claims import is_certain, outcomes_of, published_gains
from context_nmt.report.papers.comparison import Comparison
from context_nmt.report.papers.published import COSTS, Paper, PaperRow
from context_nmt.report.papers.reproduction import Reproduction, with_most_seeds
from context_nmt.report.papers.training_costs import System
from context_nmt.results.estimates import Difference, Estimate
from context_nmt.results.number_text import interval_text, p_text, signed
from context_nmt.results.table import name_of

TESTS = {"bootstrap": "one-sided paired bootstrap", "sign": "sign test"}
OTHER_TEXT = (
    "All these results are for other text and other models than the paper's: they show whether the mechanism helps"
    " there, and neither confirm nor refute the published numbers."
)


@dataclass(frozen=True)
class Summary:
    """Sentences on a paper."""

    claimed: tuple[str, ...]
    found: tuple[str, ...]
    sure: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """The gain of a headline system in one experiment."""

    reproduction: Reproduction
    variant: str
    measure: Measure
    estimate: Estimate
    gain: Difference


def summarise(paper: Paper, comparisons: Sequence[Comparison]) -> Summary:
    """Say what a paper's headline systems gain and what else it claims: published, reproduced, and how certainly."""
    headlines = [(one, one.table.row(variant)) for one in comparisons for variant in one.table.headline]
    findings = [finding for one, row in headlines for finding in _findings(row, one.reproductions)]
    found = [_found(finding) for finding in findings]
    sure = [sentence for finding in findings for sentence in (_sure(finding), *_longer_training(finding))]
    if not findings:
        commands = dict.fromkeys(f"`{one.command(row)}`" for one, row in headlines)
        found = ["None of its headline systems has run here."]
        sure = [f"Nothing is known yet. To run them: {', '.join(commands)}."]
    elif all(finding.reproduction.is_replica for finding in findings):
        sure.append(OTHER_TEXT)
    told = {(one.table.id, row.variant) for one, row in headlines}
    found += [
        outcome.sentence()
        for claim in paper.claims
        if (claim.table, claim.variant) not in told or claim.against
        for outcome in outcomes_of(paper, claim, comparisons[0].experiments)
    ]
    claimed = (paper.claim, *_published(headlines), *_claimed(paper))
    return Summary(claimed, tuple(found), tuple(dict.fromkeys(sure)))


def _findings(row: PaperRow, reproductions: Sequence[Reproduction]) -> Iterator[Finding]:
    """Yield the gains of a system, of experiments with one recipe that of the first with most seeds."""
    known = [one for one in reproductions if row.variant in one.results.models]
    for one in with_most_seeds(known, key=lambda one: one.results.recipe):
        measure = next((measure for measure in one.measures if measure.test_set), None)
        reproduced = one.number(row, measure) if measure else None
        if measure and reproduced and reproduced.estimate.gain:
            yield Finding(one, str(row.variant), measure, reproduced.estimate, reproduced.estimate.gain)


def _published(headlines: Sequence[tuple[Comparison, PaperRow]]) -> Iterator[str]:
    for table, row in ((comparison.table, row) for comparison, row in headlines):
        gains = []
        for column in table.columns:
            gain = table.published_gain(row, column)
            if gain is not None and column.metric not in COSTS:
                remark = f", {row.marks[column.id]}" if column.id in row.marks else ""
                gains.append(f"{signed(gain, column.decimals)} ({column.label}{remark})")
        if gains:
            label, other = (one.label.removeprefix("+ ") for one in (row, table.row(str(row.baseline))))
            yield f"Published, {table.id}: {label} against {other}: {', '.join(gains)}."


def _claimed(paper: Paper) -> Iterator[str]:
    for claim in paper.claims:
        gains = [f"{gain} ({gain.column})" for gain in published_gains(paper, claim)]
        if claim.table:
            yield f"{claim.table}: {claim.says}: {', '.join(gains) or 'without a number'}."


def _found(finding: Finding) -> str:
    results, measure, number = finding.reproduction.results, finding.measure, finding.estimate
    decimals, settings = finding.reproduction.table.decimals_of(measure.metric), results.settings
    label, baseline = settings.label(finding.variant), settings.label(str(settings.variants[finding.variant].baseline))
    seeds = f" ± {number.deviation:.{decimals}f} over {number.seeds} seeds" if number.seeds > 1 else ", one seed"
    return (
        f"{results.title}: {label} {signed(finding.gain.mean, decimals)} {name_of(measure)} against {baseline}"
        f" on {measure.test_set} ({number.mean:.{decimals}f}{seeds})."
    )


def _sure(finding: Finding) -> str:
    results, measure, gain = finding.reproduction.results, finding.measure, finding.gain
    settings, seeds = results.settings, finding.estimate.seeds
    word = "gain" if gain.mean > 0 else "loss" if gain.mean < 0 else "tie"
    start = f"{results.title}: {settings.label(finding.variant)}, {name_of(measure)} on {measure.test_set}: the {word} "
    test = TESTS[settings.variants[finding.variant].test]
    p = "not tested" if gain.p is None else f"{test}, {_p_of_seeds(gain.p, seeds)}"
    if gain.interval:
        ends = f"its 95% interval over {seeds} seeds, {interval_text(gain.interval)}"
        if is_certain(gain):
            return f"{start}is likely to hold for other seeds, too: {ends}, excludes 0 ({p})."
        return f"{start}may be chance: {ends}, includes 0 ({p})."
    if is_certain(gain):
        return f"{start}with this one seed is significant ({p}); another seed might not show it."
    return f"{start}with this one seed may be chance ({p})."


def _longer_training(finding: Finding) -> Iterator[str]:
    """Yield a sentence if a system has seen more text than its baseline, a cause that a difference does not show."""
    results = finding.reproduction.results
    system = System(finding.variant, results)
    if system.baseline and system.all_tokens != system.baseline.all_tokens:
        label, baseline = (results.settings.label(one.variant) for one in (system, system.baseline))
        times = f"{system.all_tokens / system.baseline.all_tokens:.2f} times as many tokens"
        yield f"{results.title}: {label} was trained on {times} as {baseline}, which may be part of the reason."


def _p_of_seeds(p: float, seeds: int) -> str:
    """Return the largest p over seeds, which is 1 where they disagree on the better system."""
    if seeds == 1:
        return f"p {p_text(p)}"
    return f"p {p_text(p)} in the weakest seed" if p < 1 else "the seeds disagree or are equal"
