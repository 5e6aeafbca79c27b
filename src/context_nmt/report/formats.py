"""Write pages and tables in their formats: Markdown, HTML, LaTeX and CSV."""

import base64
import re
from itertools import accumulate
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from context_nmt.files import replacing
from context_nmt.report.tables import Grid

LATEX_ESCAPES: dict[str, str | int | None] = {
    "\\": r"\textbackslash{}",
    **{special: rf"\{special}" for special in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{special: f"{{{special}}}" for special in "[]*"},  # or they would be options of a \\ before them
    "`": r"\textasciigrave{}",
    "−": r"$-$",  # noqa: RUF001
    "\n": " ",
}
LATEX_PACKAGES = "% needs \\usepackage[T1]{fontenc}, \\usepackage{textcomp} and \\usepackage{booktabs}\n"


def render(template: str, package: str = "context_nmt.report", **values: Any) -> str:
    """Return the text of a template, with its values escaped if it is named *.html.j2 or *.svg.j2."""
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=select_autoescape(["html.j2", "svg.j2"]),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"row": _markdown_row, "code": _html_code, "data": _data_url, "paragraphs": paragraphs}
    return environment.get_template(template).render(values)


def write_page(path: Path, template: str, **values: Any) -> None:
    """Write a page or a picture from a template."""
    _write(path, render(template, **values))


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, each on one line."""
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip()]


def write_grid(folder: Path, grid: Grid) -> None:
    r"""Write NAME.csv, with a row of plain numbers per cell, and NAME.tex for \input."""
    _write(folder / f"{grid.name}.csv", grid.numbers().to_csv(index=False, lineterminator="\n"))
    _write(folder / f"{grid.name}.tex", format_latex(grid))


def format_latex(grid: Grid) -> str:
    """Format a table for booktabs, with its notes below it."""
    texts = pd.DataFrame(
        [[cell.text for cell in row.cells] for row in grid.rows],
        index=pd.Index([row.label for row in grid.rows]),
        columns=pd.MultiIndex.from_tuples([(heading.group, heading.title) for heading in grid.headings]),
    )
    styler = texts.style.format(escape_latex)
    for axis in (0, 1):
        styler = styler.format_index(escape_latex, axis=axis)
    columns = "".join("l" if heading.is_text else "r" for heading in grid.headings)
    table = styler.to_latex(hrules=True, column_format=f"l{columns}", multicol_align="c").splitlines()
    # pandas draws no rules below group headings; the first three lines are tabular, toprule and groups
    ends = list(accumulate((span for _, span in grid.groups), initial=1))
    spans = zip(grid.groups, ends, ends[1:], strict=False)
    rules = [rf"\cmidrule(lr){{{start + 1}-{end}}}" for (group, _), start, end in spans if group]
    table.insert(3, " ".join(rules))
    notes = [note.replace("`", "") for note in grid.notes]
    head = [r"\begin{table}", rf"\caption{{{escape_latex(grid.title)}}}", r"\centering\footnotesize", *table]
    return LATEX_PACKAGES + "\n".join([*head, *(rf"\par {escape_latex(note)}" for note in notes), r"\end{table}", ""])


def escape_latex(text: object) -> str:
    r"""Escape text so that LaTeX prints it as it is, also after a \\."""
    return str(text).translate(str.maketrans(LATEX_ESCAPES))


def _markdown_row(cells: list[str]) -> str:
    """Return a row of a Markdown table; stars are escaped, except around a cell that is entirely bold."""
    return f"| {' | '.join(map(_escape_cell, cells))} |"


def _escape_cell(cell: str) -> str:
    bold = re.fullmatch(r"\*\*(.+)\*\*", cell)
    text = re.sub(r"[|*]", r"\\\g<0>", re.sub(r"[\r\n]+", " ", bold[1] if bold else cell))
    return f"**{text}**" if bold else text


def _html_code(text: str) -> Markup:
    """Escape text for HTML, and mark text between backticks as code."""
    return Markup(re.sub("`(.*?)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704


def _data_url(path: Path) -> str:
    """Return a picture as a data URL."""
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
