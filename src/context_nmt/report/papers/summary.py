"""What a paper claims, what came out of it here and how sure that is, in sentences made of numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from context_nmt.measures.rows import Measure
from context_nmt.report.papers.beside import Beside
from context_nmt.report.papers.claims import outcomes_of, published_of
from context_nmt.report.papers.entries import Entry, decimals_of
from context_nmt.report.papers.published import COSTS, Paper, Row
from context_nmt.report.papers.systems import System
from context_nmt.results.numbers import Number
from context_nmt.results.printed import SIGNIFICANT, interval_text, p_text, signed
from context_nmt.results.table import name_of

TESTS = {"bootstrap": "one-sided paired bootstrap", "sign": "sign test"}


@dataclass(frozen=True)
class Summary:
    """One minute's reading on one paper; each part is a list of sentences."""

    claimed: tuple[str, ...]
    found: tuple[str, ...]
    sure: tuple[str, ...]


def summarise(paper: Paper, entries: Sequence[Entry]) -> Summary:
    """Say what a paper's headline systems gain, and what else it claims: published, reproduced, how sure it is."""
    rows = [(entry, entry.table.row(variant)) for entry in entries for variant in entry.table.headline]
    findings = [(entry, row, block) for entry, row in rows for block in _telling(row, entry.blocks)]
    found, sure = [], []
    for entry, row, block in findings:
        measure = headline_measure(block)
        reproduced = block.cell(row, measure) if measure else None
        if measure and reproduced and reproduced.number.gain:
            found.append(_found(entry, row, block, measure, reproduced.number))
            sure += [_sure(row, block, measure, reproduced.number), *_longer_training(row, block)]
    if not found:
        commands = dict.fromkeys(entry.command(row) for entry, row in rows)
        found = ["None of its headline systems has run here."]
        sure = [f"Nothing is known yet. To run them: {', '.join(f'`{command}`' for command in commands)}."]
    elif all(block.is_replica for _, _, block in findings):
        sure.append(
            "All of it is other text and other models than the paper's: it says whether the mechanism helps there, and"
            " neither confirms nor refutes the published numbers."
        )
    experiments = entries[0].experiments
    told = {(entry.table.id, row.variant) for entry, row in rows}
    found += [
        outcome.sentence()
        for claim in paper.claims
        if (claim.table, claim.variant) not in told or claim.against
        for outcome in outcomes_of(paper, claim, experiments)
    ]
    return Summary(
        claimed=(paper.claim, *_published(rows), *_claimed(paper)),
        found=tuple(found),
        sure=tuple(dict.fromkeys(sure)),
    )


def _telling(row: Row, blocks: Sequence[Beside]) -> list[Beside]:
    """Those that have a system, of several with one recipe the first with most seeds."""
    best: list[Beside] = []
    for block in blocks:
        if row.variant not in block.results.models:
            continue
        same = next((place for place, other in enumerate(best) if other.results.recipe == block.results.recipe), None)
        if same is None:
            best.append(block)
        elif len(block.results.settings.seeds) > len(best[same].results.settings.seeds):
            best[same] = block
    return best


def headline_measure(block: Beside) -> Measure | None:
    """The first score of an experiment on a test set, not on the validation set where it has another."""
    return next((measure for measure in block.measures if measure.test_set), None)


def _published(rows: Sequence[tuple[Entry, Row]]) -> Iterator[str]:
    for entry, row in rows:
        gains = []
        for column in entry.table.columns:
            gain = entry.table.published_gain(row, column)
            if gain is not None and column.metric not in COSTS:
                said = f", {row.marks[column.id]}" if column.id in row.marks else ""
                gains.append(f"{signed(gain, column.decimals)} ({column.label}{said})")
        if gains:
            baseline = entry.table.row(str(row.baseline)).label
            yield f"Published, {entry.table.id}: {_plain(row.label)} against {_plain(baseline)}: {', '.join(gains)}."


def _claimed(paper: Paper) -> Iterator[str]:
    for claim in paper.claims:
        gains = [f"{gain} ({gain.column})" for gain in published_of(paper, claim)]
        if claim.table:
            yield f"{claim.table}: {claim.says}: {', '.join(gains) or 'without a number'}."


def _found(entry: Entry, row: Row, block: Beside, measure: Measure, number: Number) -> str:
    decimals = decimals_of(entry.table, measure)
    settings = block.results.settings
    assert row.variant is not None
    assert number.gain is not None
    label, baseline = settings.label(row.variant), settings.label(str(settings.variants[row.variant].baseline))
    seeds = f" ± {number.deviation:.{decimals}f} over {number.seeds} seeds" if number.seeds > 1 else ", one seed"
    return (
        f"{block.results.title}: {label} {signed(number.gain.mean, decimals)} {name_of(measure)} against {baseline}"
        f" on {measure.test_set} ({number.mean:.{decimals}f}{seeds})."
    )


def _sure(row: Row, block: Beside, measure: Measure, number: Number) -> str:
    gain = number.gain
    assert gain is not None
    assert row.variant is not None
    word = "gain" if gain.mean > 0 else "loss" if gain.mean < 0 else "equality"
    label = block.results.settings.label(row.variant)
    start = f"{block.results.title}: {label}, {name_of(measure)} on {measure.test_set}: "
    test = TESTS[block.results.settings.variants[row.variant].test]
    p = "not tested" if gain.p is None else f"{test}, {_p_of_seeds(gain.p, number.seeds)}"
    if gain.interval:
        low, high = gain.interval
        ends = f"its 95% interval over {number.seeds} seeds, {interval_text(gain.interval)}"
        if low <= 0 <= high:
            return f"{start}the {word} may be chance: {ends}, holds 0 ({p})."
        return f"{start}the {word} is likely to come with other seeds, too: {ends}, is without 0 ({p})."
    if gain.p is None or gain.p >= SIGNIFICANT:
        return f"{start}the {word} of this one seed may be chance ({p})."
    return f"{start}the {word} of this one seed is significant ({p}); another seed might not have it."


def _longer_training(row: Row, block: Beside) -> Iterator[str]:
    """That a system has seen more text than its baseline, which a difference cannot tell from the mechanism."""
    assert row.variant is not None
    system = System(row.variant, block.results, None)
    if system.baseline and system.all_tokens != system.baseline.all_tokens:
        label, baseline = (block.results.settings.label(one.variant) for one in (system, system.baseline))
        times = f"{system.all_tokens / system.baseline.all_tokens:.2f}"
        yield f"{block.results.title}: {label} was trained on {times} times the tokens of {baseline}; this counts, too."


def _p_of_seeds(p: float, seeds: int) -> str:
    """The largest p over seeds, which is set to 1 where they disagree on who is better."""
    if seeds == 1:
        return f"p {p_text(p)}"
    return f"p {p_text(p)} in the weakest seed" if p < 1 else "seeds disagree or are equal"


def _plain(label: str) -> str:
    return label.removeprefix("+ ")
