"""Writes the report of an experiment: pages, tables and pictures."""

import csv
from collections.abc import Iterator
from pathlib import Path

from context_nmt.files import replacing, replacing_folder
from context_nmt.report.costs import cost_grid
from context_nmt.report.entries import Entry, entries_of
from context_nmt.report.grid import Grid
from context_nmt.report.latex import format_latex
from context_nmt.report.lines import lines_of
from context_nmt.report.pages import Chapter, Page, Section, format_html, format_markdown
from context_nmt.report.papers.published import read_papers
from context_nmt.report.pictures import draw_entry
from context_nmt.report.summary import summarise
from context_nmt.report.written import Written, read_all
from context_nmt.settings.folder import Experiment

COLUMNS = (
    *("system", "variant", "group", "column", "text", "value", "deviation", "seeds"),
    *("difference", "interval_low", "interval_high", "p", "command"),
)
MARKS = (
    "± is the sample standard deviation over seeds; in brackets the difference to the system's baseline, or × the"  # noqa: RUF001
    " ratio to it. † p < 0.05, ‡ p < 0.01 in the system's own test, in every seed; what was not tested has no mark."
    " A dash (–) stands where nothing is published or nothing ran; below a table stands the command that would fill it."  # noqa: RUF001
)


def write_report(experiment: Experiment) -> None:
    """Write report.md, report.html, tables/ and figures/ into reports/; raises UserError for a broken file."""
    experiments, papers = read_all(experiment), read_papers()
    costs = cost_grid(papers, experiments)
    with replacing_folder(experiment.reports) as folder:
        (folder / "figures").mkdir()
        chapters = []
        for name, paper in papers.items():
            entries = entries_of(name, paper, experiments)
            sections = tuple(_section(entry, folder) for entry in entries)
            chapters.append(Chapter(name, paper, summarise(paper, entries), sections))
        lines = tuple(lines_of(list(papers.values()), experiments))
        page = Page(_title(experiments[0]), _facts(experiments), lines, tuple(chapters), costs)
        grids = [section.grid for chapter in chapters for section in chapter.sections] + ([costs] if costs else [])
        for grid in grids:
            _write(folder / "tables" / f"{grid.name}.tex", format_latex(grid))
            _write_csv(folder / "tables" / f"{grid.name}.csv", grid)
        _write(folder / "report.md", format_markdown(page))
        _write(folder / "report.html", format_html(page, folder / "figures"))


def _section(entry: Entry, folder: Path) -> Section:
    picture = f"{entry.name}.svg"
    return Section(entry.table, entry.grid(), picture if draw_entry(entry, folder / "figures" / picture) else "")


def _title(first: Written) -> str:
    corpus = first.settings.corpus
    return f"Published and reproduced: {corpus.name} {corpus.source}-{corpus.target}"


def _facts(experiments: list[Written]) -> tuple[str, ...]:
    ran = [written.title for written in experiments if written.models]
    return (
        f"Numbers from {'; '.join(ran)}." if ran else "No experiment has run yet.",
        experiments[0].speeds.note(),
        MARKS,
    )


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def _write_csv(path: Path, grid: Grid) -> None:
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(_rows(grid))


def _rows(grid: Grid) -> Iterator[list[object]]:
    for row in grid.rows:
        for column, cell in zip(grid.columns, row.cells, strict=True):
            low, high = cell.interval or (None, None)
            yield [
                *(row.label, row.variant, column.group, column.title, cell.text),
                *(cell.value, cell.deviation, cell.seeds, cell.difference, low, high, cell.p, cell.command),
            ]
