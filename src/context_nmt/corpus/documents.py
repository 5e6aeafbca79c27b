"""Files that may accompany a split: its document boundaries, and further references of a test set.

`SPLIT.documents` has the line number of each document's first sentence, from 0, one per line; a split without this file
has no document boundaries. Further references of a test set are `SPLIT.LANGUAGE.1`, `SPLIT.LANGUAGE.2`, ….
"""

import re
from collections.abc import Iterable
from glob import escape
from itertools import accumulate, pairwise
from pathlib import Path

from context_nmt.files import UserError, iterate_lines, write_lines


def documents_file(folder: Path, split: str) -> Path:
    """Return the path of a split's document boundaries in a folder of text or ids."""
    return folder / f"{split}.documents"


def read_documents(folder: Path, split: str, sentences: int) -> list[range] | None:
    """Read the range of each document's sentences, from 0; None if there is no file.

    Raise UserError for a line that is not a number, and for numbers that do not start at 0, increase and stay below
    `sentences`.
    """
    path = documents_file(folder, split)
    if not path.exists():
        return None
    starts = []
    for number, line in enumerate(iterate_lines(path), start=1):
        if not re.fullmatch(r"[0-9]{1,18}", line):
            raise UserError(f"{path}: line {number} is {line!r}; it must be a line number, from 0")
        starts.append(int(line))
    documents = [range(*bounds) for bounds in pairwise([*starts, sentences])]
    if starts[:1] != [0] or not all(documents):
        requirement = f"must start at 0, increase, and stay below {sentences}, the number of lines of {split}"
        raise UserError(f"{path}: the numbers {requirement}")
    return documents


def write_documents(folder: Path, split: str, documents: Iterable[range] | None) -> None:
    """Write the first line number of each document; do nothing if `documents` is None."""
    if documents is not None:
        write_lines(documents_file(folder, split), (str(document.start) for document in documents))


def write_sizes(folder: Path, split: str, sizes: Iterable[int]) -> None:
    """Write the first line number of each document, given their numbers of sentences in order."""
    write_documents(folder, split, (range(*bounds) for bounds in pairwise(accumulate(sizes, initial=0))))


def copy_documents(source: Path, destination: Path, split: str, sentences: int) -> None:
    """Copy a split's documents, if it has any, to another folder; raise UserError as `read_documents` does."""
    write_documents(destination, split, read_documents(source, split, sentences))


def without_dropped(documents: Iterable[range], kept: Iterable[int]) -> list[range]:
    """Renumber documents after dropping the sentences with a 0 in `kept`; leave out documents that become empty."""
    kept_before = list(accumulate(kept, initial=0))
    renumbered = (range(kept_before[document.start], kept_before[document.stop]) for document in documents)
    return [document for document in renumbered if document]


def reference_names(folder: Path, split: str, language: str) -> list[str]:
    """Return the names of a test set's references in order; raise UserError for a gap in the numbers."""
    first = f"{split}.{language}"
    endings = [path.name.removeprefix(f"{first}.") for path in folder.glob(f"{escape(first)}.*")]
    numbers = sorted(int(ending) for ending in endings if ending.isdecimal())
    if numbers != [*range(1, len(numbers) + 1)]:
        raise UserError(f"{folder / first}: further references must be {first}.1, {first}.2, …; there are {numbers}")
    return [first, *(f"{first}.{number}" for number in numbers)]
