"""The table of README.md, as `context-nmt repro` prints it at its end."""

import sys

from rich import box
from rich.console import Console
from rich.table import Table

from context_nmt.progress import on_terminal
from context_nmt.report.pages.results import front_page
from context_nmt.results.reading import read_results
from context_nmt.settings.folder import Experiment

WIDE = 200  # characters, where lines are not of a terminal


def print_results(experiment: Experiment) -> None:
    """Print the main results, and the files with all of them, as paths from the current folder."""
    if experiment.results.is_file():
        page, terminal = front_page(read_results(experiment)), on_terminal(sys.stdout)
        ((grid,),) = (section.grids for section in page.sections)
        print(page.title)
        table = Table(box=box.SIMPLE_HEAD, show_edge=False)
        table.add_column(grid.head)
        for title in grid.titles:
            table.add_column(title, justify="right")
        for row in grid.rows:
            table.add_row(row.label, *(cell.text for cell in row.cells))
        Console(force_terminal=terminal, width=None if terminal else WIDE, markup=False, highlight=False).print(table)
        print(f"{page.introduction} Signature: {', '.join(page.signatures)}")
    else:
        print(f"{experiment.results}: no results yet")
    for path in (experiment.results_page, experiment.reports / "report.html"):
        if path.is_file():
            print(f"see {path}")
