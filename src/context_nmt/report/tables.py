"""Writes the results of an experiment: JSON, CSV, Markdown and figures; beside them, papers."""

import csv
from collections.abc import Iterable
from pathlib import Path

from context_nmt.files import replacing, replacing_folder, write_json
from context_nmt.report.analysed.discourse import format_discourse
from context_nmt.report.analysed.figures import draw_analyses
from context_nmt.report.analysed.page import format_analyses
from context_nmt.report.analysed.probe_figures import draw_probes
from context_nmt.report.analysed.probes import format_probes
from context_nmt.report.figures import draw_learning_curves, draw_scores
from context_nmt.report.markdown import format_results
from context_nmt.report.papers.curves import draw_curves
from context_nmt.report.papers.figures import draw_gains
from context_nmt.report.papers.pages import format_papers
from context_nmt.report.papers.published import read_papers
from context_nmt.report.papers.replicas import set_paper_beside
from context_nmt.report.papers.rows import COLUMNS as PAPER_COLUMNS
from context_nmt.report.papers.rows import paper_rows
from context_nmt.report.rescored import format_rescored
from context_nmt.results.table import Results, read_results
from context_nmt.settings.folder import Experiment

COLUMNS = (
    *("variant", "test_set", "metric", "mean", "deviation", "seeds"),
    *("baseline", "difference", "interval_low", "interval_high", "p"),
)


def write_tables(experiment: Experiment) -> None:
    """Write results.*, analyses.*, the other pages and figures/ under metrics/; raises UserError for a gap."""
    results, metrics = read_results(experiment), experiment.metrics
    papers = read_papers()
    tables = {name: set_paper_beside(paper, results) for name, paper in papers.items()}
    write_json(metrics / "results.json", results.as_json())
    _write_csv(metrics / "results.csv", COLUMNS, (_row(results, *names) for names in results.rows()))
    _write_csv(metrics / "analyses.csv", COLUMNS, (_row(results, *names) for names in results.measured_rows()))
    rows = (row for name, besides in tables.items() for beside in besides for row in paper_rows(name, beside))
    _write_csv(metrics / "papers.csv", PAPER_COLUMNS, rows)
    with replacing_folder(metrics / "figures") as folder:
        draw_scores(results, folder / "bleu.svg")
        draw_learning_curves(experiment, folder / "learning_curves.svg")
        pictures = draw_analyses(results, folder)
        probed = draw_probes(experiment, results, folder)
        for name, besides in tables.items():
            draw_gains(papers[name], besides, folder / f"{name}.svg")
            draw_curves(papers[name], besides, folder / f"{name}_curves.svg")
    pages = {
        "results.md": format_results(results, format_rescored(experiment, results)),
        "analyses.md": format_analyses(results, pictures),
        "discourse.md": format_discourse(experiment, results),
        "probes.md": format_probes(experiment, results, probed),
        "papers.md": format_papers([(papers[name], besides) for name, besides in tables.items()], results),
    }
    for name, text in pages.items():
        with replacing(metrics / name) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="")


def _write_csv(path: Path, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def _row(results: Results, variant: str, test_set: str, metric: str) -> list[object]:
    summary = results.summary(variant, test_set, metric) or dict.fromkeys(("mean", "deviation", "seeds"))
    difference = results.difference(variant, test_set, metric)
    gain = (difference.mean, *(difference.interval or (None, None)), difference.p) if difference else (None,) * 4
    return [variant, test_set, metric, *summary.values(), results.settings.variants[variant].baseline, *gain]
