"""analyses.md: what goes on inside systems."""

from collections.abc import Collection

from context_nmt.measures.rows import TEXT, Measure
from context_nmt.report.cells import number_cell
from context_nmt.report.grid import Grid, grid_of
from context_nmt.report.pages.page import Page, Section, heading, introduction
from context_nmt.report.pages.sections import TABLES, Tables
from context_nmt.results.table import Results, places


def inside_page(results: Results, pictures: Collection[str]) -> Page:
    """Build a table per metric and test set; `pictures` are the names of those that figures/ has."""
    sections = []
    for tables in TABLES:
        grids = tuple(grid for test_set in results.test_sets if (grid := _grid(results, tables, test_set)).columns)
        picture = tables.name if tables.name in pictures else ""
        sections.append(Section(tables.title, tables.text if grids else tables.absent, picture, grids))
    return Page(heading(results, "Inside the systems"), introduction(results, ""), tuple(sections))


def _grid(results: Results, tables: Tables, test_set: str) -> Grid:
    known = {measure for measure in results.measures if measure.test_set == test_set}
    metrics = [metric for metric, _ in tables.parts]
    columns: dict[str, tuple[str, int | None, str]] = {
        title: (other, None, "")
        for other, title in tables.wholes
        if any(Measure(test_set, other or metric) in known for metric in metrics)
    }
    for place in places(results, test_set, metrics, tables.by):
        layer, tag = (place, "") if isinstance(place, int) else (None, place)
        columns[tables.column.format(place) + _count(results, tables, test_set, tag)] = ("", layer, tag)
    rows = []
    for variant in results.models:
        for metric, part in tables.parts:
            measures = [Measure(test_set, other or metric, layer, tag) for other, layer, tag in columns.values()]
            numbers = [results.number(variant, measure) for measure in measures]
            if any(numbers) or not tables.of_few:
                label = results.settings.label(variant) + (f": {part}" if part else "")
                rows.append((label, [number_cell(number, tables.decimals) for number in numbers]))
    return grid_of(test_set, list(columns), rows)


def _count(results: Results, tables: Tables, test_set: str, tag: str) -> str:
    """How much a column is about, which is the same for all systems."""
    found = results.of(TEXT, Measure(test_set, tables.counts[0], tag=tag)) if tables.counts else None
    return "" if found is None or tables.counts is None else f", {found:,g} {tables.counts[1]}"
