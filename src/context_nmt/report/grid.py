"""A table of the report, the same for every format that it is written in."""

from dataclasses import dataclass

DASH = "–"  # noqa: RUF001 (as wide as a digit)


@dataclass(frozen=True)
class Cell:
    """One number as it is printed, and as numbers for the CSV; `command` would fill one that is missing."""

    text: str
    value: float | None = None
    deviation: float | None = None
    seeds: int | None = None
    difference: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    command: str = ""


NOTHING = Cell(DASH)  # where no number can be


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

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[GridRow, ...]
    fills: tuple[Fill, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The headings above the columns, each with how many columns it spans."""
        found: list[tuple[str, int]] = []
        for column in self.columns:
            if found and found[-1][0] == column.group:
                found[-1] = (column.group, found[-1][1] + 1)
            else:
                found.append((column.group, 1))
        return found
