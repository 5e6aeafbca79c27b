"""Word alignments in the format of Pharaoh: a sentence a line, `0-0 1-2` links source token 0 to target token 0."""

import re
from collections.abc import Sequence
from pathlib import Path

from context_nmt.files import UserError, read_lines

Alignment = list[tuple[int, int]]  # source and target tokens, from 0

LINK = re.compile(r"(\d+)-(\d+)", re.ASCII)


def read_alignments(path: Path, targets: Sequence[str], sources: Sequence[str] | None = None) -> list[Alignment]:
    """Read the alignment of each sentence; tokens stand between spaces.

    Raises UserError for another number of lines, for what is no link, and for one to a token that is not there.
    """
    lines = read_lines(path)
    if len(lines) != len(targets):
        raise UserError(f"{path} has {len(lines)} lines for {len(targets)} sentences; they must be equal")
    alignments = []
    for number, (line, target) in enumerate(zip(lines, targets, strict=True), start=1):
        alignment = [_link(path, number, word) for word in line.split()]
        sides = [("source", 0, sources[number - 1])] if sources else []
        for side, place, sentence in [*sides, ("target", 1, target)]:
            length = len(sentence.split())
            last = max((link[place] for link in alignment), default=-1)
            if last >= length:
                raise UserError(f"{path}: line {number} links {side} token {last}, from 0; there are {length}")
        alignments.append(alignment)
    return alignments


def _link(path: Path, number: int, word: str) -> tuple[int, int]:
    found = LINK.fullmatch(word)
    if found is None:
        raise UserError(f"{path}: line {number} has {word!r}; a link is SOURCE-TARGET, two numbers from 0, such as 3-4")
    return int(found[1]), int(found[2])
