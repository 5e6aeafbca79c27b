"""Tables of the report as LaTeX, for booktabs."""

from collections.abc import Iterator

from context_nmt.report.grid import Grid

SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # at the start of a row it would belong to the \\ before it, as would a star
    "]": "{]}",
    "*": "{*}",
    "`": r"\textasciigrave{}",
    '"': r"\textquotedbl{}",
    "−": r"$-$",  # noqa: RUF001
    "±": r"$\pm$",
    "×": r"$\times$",  # noqa: RUF001
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "…": r"\ldots{}",
    "–": r"\textendash{}",  # noqa: RUF001
    "\n": " ",
}


def escape(text: str) -> str:
    """Write text so that LaTeX prints it."""
    return "".join(SPECIAL.get(character, character) for character in text)


def format_latex(grid: Grid) -> str:
    """Format one table, to be read by \\input; what is missing is said below it."""
    return "\n".join(_lines(grid)) + "\n"


def _lines(grid: Grid) -> Iterator[str]:
    yield "% needs \\usepackage[T1]{fontenc}, \\usepackage{textcomp} and \\usepackage{booktabs}"
    yield r"\begin{table}"
    yield rf"\caption{{{escape(grid.title)}}}"
    yield r"\centering\footnotesize"
    yield rf"\begin{{tabular}}{{l{'r' * len(grid.columns)}}}"
    yield r"\toprule"
    yield (
        " & ".join(["", *(rf"\multicolumn{{{span}}}{{c}}{{{escape(group)}}}" for group, span in grid.groups)]) + r" \\"
    )
    yield "".join(_rules(grid))
    yield _row(["System", *(column.title for column in grid.columns)])
    yield r"\midrule"
    for row in grid.rows:
        yield _row([row.label, *(cell.text for cell in row.cells)])
    yield r"\bottomrule"
    yield r"\end{tabular}"
    for text in (*(f"{', '.join(fill.systems)}: {fill.command}" for fill in grid.fills), *grid.notes):
        yield rf"\par {escape(text)}"
    yield r"\end{table}"


def _rules(grid: Grid) -> Iterator[str]:
    first = 2
    for _, span in grid.groups:
        yield rf"\cmidrule(lr){{{first}-{first + span - 1}}}"
        first += span


def _row(cells: list[str]) -> str:
    escaped = [escape(cell) for cell in cells]
    return " & ".join(escaped) + r" \\"
