"""Write an experiment's tables of results, pages, pictures and report."""

import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from context_nmt.files import replacing_folder
from context_nmt.progress import tracked
from context_nmt.report.all_systems import systems_grid, systems_of_one_recipe
from context_nmt.report.analyses import PAGE_TITLES, analyses_page, draw_analyses
from context_nmt.report.claim_rows import (
    DETAIL_COLUMNS,
    JUDGED_ELSEWHERE,
    SUMMARY_COLUMNS,
    ClaimRow,
    claim_rows,
    counts_of,
    write_claims,
)
from context_nmt.report.comparison import REPLICA_NOTE, Comparison, comparisons_of
from context_nmt.report.formats import write_grid, write_page
from context_nmt.report.further_verdicts import PILOT_SEEDS
from context_nmt.report.pages import results_page
from context_nmt.report.pictures import draw_claims, draw_comparison, draw_costs, draw_learning_curves
from context_nmt.report.published import BLEU_MARGIN, Paper, Preregistration, papers_judged_by, read_papers
from context_nmt.report.verdicts import DECIDED, SEEDS_FOR_VERDICT
from context_nmt.results.metrics import format_seeds
from context_nmt.results.reading import read_all, read_results, write_results
from context_nmt.results.table import Results
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
        """The few claims that the paper rests on."""
        return [row for row in self.rows if row.family == "primary"]

    @property
    def shown(self) -> list[Comparison]:
        """The tables on its page."""
        left_out = [name for names in self.left_out.values() for name in names]
        return [comparison for comparison in self.comparisons if comparison.table.id not in left_out]

    @property
    def left_out(self) -> dict[str, list[str]]:
        """The tables that are only files, by the reason."""
        with_numbers = [comparison.table for comparison in self.comparisons if comparison.page_grid.headings]
        tables = [comparison.table for comparison in self.comparisons]
        return {
            "No number, published or ours": [table.id for table in tables if table not in with_numbers],
            "Too wide for a page": [table.id for table in with_numbers if table.is_by_layer_and_tag],
        }

    @property
    def reasons(self) -> list[str]:
        """Why the numbers of some claims do not answer them; each reason once."""
        withdrawn = [row for row in self.rows if row.is_withdrawn]
        return [*{row.reason: f"{row.kind}, {row.caveat}: {row.reason}" for row in withdrawn}.values()]

    @property
    def counts(self) -> str:
        """The number of claims with each verdict, by what they are about."""
        by_subject: dict[str, list[ClaimRow]] = {}
        for row in self.rows:
            by_subject.setdefault(row.subject, []).append(row)
        return "; ".join(f"{subject}: {', '.join(counts_of(rows))}" for subject, rows in by_subject.items()) + "."

    @property
    def preregistered(self) -> str:
        """The commits, the seeds and the counts of the preregistered claims judged here; empty if there are none."""
        plans = {claim.says: claim.preregistration for claim in self.paper.claims}
        rows_by_plan: dict[Preregistration, list[ClaimRow]] = {}
        for row in self.rows:
            if (plan := plans[row.says]) and row.preregistered and row.kind != JUDGED_ELSEWHERE:
                rows_by_plan.setdefault(plan, []).append(row)
        looks = []
        for plan, rows in rows_by_plan.items():
            claims = " and ".join(f"“{row.says}”" for row in rows)
            look = "" if plan == self.paper.preregistration else f" in a second look at {claims},"
            counts = "; ".join(counts_of(rows))
            looks.append(f"{look} in commit {plan.commit}, {format_seeds(plan.seeds)} ({counts})")
        return self.paper.name + ", and".join(looks) if looks else ""

    @property
    def rerun(self) -> str:
        """What a rerun judges, in a sentence; empty for other reports."""
        plan = self.paper.preregistration
        if not plan or not plan.rerun_of:
            return ""
        rows = [row for row in self.rows if row.kind != JUDGED_ELSEWHERE]
        return (
            f"Preregistered runs of {plan.rerun_of} were trained again here: {format_seeds(plan.seeds)}. The claims of"
            f" {self.paper.name} on these systems are judged on these seeds alone, as if they were a first look"
            f" ({'; '.join(counts_of(rows))}). It is not a replication, because the seeds are the same."
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader of the preregistered claims must know."""
        plan = self.paper.preregistration
        return plan.remarks if plan and (self.preregistered or self.rerun) else ()

    @property
    def after_pilot(self) -> str:
        """How many differences have the sign, and how many decided claims the verdict, that the pilot gave them."""
        pairs = [(row, row.pilot) for row in self.rows if row.pilot and not row.reason]
        if not pairs:
            return ""
        signs = sum((row.difference or 0.0) * pilot.difference > 0 for row, pilot in pairs)
        decided = [(row, pilot) for row, pilot in pairs if pilot.verdict in DECIDED]
        held = sum(row.verdict == pilot.verdict for row, pilot in decided)
        return (
            f"After the pilot ({PILOT_SEEDS}, the old recipe), {signs} of {len(pairs)} differences have the same sign;"
            f" it would have decided {len(decided)} of these claims, {held} of them with today's verdict."
        )


def write_tables(experiment: Experiment, out_of_date: Collection[str] = ()) -> None:
    """Write results.{json,csv,md} under metrics/ and reports/pages; some variants are marked as out of date.

    Raise UserError for a broken file.
    """
    results = read_results(experiment, out_of_date=out_of_date)
    write_results(results)
    write_page(experiment.results_page, "results.md.j2", page=results_page(results))
    with replacing_folder(experiment.reports / "pages") as folder:
        figures = folder / "figures"
        draw_learning_curves(results, figures / "learning_curves.svg")
        pictures = draw_analyses(results, figures)
        for name in PAGE_TITLES:
            write_page(folder / f"{name}.md", "page.md.j2", page=analyses_page(results, name, pictures))


def write_report(experiment: Experiment, out_of_date: Collection[str] = ()) -> None:
    """Write claims.{json,csv} under metrics/, and report.md, report.html, papers/, tables/ and figures/ under reports/.

    papers/ has a page per paper, report.html all of them with all pictures, figures/ those of the Markdown pages. Some
    variants are marked as out of date. Raise UserError for a broken file.
    """
    experiments = read_all(experiment, out_of_date)
    own = experiments[0]
    papers = papers_judged_by(own, read_papers())
    rows = claim_rows(papers, experiments)
    write_claims(experiment, rows)
    in_tables = _without_parts(experiments)
    chapters = [
        Chapter(name, paper, [row for row in rows if row.paper == paper.name], comparisons_of(name, paper, in_tables))
        for name, paper in papers.items()
    ]
    if own.folder:  # an experiment's own report has only the papers that it has numbers for
        chapters_with_numbers = [
            chapter for chapter in chapters if chapter.rows or any(table.reproductions for table in chapter.comparisons)
        ]
        chapters = chapters_with_numbers or chapters
    comparisons = [comparison for chapter in chapters for comparison in chapter.comparisons]
    shown = [comparison for chapter in chapters for comparison in chapter.shown]
    systems = systems_of_one_recipe(papers, in_tables)
    all_systems = systems_grid(systems)
    corpus = experiment.settings.corpus
    replicated = [
        reproduction.results
        for comparison in comparisons
        for reproduction in comparison.reproductions
        if reproduction.is_replica
    ]
    replicas = [results for results in experiments if results.measured_systems and results in replicated]
    models = [
        results.models[name] for results in replicas for name in results.models if name in results.measured_systems
    ]
    draws = {
        "headlines": partial(draw_claims, {chapter.paper.name: chapter.primary for chapter in chapters}),
        "costs": partial(draw_costs, systems, own.models),
        **{comparison.name: partial(draw_comparison, comparison) for comparison in shown},
    }
    with TemporaryDirectory() as directory:
        paths = {name: Path(directory) / f"{name}.svg" for name in draws}
        drawn = tracked(draws.items(), "pictures", len(draws), "pictures")
        pictures = {name: paths[name] for name, draw in drawn if draw(paths[name])}
        values = {
            "subject": f"{corpus.name} {corpus.direction}",
            "experiments": experiments,
            "replicas": replicas,
            "sizes": [model["parameters"] / 1e6 for model in models],
            "rows": rows,
            "counts_of": counts_of,
            "summary_columns": SUMMARY_COLUMNS,
            "detail_columns": DETAIL_COLUMNS,
            "seeds": SEEDS_FOR_VERDICT,
            "margin": BLEU_MARGIN,
            "pilot_seeds": PILOT_SEEDS,
            "replica": REPLICA_NOTE if replicated else "",
            "chapters": chapters,
            "pictures": pictures,
            "all_systems": all_systems,
        }
        for suffix in ("md", "html"):
            write_page(experiment.reports / f"report.{suffix}", f"report.{suffix}.j2", **values)
        with replacing_folder(experiment.reports / "papers") as folder:
            for chapter in chapters:
                write_page(folder / f"{chapter.name}.md", "paper.md.j2", chapter=chapter, **values)
        headlines = [comparison.name for comparison in shown if comparison.table.headline]
        with replacing_folder(experiment.reports / "figures") as folder:
            for name in ("headlines", "costs", *headlines):
                if name in pictures:
                    shutil.copy(pictures[name], folder)
    with replacing_folder(experiment.reports / "tables") as folder:
        for grid in (*(comparison.grid for comparison in comparisons), all_systems):
            if grid:
                write_grid(folder, grid)


def _without_parts(experiments: Sequence[Results]) -> list[Results]:
    """Leave out experiments that have only some of another one's systems, with the same recipe; keep the first."""
    first, *others = experiments

    def is_part(results: Results) -> bool:
        wholes = (other for other in others if other.recipe == results.recipe)
        return any(results.measured_systems < whole.measured_systems for whole in wholes)

    return [first, *(results for results in others if not is_part(results))]
