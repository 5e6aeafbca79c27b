"""Write the table of results, the pages, the pictures and the report of an experiment."""

import shutil
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from context_nmt.files import replacing_folder
from context_nmt.progress import tracked
from context_nmt.report.analyses import PAGES, analyses_page, draw_analyses
from context_nmt.report.formats import write_grid, write_page
from context_nmt.report.pages import results_page
from context_nmt.report.papers.all_systems import systems_grid, systems_of_one_recipe
from context_nmt.report.papers.claim_rows import (
    HEADS,
    LEGEND,
    SCREEN_HEADS,
    ClaimRow,
    claim_rows,
    counts_of,
    write_claims,
)
from context_nmt.report.papers.comparison import REPLICA, Comparison, comparisons_of
from context_nmt.report.papers.published import Paper, read_papers
from context_nmt.report.pictures import draw_claims, draw_comparison, draw_costs, draw_learning_curves
from context_nmt.results.reading import read_all, read_results, write_results
from context_nmt.settings.parameters import Experiment


@dataclass(frozen=True)
class Chapter:
    """A paper in the report."""

    name: str
    paper: Paper
    rows: list[ClaimRow]
    comparisons: list[Comparison]

    @property
    def primary(self) -> list[ClaimRow]:
        """The claims that the paper stands on."""
        return [row for row in self.rows if row.family == "primary"]

    @property
    def reasons(self) -> list[str]:
        """Why the numbers of some claims do not answer them, each reason once."""
        return list(dict.fromkeys(f"{row.kind}, {row.caveat}: {row.reason}" for row in self.rows if row.is_withdrawn))

    @property
    def counts(self) -> str:
        """The number of claims with each verdict."""
        return f"{'; '.join(counts_of(self.rows))}."


def write_tables(experiment: Experiment, out_of_date: Collection[str] = ()) -> None:
    """Write results.{json,csv,md} under metrics/ and reports/pages, which mark the variants that are out of date.

    Raise UserError for a broken file.
    """
    results = read_results(experiment, out_of_date=out_of_date)
    write_results(results)
    write_page(experiment.results_page, "results.md.j2", page=results_page(results))
    with replacing_folder(experiment.reports / "pages") as folder:
        figures = folder / "figures"
        draw_learning_curves(results, figures / "learning_curves.svg")
        pictures = draw_analyses(results, figures)
        for name in PAGES:
            write_page(folder / f"{name}.md", "page.md.j2", page=analyses_page(results, name, pictures))


def write_report(experiment: Experiment, out_of_date: Collection[str] = ()) -> None:
    """Write claims.{json,csv} under metrics/, and report.md, report.html, tables/ and figures/ under reports/.

    report.html holds all pictures; figures/ has those of report.md. `old` are the variants that are out of date. Raise
    UserError for a broken file.
    """
    experiments, papers = read_all(experiment, out_of_date), read_papers()
    rows = claim_rows(papers, experiments)
    write_claims(experiment, rows)
    chapters = [
        Chapter(name, paper, [row for row in rows if row.paper == paper.name], comparisons_of(name, paper, experiments))
        for name, paper in papers.items()
    ]
    if experiments[0].folder:  # an experiment's own report has only the papers that it can say something about
        known = [one for one in chapters if one.rows or any(table.reproductions for table in one.comparisons)]
        chapters = known or chapters
    comparisons = [comparison for chapter in chapters for comparison in chapter.comparisons]
    systems = systems_of_one_recipe(papers, experiments)
    all_systems = systems_grid(systems, experiments[0])
    corpus = experiment.settings.corpus
    replicated = [one.results for comparison in comparisons for one in comparison.reproductions if one.is_replica]
    replicas = [results for results in experiments if results.measured_systems and results in replicated]
    models = [
        results.models[name] for results in replicas for name in results.models if name in results.measured_systems
    ]
    draws = {
        "headlines": partial(draw_claims, {chapter.paper.name: chapter.primary for chapter in chapters}),
        "costs": partial(draw_costs, systems, experiments[0].models),
        **{comparison.name: partial(draw_comparison, comparison) for comparison in comparisons},
    }
    with TemporaryDirectory() as directory:
        paths = {name: Path(directory) / f"{name}.svg" for name in draws}
        drawn = tracked(draws.items(), "pictures", len(draws), "pictures")
        pictures = {name: paths[name] for name, draw in drawn if draw(paths[name])}
        values = {
            "title": f"Published results and ours: {corpus.name} {corpus.direction}",
            "experiments": experiments,
            "replicas": replicas,
            "sizes": [model["parameters"] / 1e6 for model in models],
            "rows": rows,
            "counts_of": counts_of,
            "screen_heads": SCREEN_HEADS,
            "legend": LEGEND,
            "replica": REPLICA if replicated else "",
            "chapters": chapters,
            "pictures": pictures,
            "all_systems": all_systems,
            "heads": HEADS,
        }
        for ending in ("md", "html"):
            write_page(experiment.reports / f"report.{ending}", f"report.{ending}.j2", **values)
        headlines = [comparison.name for comparison in comparisons if comparison.table.headline]
        with replacing_folder(experiment.reports / "figures") as folder:
            for name in ("headlines", "costs", *headlines):
                if name in pictures:
                    shutil.copy(pictures[name], folder)
    with replacing_folder(experiment.reports / "tables") as folder:
        for grid in (*(comparison.grid for comparison in comparisons), all_systems):
            if grid:
                write_grid(folder, grid)
