"""Units and their ids."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from context_nmt.files import UserError, iterate_lines, read_lines, write_lines

PADDING, BEGIN, END, UNKNOWN = range(4)
MASK = BEGIN  # for masked language models, whose targets do not start with BEGIN
JOINER = "@@"  # ends a unit that is not the last of its word
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")


@dataclass(frozen=True)
class Vocabulary:
    """All units in the order of their ids; the four special ones come first."""

    units: tuple[str, ...]

    @classmethod
    def build(cls, counts: Mapping[str, int], size: int | None = None) -> "Vocabulary":
        """Sort the units by falling count, then by name; keep the first `size` if it is given."""
        ordered = sorted(counts.keys() - set(SPECIALS), key=lambda unit: (-counts[unit], unit))
        return cls(SPECIALS + tuple(ordered[:size]))

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """Read one unit per line; raise UserError for a file with duplicates or without the special units."""
        units = tuple(read_lines(path))
        if units[: len(SPECIALS)] != SPECIALS:
            raise UserError(f"{path}: a vocabulary must start with the lines {' '.join(SPECIALS)}, not {units[:4]}")
        if len(set(units)) != len(units):
            raise UserError(f"{path}: {len(units) - len(set(units))} units occur twice")
        return cls(units)

    def save(self, path: Path) -> None:
        """Write one unit per line; its id is the number of the line, from 0."""
        write_lines(path, self.units)

    def __len__(self) -> int:
        return len(self.units)

    @cached_property
    def _ids(self) -> dict[str, int]:
        # "</s>" in a text is an unknown unit, and never ends a sentence.
        return {unit: number for number, unit in enumerate(self.units) if number >= len(SPECIALS)}

    def ids(self, line: str) -> list[int]:
        """Return the ids of a line's space-separated units, without END."""
        return [self._ids.get(unit, UNKNOWN) for unit in line.split(" ") if unit]

    def text(self, ids: Iterable[int]) -> str:
        """Return the line of units with these ids, special units included."""
        return " ".join(self.units[number] for number in ids)


def join_units(line: str) -> str:
    """Join the BPE units of a line into words; a line may end within a word."""
    units = filter(None, line.split(" "))
    return "".join(unit[: -len(JOINER)] if unit.endswith(JOINER) else unit + " " for unit in units).removesuffix(" ")


def count_units(path: Path) -> Counter[str]:
    """Count the space-separated units of a file."""
    counts: Counter[str] = Counter()
    for line in iterate_lines(path):
        counts.update(filter(None, line.split(" ")))
    return counts
