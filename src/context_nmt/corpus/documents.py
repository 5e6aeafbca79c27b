"""Where documents start: `SPLIT.documents`, the line number of each document's first sentence, from 0, one a line.

A split without that file has no document boundaries.
"""

import re
from collections.abc import Iterable
from itertools import accumulate, pairwise
from pathlib import Path

from context_nmt.files import UserError, iterate_lines, write_lines


def documents_file(folder: Path, split: str) -> Path:
    """Where a split's documents stand in a folder of text or ids."""
    return folder / f"{split}.documents"


def read_documents(folder: Path, split: str, sentences: int) -> list[range] | None:
    """Give the numbers of each document's sentences, from 0; None without a file.

    Raises UserError for lines that are no numbers, and for numbers that do not fit the split's number of sentences.
    """
    path = documents_file(folder, split)
    if not path.exists():
        return None
    starts = []
    for number, line in enumerate(iterate_lines(path), start=1):
        if not re.fullmatch(r"[0-9]{1,18}", line):
            raise UserError(f"{path}: line {number} is {line!r}; it must be a line number, from 0")
        starts.append(int(line))
    if starts[:1] != [0] or any(one >= other for one, other in pairwise([*starts, sentences])):
        limits = f"must start with 0, grow, and stay below the {sentences} lines of {split}"
        raise UserError(f"{path}: the numbers {limits}")
    return [range(first, end) for first, end in pairwise([*starts, sentences])]


def write_documents(folder: Path, split: str, documents: Iterable[range] | None) -> None:
    """Write where each document starts; nothing for a split without boundaries."""
    if documents is not None:
        write_lines(documents_file(folder, split), (str(document.start) for document in documents))


def copy_documents(source: Path, destination: Path, split: str, sentences: int) -> None:
    """Write a split's documents, if it has any, into another folder; raises UserError as `read_documents` does."""
    write_documents(destination, split, read_documents(source, split, sentences))


def without_dropped(documents: Iterable[range], kept: Iterable[int]) -> list[range]:
    """Number the sentences anew where those with 0 in `kept` are dropped; a document that is dropped whole is gone."""
    before = list(accumulate(kept, initial=0))
    renumbered = (range(before[document.start], before[document.stop]) for document in documents)
    return [document for document in renumbered if document]
