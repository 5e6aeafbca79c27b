"""The table of an experiment's systems, as `context-nmt repro` prints it at its end."""

import sys
from collections.abc import Collection

from rich import box
from rich.console import Console
from rich.table import Table

from context_nmt.measures.rows import SUMMED
from context_nmt.progress import on_terminal
from context_nmt.report.formats import render
from context_nmt.report.papers.all_systems import System, systems_grid
from context_nmt.report.tables import Grid
from context_nmt.results.reading import read_results
from context_nmt.settings.parameters import Experiment

WIDE = 200  # characters, where lines are not of a terminal


def print_results(experiment: Experiment, out_of_date: Collection[str] = ()) -> None:
    """Print the main results, and the files with all of them, as paths from the current folder.

    `old` are the variants that are out of date.
    """
    if experiment.results.is_file():
        results, terminal = read_results(experiment, out_of_date=out_of_date), on_terminal(sys.stdout)
        accuracies = [one for one in results.measures if one.metric == SUMMED and one.tag != "all"]
        accuracies = [one for one in accuracies if not one.tag.startswith("distance_")]
        grid = systems_grid([System(name, results) for name in results.models], results, accuracies)
        print(results.title)
        if grid:
            _print(
                grid, Console(force_terminal=terminal, width=None if terminal else WIDE, markup=False, highlight=False)
            )
        print(render("overview.j2", results=results, signature=grid.notes[-1] if grid else None), end="")
    else:
        print(f"{experiment.results}: no results yet")
    for path in (experiment.results_page, experiment.reports / "report.html"):
        if path.is_file():
            print(f"see {path}")


def _print(grid: Grid, console: Console) -> None:
    """Print the columns that are not empty and fit, without those that are the same within an experiment."""
    known = [place for place, one in enumerate(grid.headings) if one.title not in ("paper", "seeds")]
    places = [place for place in known if any(row.cells[place].text.strip() for row in grid.rows)]
    for count in range(len(places), 0, -1):
        table = Table(box=box.SIMPLE_HEAD, show_edge=False)
        table.add_column("\nSystem", no_wrap=True)
        earlier_group = ""
        for heading in (grid.headings[place] for place in places[:count]):
            group = "" if heading.group == earlier_group else heading.group
            table.add_column(f"{group}\n{heading.title}", justify="right", no_wrap=True)
            earlier_group = heading.group
        for row in grid.rows:
            table.add_row(row.label, *(row.cells[place].text for place in places[:count]))
        if console.measure(table, options=console.options.update(max_width=WIDE * 10)).maximum <= console.width:
            break
    console.print(table)
