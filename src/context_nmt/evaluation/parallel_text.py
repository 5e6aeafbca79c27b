"""Reads files that must have one line per sentence, in the same order."""

from pathlib import Path

from context_nmt.files import UserError, read_lines


def read_parallel(*paths: Path) -> list[list[str]]:
    """Read files of equal length; raises UserError for a missing or empty one and for lengths that differ."""
    texts = [read_lines(path) for path in paths]
    for path, lines in zip(paths, texts, strict=True):
        if not lines:
            raise UserError(f"{path}: the file is empty")
        if len(lines) != len(texts[0]):
            raise UserError(f"{path} has {len(lines)} lines, {paths[0]} has {len(texts[0])}; they must be equal")
    return texts
