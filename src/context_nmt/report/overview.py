"""The table of an experiment's systems that `context-nmt repro` prints at its end."""

import sys
from collections.abc import Collection

from rich import box
from rich.console import Console
from rich.table import Table

from context_nmt.measures.rows import SUMMED
from context_nmt.progress import on_terminal
from context_nmt.report.all_systems import System, systems_grid
from context_nmt.report.formats import render
from context_nmt.report.tables import Grid
from context_nmt.results.reading import read_results
from context_nmt.settings.parameters import Experiment

WIDTH_OF_FILES = 200  # characters, where the output is not a terminal


def print_results(experiment: Experiment, out_of_date: Collection[str] = ()) -> None:
    """Print the main results, and the paths of the files with all results, from the current folder.

    Variants that are out of date are marked.
    """
    if experiment.results.is_file():
        results, terminal = read_results(experiment, out_of_date=out_of_date), on_terminal(sys.stdout)
        accuracies = [measure for measure in results.measures if measure.metric == SUMMED and measure.tag != "all"]
        accuracies = [measure for measure in accuracies if not measure.tag.startswith("distance_")]
        grid = systems_grid([System(name, results) for name in results.tested_systems], accuracies)
        print(results.title)
        if grid:
            _print_grid(
                grid,
                Console(
                    force_terminal=terminal, width=None if terminal else WIDTH_OF_FILES, markup=False, highlight=False
                ),
            )
        print(render("overview.j2", results=results, signature=grid.notes[-1] if grid else None), end="")
    else:
        print(f"{experiment.results}: no results yet")
    for path in (experiment.results_page, experiment.reports / "report.html"):
        if path.is_file():
            print(f"see {path}")


def _print_grid(grid: Grid, console: Console) -> None:
    """Print the columns that are not empty, as many as fit, without those that are equal for all systems."""
    shown_columns = [column for column, heading in enumerate(grid.headings) if heading.title not in ("paper", "seeds")]
    filled_columns = [column for column in shown_columns if any(row.cells[column].text.strip() for row in grid.rows)]
    for count in range(len(filled_columns), 0, -1):
        table = Table(box=box.SIMPLE_HEAD, show_edge=False)
        table.add_column("\nSystem", no_wrap=True)
        earlier_group = ""
        for heading in (grid.headings[column] for column in filled_columns[:count]):
            group = "" if heading.group == earlier_group else heading.group
            table.add_column(f"{group}\n{heading.title}", justify="right", no_wrap=True)
            earlier_group = heading.group
        for row in grid.rows:
            table.add_row(row.label, *(row.cells[column].text for column in filled_columns[:count]))
        if (
            console.measure(table, options=console.options.update(max_width=WIDTH_OF_FILES * 10)).maximum
            <= console.width
        ):
            break
    console.print(table)
