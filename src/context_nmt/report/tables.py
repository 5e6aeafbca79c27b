"""Tables of pages, independent of their format, with numbers as printed and as plain values."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby

import pandas as pd

from context_nmt.results.metrics import format_difference, format_interval, significance_mark
from context_nmt.results.table import Difference, Estimate

DASH = "–"  # noqa: RUF001 (as wide as a digit)
TIMES = "×"  # noqa: RUF001


CELL_COLUMNS = (  # of a table's CSV file, which has a row per cell
    *("system", "variant", "group", "column", "text", "value", "deviation", "seeds"),
    *("difference", "interval_low", "interval_high", "p"),
)


@dataclass(frozen=True)
class Cell:
    """A cell: its text, and its plain values."""

    text: str
    value: float | None = None
    deviation: float | None = None
    seeds: int | None = None
    difference: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None

    @property
    def has_number(self) -> bool:
        """Whether it has a value or a difference."""
        return self.value is not None or self.difference is not None


DASH_CELL = Cell(DASH)
EMPTY_CELL = Cell("")  # not published, or not measured for this system


def estimate_cell(number: Estimate | None, decimals: int = 2, *, against: str = "", with_gain: bool = True) -> Cell:
    """Return the mean and deviation over seeds and, in brackets, the difference from the baseline with its mark.

    `against` names the baseline if it is not the expected baseline.
    """
    if number is None:
        return DASH_CELL
    text, deviation, seeds = f"{number.mean:.{decimals}f}", None, number.seeds
    if seeds > 1:
        deviation = number.deviation
        text += f" ± {deviation:.{decimals}f}"
    if number.gain is None or not with_gain:
        return Cell(text, number.mean, deviation, seeds)
    gain = number.gain
    text += (
        f" ({format_difference(gain.mean, decimals)}{significance_mark(gain.p)}{f' to {against}' if against else ''})"
    )
    return Cell(text, number.mean, deviation, seeds, gain.mean, gain.interval, gain.p)


def gain_cells(gain: Difference | None) -> tuple[Cell, Cell]:
    """Return a cell with a difference and its mark, and a cell with its interval over seeds."""
    if gain is None:
        return DASH_CELL, DASH_CELL
    cell = Cell(
        format_difference(gain.mean) + significance_mark(gain.p), difference=gain.mean, interval=gain.interval, p=gain.p
    )
    return cell, Cell(format_interval(*gain.interval), interval=gain.interval) if gain.interval else DASH_CELL


def value_cell(value: float | None, form: str) -> Cell:
    """Format a number in a form such as "{:,.1f}"; return a dash if it is missing."""
    if value is None:
        return DASH_CELL
    return Cell(form.format(value).replace("-", "−"), value=round(value, 4))  # noqa: RUF001


@dataclass(frozen=True)
class Heading:
    """The heading of a column; adjacent columns of one group share a heading above their own."""

    group: str
    title: str
    is_text: bool = False  # its cells are text, which is aligned to the left


@dataclass(frozen=True)
class GridRow:
    """A system with its cells, one per column."""

    label: str
    variant: str | None
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Grid:
    """A table with systems in its first column; `name` is the name of its files."""

    title: str
    headings: tuple[Heading, ...]
    rows: tuple[GridRow, ...]
    name: str = ""
    notes: tuple[str, ...] = ()

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The groups' headings, each with its number of columns."""
        return [(group, len([*members])) for group, members in groupby(heading.group for heading in self.headings)]

    @property
    def titles(self) -> list[str]:
        """The headings of columns, each with its group's heading on one line."""
        return [f"{heading.group}: {heading.title}".removeprefix(": ") for heading in self.headings]

    @property
    def is_wide(self) -> bool:
        """Whether pages show a line per column: it has as many columns as rows or more, all of numbers."""
        return len(self.headings) >= len(self.rows) and not any(heading.is_text for heading in self.headings)

    @property
    def lines(self) -> list[list[str]]:
        """The cells of its lines in Markdown."""
        if not self.is_wide:
            dashes = ["---" if heading.is_text else "---:" for heading in self.headings]
            rows = [[row.label, *(cell.text for cell in row.cells)] for row in self.rows]
            return [["System", *self.titles], ["---", *dashes], *rows]
        lines, group = [["System", *(row.label for row in self.rows)], ["---", *["---:"] * len(self.rows)]], ""
        for column, heading in enumerate(self.headings):
            lines += [[f"**{heading.group}**", *[""] * len(self.rows)]] if heading.group != group else []
            lines.append([heading.title, *(row.cells[column].text for row in self.rows)])
            group = heading.group
        return lines

    def without_gaps(self) -> "Grid":
        """Return the table without rows and columns that lack numbers, and columns that repeat another's numbers."""
        numbers = [
            {number: row.cells[column].text for number, row in enumerate(self.rows) if row.cells[column].has_number}
            for column in range(len(self.headings))
        ]
        kept: list[int] = []
        for column in sorted(range(len(numbers)), key=lambda column: -len(numbers[column])):
            title = self.headings[column].title
            same = (other for other in kept if self.headings[other].title == title)
            if numbers[column] and not any(numbers[column].items() <= numbers[other].items() for other in same):
                kept.append(column)
        kept.sort()
        rows = (replace(row, cells=tuple(row.cells[column] for column in kept)) for row in self.rows)
        return replace(
            self,
            headings=tuple(self.headings[column] for column in kept),
            rows=tuple(row for row in rows if any(cell.has_number for cell in row.cells)),
        )

    def numbers(self) -> pd.DataFrame:
        """Return a frame with a row of CELL_COLUMNS per cell."""
        cells = [
            {"system": row.label, "variant": row.variant, "group": heading.group, "column": heading.title}
            | asdict(cell)
            | dict(zip(("interval_low", "interval_high"), cell.interval or (None, None), strict=True))
            for row in self.rows
            for heading, cell in zip(self.headings, row.cells, strict=True)
        ]
        return pd.DataFrame(cells, columns=list(CELL_COLUMNS)).convert_dtypes()


def make_grid(
    title: str,
    columns: Iterable[str],
    rows: Iterable[tuple[str, Sequence[Cell]]],
    *,
    text_columns: Collection[str] = (),
) -> Grid:
    """Build a table without groups from column titles, of which some have text, and rows of a label and cells."""
    headings = tuple(Heading("", column, column in text_columns) for column in columns)
    return Grid(title, headings, tuple(GridRow(label, None, tuple(cells)) for label, cells in rows))
