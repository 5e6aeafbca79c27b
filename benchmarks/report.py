"""Figures as JSON, a file for each kind of machine, and the command line of a part."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.machine import file_name, machine_line
from benchmarks.page import RESULTS, section, write_page
from benchmarks.rounds import Measured
from context_nmt.command_line import run
from context_nmt.files import read_json, write_json

ROUNDS = 5
Rounds = Annotated[int, typer.Option(min=1, help="How often each program has its turn.")]

FOLDER = Path(__file__).parent
APART = "Measured in a separate run:"


@dataclass(frozen=True)
class Part:
    """The results of one part of the benchmark."""

    title: str
    measured: dict[str, Measured] = field(default_factory=dict)
    ratios: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    variants: dict[str, dict[str, Any]] = field(default_factory=dict)  # relative to the Transformer

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "title": self.title,
            "contenders": {name: result.to_dict() for name, result in self.measured.items()},
            "ratios": self.ratios,
            "notes": self.notes,
            "variants": self.variants,
        }


def part_command(name: str, *parts: Callable[[int], Part]) -> None:
    """Run parts as a command of this name that prints their figures and writes no file of results."""

    def main(rounds: Rounds = ROUNDS) -> None:
        for part in parts:
            show(part(rounds))

    docs = " ".join(part.__doc__ or "" for part in parts)
    main.__doc__ = f"{docs} Prints figures and ratios; `make speed` runs all parts and keeps their results."
    run(main, name)


def show(part: Part) -> None:
    """Print the tables of a part."""
    typer.echo("\n".join(section({"this machine": part.to_dict()})))


def keep(machine: dict[str, Any], part: Part, folder: Path = FOLDER) -> None:
    """Put a part in place of the one with its title in this machine's results, and write README.md."""
    values, new_part = _read(machine, folder), part.to_dict()
    if any(values["machine"].get(key) != value for key, value in machine.items()):
        new_part = _of_another_run(new_part, machine)
    titles = [old_part["title"] for old_part in values["parts"]]
    position = titles.index(part.title) if part.title in titles else len(titles)
    values["parts"][position : position + 1] = [new_part]
    _write(machine, values, folder)


def keep_all(machine: dict[str, Any], parts: list[Part], folder: Path = FOLDER) -> None:
    """Put these parts first in this machine's results, in place of those with their titles, and write README.md."""
    earlier, titles = _read(machine, folder), [part.title for part in parts]
    others = [part for part in earlier["parts"] if part["title"] not in titles]
    kept = [_of_another_run(part, earlier["machine"]) for part in others]
    values = earlier | {"machine": machine, "parts": [*(part.to_dict() for part in parts), *kept]}
    _write(machine, values, folder)


def keep_other(
    machine: dict[str, Any], kind: str, name: str, values: dict[str, Any], folder: Path = FOLDER
) -> dict[str, Any]:
    """Put values under their kind and name into this machine's results, and write README.md, which shows a picture.

    Return all values of this kind by name.
    """
    results = _read(machine, folder)
    of_kind: dict[str, Any] = results.setdefault(kind, {})
    of_kind[name] = values
    _write(machine, results, folder)
    return of_kind


def _of_another_run(part: dict[str, Any], machine: dict[str, Any]) -> dict[str, Any]:
    """Return a part with a note on the machine and commit of its measurement, unless it has one."""
    if any(note.startswith(APART) for note in part["notes"]):
        return part
    return part | {"notes": [*part["notes"], f"{APART} {machine_line(machine)}"]}


def _read(machine: dict[str, Any], folder: Path) -> dict[str, Any]:
    path = folder / RESULTS / f"{file_name(machine)}.json"
    return dict(read_json(path)) if path.is_file() else {"machine": machine, "parts": []}


def _write(machine: dict[str, Any], values: dict[str, Any], folder: Path) -> None:
    write_json(folder / RESULTS / f"{file_name(machine)}.json", values)
    write_page(folder)


def same_bytes(measured: dict[str, Measured]) -> str:
    """Say whether all contenders gave the same checksums."""
    first, *others = [result.output for result in measured.values()]
    return "All write the same bytes." if all(output == first for output in others) else "They write different lines!"
