"""A table of a page, the same in every format; its numbers as they are printed, and as plain numbers for the CSV."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby

import pandas as pd

from context_nmt.results.metrics import format_difference, format_interval, significance_mark
from context_nmt.results.table import Difference, Estimate

DASH = "–"  # noqa: RUF001 (as wide as a digit)
TIMES = "×"  # noqa: RUF001


COLUMNS = (  # of the CSV file
    *("system", "variant", "group", "column", "text", "value", "deviation", "seeds"),
    *("difference", "interval_low", "interval_high", "p"),
)


@dataclass(frozen=True)
class Cell:
    """A number as text and as plain numbers."""

    text: str
    value: float | None = None
    deviation: float | None = None
    seeds: int | None = None
    difference: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None


NOTHING = Cell(DASH)
BLANK = Cell("")  # not published, or not measured for this system


def estimate_cell(number: Estimate | None, decimals: int = 2, *, against: str = "", with_gain: bool = True) -> Cell:
    """Return the mean and deviation over seeds and, in brackets, the difference from the baseline with its mark.

    `against` names the baseline if it is not the expected one.
    """
    if number is None:
        return NOTHING
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
    """Return a difference with its mark, and its interval over seeds."""
    if gain is None:
        return NOTHING, NOTHING
    cell = Cell(
        format_difference(gain.mean) + significance_mark(gain.p), difference=gain.mean, interval=gain.interval, p=gain.p
    )
    return cell, Cell(format_interval(gain.interval), interval=gain.interval) if gain.interval else NOTHING


def value_cell(value: float | None, form: str) -> Cell:
    """Format a number, with a form such as "{:,.1f}"; return a dash if it is missing."""
    if value is None:
        return NOTHING
    return Cell(form.format(value).replace("-", "−"), value=round(value, 4))  # noqa: RUF001


@dataclass(frozen=True)
class Heading:
    """The heading of a column; adjacent columns of one group share a heading above their own."""

    group: str
    title: str
    is_text: bool = False  # its cells are words, which are aligned to the left

    @property
    def alignment(self) -> str:
        """The dashes below the heading in Markdown, which align its column."""
        return "---" if self.is_text else "---:"


@dataclass(frozen=True)
class GridRow:
    """A system with its cells, one per column."""

    label: str
    variant: str | None
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Grid:
    """A table whose first column holds systems; `name` is the name of its files."""

    title: str
    headings: tuple[Heading, ...]
    rows: tuple[GridRow, ...]
    name: str = ""
    notes: tuple[str, ...] = ()

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The headings of groups, each with the number of its columns."""
        return [(group, len([*members])) for group, members in groupby(heading.group for heading in self.headings)]

    @property
    def titles(self) -> list[str]:
        """The headings of columns with those of their groups, one line each."""
        return [f"{heading.group}: {heading.title}".removeprefix(": ") for heading in self.headings]

    def numbers(self) -> pd.DataFrame:
        """Return a row of COLUMNS per cell."""
        cells = [
            {"system": row.label, "variant": row.variant, "group": heading.group, "column": heading.title}
            | asdict(cell)
            | dict(zip(("interval_low", "interval_high"), cell.interval or (None, None), strict=True))
            for row in self.rows
            for heading, cell in zip(self.headings, row.cells, strict=True)
        ]
        return pd.DataFrame(cells, columns=list(COLUMNS)).convert_dtypes()


def grid_of(
    title: str, columns: Iterable[str], rows: Iterable[tuple[str, Sequence[Cell]]], *, words: Collection[str] = ()
) -> Grid:
    """Build a table without groups from column titles and rows of a label and cells; `words` are columns of text."""
    headings = tuple(Heading("", column, column in words) for column in columns)
    return Grid(title, headings, tuple(GridRow(label, None, tuple(cells)) for label, cells in rows))
