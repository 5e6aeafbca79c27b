"""A table of a page, the same for every format that it is written in."""

from dataclasses import dataclass
from itertools import groupby

import pandas as pd

from context_nmt.report.cells import Cell

COLUMNS = (  # of a table as plain numbers
    *("system", "variant", "group", "column", "text", "value", "deviation", "seeds"),
    *("difference", "interval_low", "interval_high", "p", "command"),
)


@dataclass(frozen=True)
class Column:
    """The head of a column; neighbours of one group share a heading above theirs."""

    group: str
    title: str


@dataclass(frozen=True)
class GridRow:
    """One system with its cells, one per column."""

    label: str
    variant: str | None
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Fill:
    """A command, and the systems whose missing cells it fills."""

    command: str
    systems: tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """One table; `name` names its files, the first column holds systems."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[GridRow, ...]
    name: str = ""
    head: str = "System"  # of the first column
    fills: tuple[Fill, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The headings above the columns, each with how many columns it spans."""
        return [(group, len(list(own))) for group, own in groupby(self.columns, key=lambda column: column.group)]

    @property
    def titles(self) -> list[str]:
        """The heads of the columns, on one line each."""
        return [f"{column.group}: {column.title}".removeprefix(": ") for column in self.columns]

    def texts(self) -> pd.DataFrame:
        """All cells as they are printed, a row per system."""
        return pd.DataFrame(
            [[cell.text for cell in row.cells] for row in self.rows],
            index=pd.Index([row.label for row in self.rows]),
            columns=pd.MultiIndex.from_tuples([(column.group, column.title) for column in self.columns]),
        )

    def numbers(self) -> pd.DataFrame:
        """A row of COLUMNS per cell."""
        rows = []
        for row in self.rows:
            for column, cell in zip(self.columns, row.cells, strict=True):
                rows.append(
                    (
                        *(row.label, row.variant, column.group, column.title, cell.text),
                        *(cell.value, cell.deviation, cell.seeds, cell.difference),
                        *(cell.interval or (None, None)),
                        *(cell.p, cell.command),
                    )
                )
        return pd.DataFrame(rows, columns=list(COLUMNS)).convert_dtypes()


def grid_of(title: str, columns: list[str], rows: list[tuple[str, list[Cell]]], head: str = "System") -> Grid:
    """A table without groups of columns: their titles, and rows of a label and cells."""
    return Grid(
        title=title,
        columns=tuple(Column("", one) for one in columns),
        rows=tuple(GridRow(label, None, tuple(cells)) for label, cells in rows),
        head=head,
    )
