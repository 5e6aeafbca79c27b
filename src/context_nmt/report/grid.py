"""A table of a page, the same in every format."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby

import pandas as pd

from context_nmt.report.cells import Cell

COLUMNS = (  # of the CSV file
    *("system", "variant", "group", "column", "text", "value", "deviation", "seeds"),
    *("difference", "interval_low", "interval_high", "p", "command"),
)


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
    head: str = "System"  # heading of the first column
    fills: dict[str, list[str]] = field(default_factory=dict)  # by command, the systems whose empty cells it would fill
    notes: tuple[str, ...] = ()

    @property
    def fill_notes(self) -> list[str]:
        """The systems with empty cells, a note for those with the same commands, which would fill them."""
        commands: dict[str, list[str]] = {}
        for command, systems in self.fills.items():
            commands.setdefault("; ".join(systems), []).append(marked(command))
        return [f"Still empty: {systems}. To fill: {', '.join(filling)}" for systems, filling in commands.items()]

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The headings of groups, each with the number of its columns."""
        return [
            (group, len(list(members))) for group, members in groupby(self.headings, key=lambda heading: heading.group)
        ]

    @property
    def titles(self) -> list[str]:
        """The headings of columns with those of their groups, one line each."""
        return [f"{heading.group}: {heading.title}".removeprefix(": ") for heading in self.headings]

    def texts(self) -> pd.DataFrame:
        """Return all cells as printed, a row per system."""
        return pd.DataFrame(
            [[cell.text for cell in row.cells] for row in self.rows],
            index=pd.Index([row.label for row in self.rows]),
            columns=pd.MultiIndex.from_tuples([(heading.group, heading.title) for heading in self.headings]),
        )

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


def marked(command: str) -> str:
    """Return a command in backticks; a condition in brackets after it, or an instruction in words, stays as it is."""
    typed, bracket, condition = command.partition(" (")
    return f"`{typed}`{bracket}{condition}" if typed.startswith(("make ", "context-nmt ", "cd ")) else command


def systems_by_command(rows: Iterable[tuple[str, Sequence[Cell]]]) -> dict[str, list[str]]:
    """Return, by command, the labels of the rows with cells that it would fill."""
    systems: dict[str, list[str]] = {}
    for label, cells in rows:
        for command in dict.fromkeys(cell.command for cell in cells if cell.command):
            systems.setdefault(command, []).append(label)
    return systems


def grid_of(
    title: str,
    columns: Iterable[str],
    rows: Iterable[tuple[str, Sequence[Cell]]],
    *,
    head: str = "System",
    words: Collection[str] = (),
) -> Grid:
    """Build a table without groups from column titles and rows of a label and cells; `words` are columns of text."""
    return Grid(
        title=title,
        headings=tuple(Heading("", column, column in words) for column in columns),
        rows=tuple(GridRow(label, None, tuple(cells)) for label, cells in rows),
        head=head,
    )
