"""The main table, as `context-nmt repro` prints it at its end."""

import sys
from collections.abc import Collection

from rich import box
from rich.console import Console
from rich.table import Table

from context_nmt.progress import on_terminal
from context_nmt.report.pages import COSTS, front_page
from context_nmt.results.reading import read_results
from context_nmt.settings.parameters import Experiment

WIDE = 200  # characters, where lines are not of a terminal


def print_results(experiment: Experiment, old: Collection[str] = ()) -> None:
    """Print the main results, and the files with all of them, as paths from the current folder.

    `old` are the variants that are out of date.
    """
    if experiment.results.is_file():
        page, terminal = front_page(read_results(experiment, old=old)), on_terminal(sys.stdout)
        ((grid,),) = (section.grids for section in page.sections)
        print(page.title)
        console = Console(force_terminal=terminal, width=None if terminal else WIDE, markup=False, highlight=False)
        costs = [place for place, title in enumerate(grid.titles) if title in COSTS]
        shown = [place for place in range(len(grid.titles)) if place not in costs]
        for places in (range(len(grid.titles)), *(shown[:count] for count in range(len(shown), 0, -1))):
            table = Table(box=box.SIMPLE_HEAD, show_edge=False)
            table.add_column("System", no_wrap=True)
            for place in places:
                table.add_column(grid.titles[place], justify="right", no_wrap=True)
            for row in grid.rows:
                table.add_row(row.label, *(row.cells[place].text for place in places))
            if console.measure(table, options=console.options.update(max_width=WIDE * 10)).maximum <= console.width:
                break
        console.print(table)
        print(f"{page.introduction} Signature: {', '.join(page.signatures)}")
    else:
        print(f"{experiment.results}: no results yet")
    for path in (experiment.results_page, experiment.reports / "report.html"):
        if path.is_file():
            print(f"see {path}")
