"""Readers of downloads, grouped by what they have in common, and what all do with a bad line, document or item.

A bad one is left out and counted, and a note says where it is.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from context_nmt.files import UserError, read_json

SHARE = 0.01  # the largest one that may be bad
SHOWN = 5  # places that a note lists
BAD = (AttributeError, KeyError, TypeError, ValueError, UserError)  # what another structure, or no UTF-8, leads to

Parsed = TypeVar("Parsed")


class Counted:
    """The lines, documents or items of one file, of which bad ones are left out."""

    def __init__(self) -> None:
        self.total = self.bad = 0
        self.places: list[str] = []

    @contextmanager
    def trying(self, place: str) -> Iterator[None]:
        """Count one unit; it is left out if reading it raises one of BAD."""
        self.total += 1
        try:
            yield
        except BAD as error:
            self.skip(place, f"lacks {error}" if isinstance(error, KeyError) else str(error))

    def skip(self, place: str, reason: str) -> None:
        """Leave out a unit that was counted."""
        self.bad += 1
        if len(self.places) < SHOWN:
            self.places.append(f"{place} ({reason})")


@contextmanager
def skipping(file: str, unit: str) -> Iterator[Counted]:
    """Yield counts of a file's units; at the end, note how many were left out, and where they are.

    Raise UserError if they are more than SHARE of all.
    """
    yield (counted := Counted())
    count = f"{counted.bad:,} of {counted.total:,}"
    if counted.bad > SHARE * counted.total:
        allowed = f"at most {SHARE:.0%} may be bad"
        raise UserError(f"{file}: bad {unit}: {count}; {allowed}. The first: {counted.places[0]}")
    if counted.bad:
        more = f"; and {counted.bad - SHOWN:,} more" if counted.bad > SHOWN else ""
        print(f"note: {file}: bad {unit} left out: {count}: {'; '.join(counted.places)}{more}")


def parsed_json(path: Path, name: str, unit: str, parse: Callable[[Any], Parsed]) -> list[Parsed]:
    """Return what `parse` returns for each value of a JSON list or object, without values for which it raises BAD.

    Messages have the `name` of the file. Raise UserError for too many bad values, and TypeError for other JSON.
    """
    values, results = read_json(path), list[Parsed]()
    with skipping(name, f"{unit}s") as counted:
        for place, value in values.items() if isinstance(values, dict) else enumerate(values, start=1):
            with counted.trying(f"{unit} {place}"):
                results.append(parse(value))
    return results


def one_line(text: object) -> str:
    """Return a text; raise TypeError for another value, and ValueError for a text with a line break."""
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is no text")
    if "\n" in text:
        raise ValueError(f"a line break in {text!r}")
    return text
