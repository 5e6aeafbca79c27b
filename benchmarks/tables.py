"""Markdown tables with a column for each machine."""

from collections.abc import Iterable
from typing import Any

ByMachine = dict[str, dict[str, Any]]  # values by the title of a machine's column


def table(titles: list[str], rows: Iterable[list[str]], left: int = 1) -> list[str]:
    """Return the lines of a Markdown table whose first `left` columns are left-aligned, the others right-aligned."""
    line = f"|{' --- |' * left}{' ---: |' * (len(titles) - left)}"
    return [f"| {' | '.join(titles)} |".replace("|  |", "| |"), line, *(f"| {' | '.join(row)} |" for row in rows)]


def marked(cell: str, missed: bool) -> str:
    """Return a cell that says whether its target is missed."""
    return f"{cell} **missed**" if missed else cell
