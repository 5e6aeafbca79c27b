"""The main results of an experiment as `context-nmt repro` prints them."""

import sys

from rich import box
from rich.console import Console
from rich.table import Table

from context_nmt.measures.rows import Measure
from context_nmt.progress import on_terminal
from context_nmt.report.grid import Grid, grid_of
from context_nmt.report.pages.page import rows_of
from context_nmt.results.reading import read_results
from context_nmt.results.table import Results
from context_nmt.settings.folder import Experiment

WIDE = 200  # characters, where lines are not of a terminal


def print_results(experiment: Experiment) -> None:
    """Print the overview, and the files with all results, as paths from the current folder."""
    grid = overview(read_results(experiment)) if experiment.results.is_file() else None
    if grid:
        terminal = on_terminal(sys.stdout)
        print(grid.title)
        table = Table(box=box.SIMPLE_HEAD, show_edge=False)
        table.add_column(grid.head)
        for title in grid.titles:
            table.add_column(title, justify="right")
        for row in grid.rows:
            table.add_row(row.label, *(cell.text for cell in row.cells))
        Console(force_terminal=terminal, width=None if terminal else WIDE, markup=False, highlight=False).print(table)
    else:
        print(f"{experiment.results}: no results yet")
    for path in (experiment.results_page, experiment.reports / "report.html"):
        if path.is_file():
            print(f"see {path}")


def overview(results: Results) -> Grid | None:
    """Return the scores on the first test set that is not the validation set, if there are any."""
    corpus, tested = results.settings.corpus, results.settings.significance.metric
    test_set = next((name for name in corpus.tests if name != corpus.validation), corpus.tests[0])
    measures = [Measure(test_set, metric) for metric in (tested, "chrf")]
    measures = [measure for measure in measures if measure in results.measures]
    title = f"{results.title}, {test_set}; in brackets: the difference from the baseline, † p < 0.05, ‡ p < 0.01"
    rows = rows_of(results, [name for name in results.models if name in results.scored], measures)
    return grid_of(title, [measure.metric for measure in measures], rows) if measures else None
