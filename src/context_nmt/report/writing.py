"""Writes everything that people read of an experiment: the table of results, pages, pictures and the report."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from context_nmt.files import replacing_folder
from context_nmt.report.formats import write_grid, write_page
from context_nmt.report.grid import Grid
from context_nmt.report.pages.documents import documents_page
from context_nmt.report.pages.inside import inside_page
from context_nmt.report.pages.probes import probes_page
from context_nmt.report.pages.results import results_page
from context_nmt.report.papers.costs import cost_grid
from context_nmt.report.papers.entries import Entry, entries_of
from context_nmt.report.papers.lines import HEADS, LEGEND, lines_of
from context_nmt.report.papers.published import Paper, Table, read_papers
from context_nmt.report.papers.summary import Summary, summarise
from context_nmt.report.pictures.inside import draw_analyses
from context_nmt.report.pictures.papers import draw_entry
from context_nmt.report.pictures.probes import draw_probes
from context_nmt.report.pictures.scores import draw_learning_curves, draw_scores
from context_nmt.results.reading import read_all, read_results, write_results
from context_nmt.results.table import Results
from context_nmt.settings.folder import Experiment

PARTS = {"claimed": "What it claims", "found": "What came out here", "sure": "How sure that is"}
MARKS = (
    "± is the sample standard deviation over seeds; in brackets the difference to the system's baseline, or × the"  # noqa: RUF001
    " ratio to it. † p < 0.05, ‡ p < 0.01 in the system's own test, in every seed; what was not tested has no mark."
    " A dash (–) stands where nothing is published or nothing ran; below a table stands the command that would fill it."  # noqa: RUF001
)


@dataclass(frozen=True)
class PaperSection:
    """One table or figure on the page; `picture` is the name of its file, empty if there is none."""

    table: Table
    grid: Grid
    picture: str


@dataclass(frozen=True)
class Chapter:
    """One paper on the page."""

    name: str
    paper: Paper
    summary: Summary
    sections: tuple[PaperSection, ...]


def write_tables(experiment: Experiment) -> None:
    """Write results.json, results.csv and results.md under metrics/, and reports/pages; raises UserError."""
    results = read_results(experiment)
    write_results(results)
    write_page(experiment.results_page, "page.md.j2", page=results_page(results))
    with replacing_folder(experiment.reports / "pages") as folder:
        figures = folder / "figures"
        draw_learning_curves(results, figures / "learning_curves.svg")
        pictures = [*draw_analyses(results, figures), *draw_probes(results, figures)]
        write_page(folder / "analyses.md", "page.md.j2", page=inside_page(results, pictures))
        write_page(folder / "discourse.md", "page.md.j2", page=documents_page(results))
        write_page(folder / "probes.md", "page.md.j2", page=probes_page(results, pictures))


def write_report(experiment: Experiment) -> None:
    """Write report.md, report.html, tables/ and figures/ under reports/; raises UserError for a broken file.

    report.html holds all pictures; figures/ has the scores of all systems, and for report.md each paper's headlines.
    """
    experiments, papers = read_all(experiment), read_papers()
    costs = cost_grid(papers, experiments)
    with TemporaryDirectory() as drawn:
        chapters = []
        for name, paper in papers.items():
            entries = entries_of(name, paper, experiments)
            shown = tuple(_section(entry, Path(drawn)) for entry in entries)
            chapters.append(Chapter(name, paper, summarise(paper, entries), shown))
        sections = [section for chapter in chapters for section in chapter.sections]
        corpus = experiment.settings.corpus
        values = {
            "title": f"Published and reproduced: {corpus.name} {corpus.source}-{corpus.target}",
            "facts": _facts(experiments),
            "lines": lines_of(list(papers.values()), experiments),
            "chapters": chapters,
            "costs": costs,
            "parts": PARTS,
            "heads": HEADS,
            "legend": LEGEND,
        }
        for ending in ("md", "html"):
            path = experiment.reports / f"report.{ending}"
            write_page(path, f"report.{ending}.j2", figures=Path(drawn), **values)
        with replacing_folder(experiment.reports / "figures") as folder:
            if experiments[0].scored:
                draw_scores(experiments[0], folder / "bleu.svg")
            for section in sections:
                if section.picture and section.table.headline:
                    shutil.copyfile(Path(drawn) / section.picture, folder / section.picture)
    with replacing_folder(experiment.reports / "tables") as folder:
        for grid in (*(section.grid for section in sections), costs):
            if grid:
                write_grid(folder, grid)


def _section(entry: Entry, folder: Path) -> PaperSection:
    picture = f"{entry.name}.svg"
    return PaperSection(entry.table, entry.grid(), picture if draw_entry(entry, folder / picture) else "")


def _facts(experiments: list[Results]) -> tuple[str, ...]:
    ran = [results for results in experiments if results.scored]
    old = {results.name: results.out_of_date for results in ran if results.out_of_date}
    named = (f"{name} ({len(systems)} of its systems)" for name, systems in old.items())
    return (
        f"Numbers from {'; '.join(results.title for results in ran)}." if ran else "No experiment has run yet.",
        *([f"Out of date, for code or settings have changed since they ran: {', '.join(named)}."] if old else ()),
        experiments[0].speeds.note(),
        MARKS,
    )
