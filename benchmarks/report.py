"""Keep results as JSON, a file for each kind of machine, and print them for the command line of a part."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import machine
from benchmarks.page import RESULTS, section, write_page
from benchmarks.rounds import Tables
from context_nmt.command_line import run
from context_nmt.files import read_json, write_lines

ROUNDS = 5
Rounds = Annotated[int, typer.Option(min=1, help="Number of turns of each program.")]

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Part:
    """The results of one part of the benchmark; README.md shows them under its title."""

    title: str
    tables: Tables = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    picture: str = ""  # its name, after the machine's

    def with_tables(self, tables: Tables) -> "Part":
        """Return the part with more rows, which replace rows of the same names."""
        merged = {title: self.tables.get(title, {}) | tables.get(title, {}) for title in self.tables | tables}
        return replace(self, tables=merged)

    def to_dict(self, this_machine: dict[str, Any]) -> dict[str, Any]:
        """Return plain values for JSON, with the measured machine."""
        picture = {"picture": f"{machine.file_name(this_machine)}-{self.picture}.svg"} if self.picture else {}
        return {"machine": this_machine, "tables": self.tables, "notes": self.notes} | picture


def part_command(name: str, *parts: Callable[[int], Part]) -> None:
    """Run parts as a command of this name, which prints their figures and writes no files."""

    def main(rounds: Rounds = ROUNDS) -> None:
        for part in parts:
            show(part(rounds))

    descriptions = " ".join(part.__doc__ or "" for part in parts)
    main.__doc__ = f"{descriptions} Prints figures and ratios; `make speed` runs all parts and keeps their results."
    run(main, name)


def show(part: Part) -> None:
    """Print the tables of a part."""
    typer.echo("\n".join(section(part.title, {"this machine": part.to_dict(machine.describe())})))


def keep(
    part: Part, this_machine: dict[str, Any], folder: Path = FOLDER, draw: Callable[[Part, Path], None] | None = None
) -> None:
    """Replace the part of the same title in this machine's results, draw it, and write README.md."""
    values = part.to_dict(this_machine)
    if draw is not None:
        draw(part, folder / RESULTS / values["picture"])
    parts = _read(this_machine, folder) | {part.title: values}
    text = json.dumps(parts, indent=1, ensure_ascii=False)  # in the order of the tables
    write_lines(folder / RESULTS / f"{machine.file_name(this_machine)}.json", text.split("\n"))
    write_page(folder)


def with_earlier(part: Part, this_machine: dict[str, Any], folder: Path = FOLDER) -> Part:
    """Return a part with the rows of its earlier results, unless these are of another machine or commit."""
    earlier = _read(this_machine, folder).get(part.title, {})
    if earlier.get("machine") != this_machine:
        return part
    return replace(part, tables=earlier["tables"]).with_tables(part.tables)


def _read(this_machine: dict[str, Any], folder: Path) -> dict[str, Any]:
    path = folder / RESULTS / f"{machine.file_name(this_machine)}.json"
    return dict(read_json(path)) if path.is_file() else {}
