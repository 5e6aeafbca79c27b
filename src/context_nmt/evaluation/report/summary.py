"""What a paper claims, what came out of it here and how sure that is, in sentences made of numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from context_nmt.evaluation.markdown import signed
from context_nmt.evaluation.papers.published import COSTS, SHARES, Paper, Row
from context_nmt.evaluation.papers.replicas import Cell, Measure
from context_nmt.evaluation.report.entries import Block, Entry


@dataclass(frozen=True)
class Summary:
    """One minute's reading on one paper; each part is a list of sentences."""

    claimed: tuple[str, ...]
    found: tuple[str, ...]
    sure: tuple[str, ...]


def summarise(paper: Paper, entries: Sequence[Entry]) -> Summary:
    """Say what a paper's headline systems gain: published, reproduced, and with what certainty."""
    rows = [(entry, entry.table.row(variant)) for entry in entries for variant in entry.table.headline]
    findings = [(entry, row, block) for entry, row in rows for block in entry.blocks]
    found, sure = [], []
    for entry, row, block in findings:
        measure = headline_measure(block)
        cell = block.beside.cell(row, measure) if measure else None
        if measure and cell and cell.difference is not None:
            found.append(_found(entry, row, block, measure, cell))
            sure.append(_sure(row, block, cell))
    if not found:
        commands = dict.fromkeys(entry.command(row) for entry, row in rows)
        found = ["None of its headline systems has run here."]
        sure = [f"Nothing is known yet. To run them: {', '.join(f'`{command}`' for command in commands)}."]
    elif all(block.beside.is_replica for _, _, block in findings):
        sure.append(
            "All of it is other text and smaller models than the paper's: it says whether the mechanism helps there, and"
            " neither confirms nor refutes the published numbers."
        )
    return Summary(claimed=(paper.claim, *_published(rows)), found=tuple(found), sure=tuple(dict.fromkeys(sure)))


def headline_measure(block: Block) -> Measure | None:
    """The first score of an experiment on a test set, not on the validation set where it has another."""
    return next((measure for measure in block.measures if measure.test_set), None)


def _published(rows: Sequence[tuple[Entry, Row]]) -> Iterator[str]:
    for entry, row in rows:
        gains = [
            f"{signed(gain, column.decimals)} ({column.label}" + (f", {row.marks[column.id]})" if column.id in row.marks else ")")
            for column in entry.table.columns
            if column.metric not in COSTS and (gain := entry.table.published_gain(row, column)) is not None
        ]
        if gains:
            baseline = entry.table.row(str(row.baseline)).label
            yield f"Published, {entry.table.id}: {_plain(row.label)} against {_plain(baseline)}: {', '.join(gains)}."


def _found(entry: Entry, row: Row, block: Block, measure: Measure, cell: Cell) -> str:
    decimals = 4 if measure.metric in SHARES else 2
    settings = block.written.settings
    assert row.variant is not None
    baseline = settings.label(str(settings.variants[row.variant].baseline))
    seeds = f" ± {cell.deviation:.{decimals}f} over {cell.seeds} seeds" if cell.seeds > 1 else ", one seed"
    assert cell.difference is not None
    return (
        f"{block.written.title}: {_plain(row.label)} {signed(cell.difference, decimals)} {measure.metric} against {baseline}"
        f" on {measure.test_set} ({cell.value:.{decimals}f}{seeds})."
    )


def _sure(row: Row, block: Block, cell: Cell) -> str:
    name, where = _plain(row.label), block.written.title
    assert cell.difference is not None
    word = "gain" if cell.difference > 0 else "loss" if cell.difference < 0 else "difference"
    p = "" if cell.p is None else f" (p {_p(cell.p)} in every seed, the largest)" if cell.seeds > 1 else f" (p {_p(cell.p)})"
    if cell.interval:
        low, high = cell.interval
        ends = f"{signed(low)} … {signed(high)}"
        if low <= 0 <= high:
            return f"{where}: {name}: over {cell.seeds} seeds the {word} may be chance: its 95% interval, {ends}, holds 0{p}."
        return f"{where}: {name}: the {word} holds over {cell.seeds} seeds: its 95% interval, {ends}, is without 0{p}."
    if cell.p is None:
        return f"{where}: {name}: one seed, and this measure is not tested: the {word} may be chance."
    if cell.p >= 0.05:
        return f"{where}: {name}: with one seed the {word} may be chance{p}."
    return f"{where}: {name}: the {word} is significant for this one seed{p}; another seed might not have it."


def _p(p: float) -> str:
    return f"< {bound:g}" if p <= (bound := 0.001) else f"= {p:.2g}"


def _plain(label: str) -> str:
    return label.removeprefix("+ ")
