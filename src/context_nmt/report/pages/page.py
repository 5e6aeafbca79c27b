"""The parts of every page of one experiment."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from context_nmt.measures.rows import Measure
from context_nmt.report.cells import Cell, estimate_cell
from context_nmt.report.grid import Grid
from context_nmt.report.papers.verdicts import confounds_of, unmarked
from context_nmt.results.table import RESCORED, Results


@dataclass(frozen=True)
class Section:
    """A heading with text, a picture and tables; a section without a title continues the one before."""

    title: str = ""
    text: str = ""
    picture: str = ""  # its name in figures/, without suffix
    grids: tuple[Grid, ...] = ()


@dataclass(frozen=True)
class Page:
    """One Markdown page."""

    title: str
    introduction: str
    sections: tuple[Section, ...]
    notes: str = ""
    signatures: tuple[str, ...] = ()


def heading(results: Results, what: str) -> str:
    """Return the title of a page about `what`."""
    corpus = results.settings.corpus
    return f"{what}: {corpus.name}, {corpus.direction}"


OLD = (
    " Systems that are out of date have results from earlier code, settings or text; their costs and"
    " their differences from others are left out, and `context-nmt repro` without --only updates them."
)
ALL_OLD = (
    " All systems are out of date: code, settings or text have changed since then. Their costs are left out, and"
    " `context-nmt repro` updates them."
)


EARLIER = (
    " The code of commit {commit} made these results. On one machine, today's makes weights and translations of the"
    " default experiment that are the same in every byte."
)


def about_old(results: Results) -> str:
    """Return sentences about the systems that are out of date or of earlier code, if there are any."""
    return _about_old(results) + (EARLIER.format(commit=results.earlier_code) if results.earlier_code else "")


def _about_old(results: Results) -> str:
    if results.scored and all(name.removesuffix(RESCORED) in results.out_of_date for name in results.scored):
        return ALL_OLD
    return OLD if results.out_of_date else ""


def about_confounds(results: Results, metrics: Collection[str]) -> str:
    """Return a list of what is wrong with differences from baselines in some metrics; empty if nothing is known."""
    lines = [f"- {confound.kind}, {confound.short}: {confound.says}" for confound in confounds_of(results, metrics)]
    pairs = [(name, results.settings.variants[name].baseline) for name in results.models if name in results.scored]
    mixed = [results.label(name) for name, baseline in pairs if baseline and results.mixed_seeds((name, baseline))]
    if mixed:
        lines.append(f"- two processors: some seeds of {', '.join(mixed)} were trained on another than the baseline's.")
    return "\n".join(["Cannot be tested here:", "", *lines]) if lines else ""


def introduction(results: Results, text: str, metrics: Collection[str]) -> str:
    """Return the introduction of a page: its seeds, its conventions, a text, and what its metrics do not answer."""
    seeds = ", ".join(map(str, results.settings.seeds))
    first = (
        f"Seeds: {seeds}. Written by the report stage; results.csv has the same numbers. ± is the sample standard"
        f" deviation over seeds; the difference from the system's baseline is in brackets. {text}"
    ).rstrip() + about_old(results)
    return "\n\n".join(filter(None, [first, about_confounds(results, metrics)]))


def rows_of(
    results: Results, variants: Iterable[str], measures: Sequence[Measure], decimals: int = 2
) -> list[tuple[str, list[Cell]]]:
    """Return each variant's label with a cell per measure."""
    return [
        (
            results.label(variant),
            [estimate_cell(unmarked(results, variant, measure), decimals) for measure in measures],
        )
        for variant in variants
    ]
