"""Readers of downloads, and what all of them do with bad lines, documents or items: skip, count and report them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from context_nmt.files import UserError, read_json

MAX_BAD_SHARE = 0.01
LISTED_LOCATIONS = 5  # in a note
PARSE_ERRORS = (AttributeError, KeyError, TypeError, ValueError, UserError)  # of another structure, or not UTF-8

Parsed = TypeVar("Parsed")


class Format(NamedTuple):
    """The keys that the entries and files of a format have; a module of this package lists its own under FORMATS."""

    output_keys: tuple[str, ...] = ()  # a file has one of these keys; if there are none, an archive has all the splits
    output_kind: str = "SPLIT.LANGUAGE"  # what these keys name
    options: Mapping[str, bool] = MappingProxyType({})  # keys of an entry, and whether they are required
    module: str = ""  # its module, as the catalogue finds it


class AppendedText(NamedTuple):
    """A text that was appended to a file of a corpus."""

    name: str  # SPLIT.LANGUAGE
    source: str  # for messages
    lines: int


class SkipCounts:
    """Counts the units of one file (lines, documents or items), and those that are skipped because they are bad."""

    def __init__(self) -> None:
        self.total = self.bad = 0
        self.locations: list[str] = []

    @contextmanager
    def skip_on_error(self, location: str) -> Iterator[None]:
        """Count one unit; skip it if the block raises one of PARSE_ERRORS."""
        self.total += 1
        try:
            yield
        except PARSE_ERRORS as error:
            self.skip(location, f"lacks {error}" if isinstance(error, KeyError) else str(error))

    def skip(self, location: str, reason: str) -> None:
        """Count a unit as bad that is already in `total`."""
        self.bad += 1
        if len(self.locations) < LISTED_LOCATIONS:
            self.locations.append(f"{location} ({reason})")


@contextmanager
def skipping(file: str, unit: str) -> Iterator[SkipCounts]:
    """Yield counts for a file's units; after the block, print a note that lists the skipped ones.

    Raise UserError if more than MAX_BAD_SHARE of the units were bad.
    """
    yield (counts := SkipCounts())
    share = f"{counts.bad:,} of {counts.total:,}"
    if counts.bad > MAX_BAD_SHARE * counts.total:
        allowed = f"at most {MAX_BAD_SHARE:.0%} may be bad"
        raise UserError(f"{file}: bad {unit}: {share}; {allowed}. The first: {counts.locations[0]}")
    if counts.bad:
        more = f"; and {counts.bad - LISTED_LOCATIONS:,} more" if counts.bad > LISTED_LOCATIONS else ""
        print(f"note: {file}: bad {unit} left out: {share}: {'; '.join(counts.locations)}{more}")


def parse_json(path: Path, name: str, unit: str, parse: Callable[[Any], Parsed]) -> list[Parsed]:
    """Parse each value of a JSON list or object; skip values for which `parse` raises one of PARSE_ERRORS.

    `name` is the file's name in messages. Raise UserError for too many bad values, and TypeError for other JSON.
    """
    values, results = read_json(path), list[Parsed]()
    with skipping(name, f"{unit}s") as counts:
        for key, value in values.items() if isinstance(values, dict) else enumerate(values, start=1):
            with counts.skip_on_error(f"{unit} {key}"):
                results.append(parse(value))
    return results


def require_one_line(text: object) -> str:
    """Return a string; raise TypeError for another value, and ValueError for a string with a line break."""
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is not a string")
    if "\n" in text:
        raise ValueError(f"a line break in {text!r}")
    return text
