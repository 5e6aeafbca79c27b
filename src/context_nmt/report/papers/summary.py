"""Summarise a paper: the gains of its main systems, published and in our experiments, and their certainty."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from context_nmt.measures.rows import Measure
from context_nmt.report.grid import marked
from context_nmt.report.papers.comparison import Comparison
from context_nmt.report.papers.outcomes import is_certain
from context_nmt.report.papers.published import COSTS, Paper, PaperRow
from context_nmt.report.papers.reproduction import Reproduction, with_most_seeds
from context_nmt.report.papers.training_costs import System
from context_nmt.results.estimates import Difference, Estimate
from context_nmt.results.number_text import interval_text, p_text, signed
from context_nmt.results.table import name_of

TESTS = {"bootstrap": "one-sided paired bootstrap", "sign": "sign test"}
UNCORRECTED = "not corrected for the number of claims"
OTHER_TEXT = (
    "The text and the models of all these results differ from the paper's: they show whether the mechanism helps there,"
    " and neither confirm nor refute the published numbers."
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
    """Summarise the gains of a paper's headline systems, published and reproduced."""
    headlines = [
        (comparison, comparison.table.row(variant))
        for comparison in comparisons
        for variant in comparison.table.headline
    ]
    findings = [finding for comparison, row in headlines for finding in _findings(row, comparison.reproductions)]
    found = [_found(finding) for finding in findings]
    sure = [sentence for finding in findings for sentence in (_sure(finding), *_longer_training(finding))]
    if not findings:
        commands = dict.fromkeys(marked(comparison.command(row)) for comparison, row in headlines)
        found = ["None of the paper's main systems has run here."]
        sure = [f"Unknown. To run them: {', '.join(commands)}."]
    elif all(finding.reproduction.is_replica for finding in findings):
        sure.append(OTHER_TEXT)
    claimed = (paper.claim, *_published(headlines))
    return Summary(claimed, tuple(found), tuple(dict.fromkeys(sure)))


def _findings(row: PaperRow, reproductions: Sequence[Reproduction]) -> Iterator[Finding]:
    """Yield the gains of a system; among experiments with one recipe, that of the first with the most seeds."""
    candidates = [reproduction for reproduction in reproductions if row.variant in reproduction.results.models]
    for reproduction in with_most_seeds(candidates, key=lambda reproduction: reproduction.results.recipe):
        measure = next((measure for measure in reproduction.measures if measure.test_set), None)
        number = reproduction.number(row, measure) if measure else None
        if measure and number and number.estimate.gain:
            yield Finding(reproduction, str(row.variant), measure, number.estimate, number.estimate.gain)


def _published(headlines: Sequence[tuple[Comparison, PaperRow]]) -> Iterator[str]:
    for table, row in ((comparison.table, row) for comparison, row in headlines):
        gains = []
        for column in table.columns:
            gain = table.published_gain(row, column)
            if gain is not None and column.metric not in COSTS:
                remark = f", {row.marks[column.id]}" if column.id in row.marks else ""
                gains.append(f"{signed(gain, column.decimals)} ({column.label}{remark})")
        if gains:
            label, baseline = (compared.label.removeprefix("+ ") for compared in (row, table.row(str(row.baseline))))
            yield f"{table.id}, {label} vs. {baseline}: {', '.join(gains)}."


def _found(finding: Finding) -> str:
    results, measure, estimate = finding.reproduction.results, finding.measure, finding.estimate
    decimals, settings = finding.reproduction.table.decimals_of(measure.metric), results.settings
    label, baseline = settings.label(finding.variant), settings.label(str(settings.variants[finding.variant].baseline))
    seeds = f" ± {estimate.deviation:.{decimals}f} over {estimate.seeds} seeds" if estimate.seeds > 1 else ", one seed"
    return (
        f"{results.title}: {label} {signed(finding.gain.mean, decimals)} {name_of(measure)} vs. {baseline}"
        f" on {measure.test_set} ({estimate.mean:.{decimals}f}{seeds})."
    )


def _sure(finding: Finding) -> str:
    results, measure, gain = finding.reproduction.results, finding.measure, finding.gain
    settings, seeds = results.settings, finding.estimate.seeds
    outcome = "gain" if gain.mean > 0 else "loss" if gain.mean < 0 else "tie"
    start = (
        f"{results.title}: {settings.label(finding.variant)}, {name_of(measure)} on {measure.test_set}: the {outcome} "
    )
    test = TESTS[settings.variants[finding.variant].test]
    p = "not tested" if gain.p is None else f"{test}, {_p_of_seeds(gain.p, seeds)}"
    if gain.interval:
        ends = f"95% interval over {seeds} seeds, {interval_text(gain.interval)}"
        if is_certain(gain):
            return f"{start}has a {ends}, that excludes 0 ({p}; {UNCORRECTED})."
        return f"{start}may be chance: its {ends}, includes 0 ({p})."
    if is_certain(gain):
        return f"{start}with this one seed is significant ({p}; {UNCORRECTED}); another seed might not show it."
    return f"{start}with this one seed may be chance ({p})."


def _longer_training(finding: Finding) -> Iterator[str]:
    """Yield a sentence if a system and its baseline were trained on different amounts of text."""
    results = finding.reproduction.results
    system = System(finding.variant, results)
    if system.baseline and system.all_tokens != system.baseline.all_tokens:
        label, baseline = (results.settings.label(compared.variant) for compared in (system, system.baseline))
        times = f"{system.all_tokens / system.baseline.all_tokens:.2f} times as many tokens"
        yield f"{results.title}: {label} was trained on {times} as {baseline}, a possible reason for the difference."


def _p_of_seeds(p: float, seeds: int) -> str:
    """Format the largest p over seeds, which is 1 where they disagree on the better system."""
    if seeds == 1:
        return f"p {p_text(p)}"
    return f"p {p_text(p)} in the weakest seed" if p < 1 else "seeds disagree in sign or tie"
