"""Write the table of results, the pages, the pictures and the report of an experiment."""

import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from context_nmt.files import replacing_folder
from context_nmt.progress import tracked
from context_nmt.report.analyses import analyses_page, draw_analyses
from context_nmt.report.formats import write_grid, write_page
from context_nmt.report.pages import documents_page, results_page
from context_nmt.report.papers.all_systems import all_systems_grid, systems_of_one_recipe
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
from context_nmt.report.probes import draw_probes, probes_page
from context_nmt.report.tables import DASH, TIMES
from context_nmt.results.reading import read_all, read_results, write_results
from context_nmt.results.table import Results
from context_nmt.settings.parameters import Experiment

MARKS = (
    "± is the sample standard deviation over seeds. In brackets is the difference from the system's baseline or, with"
    f" {TIMES}, the ratio to it. † p < 0.05 and ‡ p < 0.01 in the system's own test (paired bootstrap or sign test,"
    f" two-sided), with every seed; an untested difference has no mark. A dash ({DASH}) means that the system has"
    " not run; below the table are the commands of the experiments that lack systems, and ONLY=SYSTEM runs one of"
    " them. An empty cell has no published number, or the system was not measured: `make speed` measures the systems"
    " of benchmarks/params.yaml, and probes are trained for those under probing in an experiment's params.yaml."
    " “Cited” systems are those of other papers."
)
PILOT = (
    "The primary claims were chosen after these seeds had been seen, so the verdicts are a pilot's. “Cannot be"
    " tested here” says nothing about a paper: the runs do not answer the claim, or there are none."
)


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


def write_tables(experiment: Experiment, old: Collection[str] = ()) -> None:
    """Write results.{json,csv,md} under metrics/ and reports/pages, which mark the variants that are out of date.

    Raise UserError for a broken file.
    """
    results = read_results(experiment, old=old)
    write_results(results)
    write_page(experiment.results_page, "page.md.j2", page=results_page(results))
    with replacing_folder(experiment.reports / "pages") as folder:
        figures = folder / "figures"
        draw_learning_curves(results, figures / "learning_curves.svg")
        pictures = [*draw_analyses(results, figures), *draw_probes(results, figures)]
        write_page(folder / "analyses.md", "page.md.j2", page=analyses_page(results, pictures))
        write_page(folder / "discourse.md", "page.md.j2", page=documents_page(results))
        write_page(folder / "probes.md", "page.md.j2", page=probes_page(results, pictures))


def write_report(experiment: Experiment, old: Collection[str] = ()) -> None:
    """Write claims.{json,csv} under metrics/, and report.md, report.html, tables/ and figures/ under reports/.

    report.html holds all pictures; figures/ has those of report.md. `old` are the variants that are out of date. Raise
    UserError for a broken file.
    """
    experiments, papers = read_all(experiment, old), read_papers()
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
    all_systems = all_systems_grid(systems, experiments[0])
    corpus = experiment.settings.corpus
    replicas = [one.results for comparison in comparisons for one in comparison.reproductions if one.is_replica]
    is_replicated = any(REPLICA in comparison.grid.notes for comparison in comparisons)
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
            "scope": _scope([results for results in experiments if results in replicas]),
            "summary": _summary(rows),
            "screen_heads": SCREEN_HEADS,
            "facts": [*_facts(experiments), *([REPLICA] if is_replicated else ()), LEGEND],
            "replica": REPLICA,
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


def _scope(experiments: Sequence[Results]) -> str:
    """Say in a sentence what experiments on other text than the papers' are; empty if there are none with results."""
    models = [(results, name) for results in experiments for name in results.models if name in results.scored]
    if not models:
        return ""
    sizes = [results.models[name]["parameters"] / 1e6 for results, name in models]
    corpora = dict.fromkeys(results.settings.corpus.name for results, _ in models)
    names = [f"{name} (generated text)" if name.startswith("miniature") else name for name in corpora]
    return (
        f"What these runs are: models of {min(sizes):.1f} to {max(sizes):.1f} million parameters on"
        f" {', '.join(names)}, not the papers' models and text. They can show the direction of a difference, not its"
        " published size."
    )


def _number(rows: Sequence[ClaimRow]) -> str:
    """Return how many claims and questions of ours there are."""
    questions = sum(row.is_question for row in rows)
    claims = f"{len(rows) - questions} claims"
    return f"{claims} and {questions} question{'s' if questions > 1 else ''} of ours" if questions else claims


def _summary(rows: Sequence[ClaimRow]) -> str:
    """Return how many claims have each verdict; empty without any."""
    families = {name: [row for row in rows if row.family == name] for name in ("primary", "secondary")}
    counts = [
        f"{name.capitalize()}: {_number(of_family)}: {'; '.join(counts_of(of_family))}."
        for name, of_family in families.items()
        if of_family
    ]
    return " ".join([*counts, PILOT]) if counts else ""


def _facts(experiments: list[Results]) -> list[str]:
    scored = [results for results in experiments if results.scored]
    stale = [
        f"{results.name or 'this experiment'} ({len(results.out_of_date)} of its systems)"
        for results in scored
        if results.out_of_date
    ]
    earlier = [results.name for results in scored if results.earlier_code]
    commits = ", ".join({results.earlier_code for results in scored} - {""})
    return [
        f"Numbers from {'; '.join(results.title for results in scored)}." if scored else "No experiment has run yet.",
        *([f"Out of date, because code or settings have changed since then: {', '.join(stale)}."] if stale else ()),
        *([f"Code of commit {commits}, not made again since then: {', '.join(earlier)}."] if earlier else ()),
        experiments[0].speeds.note(),
        MARKS,
    ]
