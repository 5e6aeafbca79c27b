"""The report as one Markdown page and one HTML page, which holds all that it shows."""

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from context_nmt.report.grid import Grid
from context_nmt.report.lines import HEADS, LEGEND, Line
from context_nmt.report.markdown import table_header, table_row
from context_nmt.report.papers.published import Paper, Table
from context_nmt.report.summary import Summary

SUMMARY = (("claimed", "What it claims"), ("found", "What came out here"), ("sure", "How sure that is"))


@dataclass(frozen=True)
class Section:
    """One table or figure on the page; `picture` is the name of its file in figures/, empty if there is none."""

    table: Table
    grid: Grid
    picture: str


@dataclass(frozen=True)
class Chapter:
    """One paper on the page."""

    name: str
    paper: Paper
    summary: Summary
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Page:
    """All that the report shows."""

    title: str
    facts: tuple[str, ...]  # which experiments, and what marks mean
    lines: tuple[Line, ...]  # every claim on one
    chapters: tuple[Chapter, ...]
    costs: Grid | None


def format_markdown(page: Page) -> str:
    """Format the report with links to the pictures in figures/."""
    return (
        _environment(html=False)
        .get_template("report.md.j2")
        .render(page=page, parts=SUMMARY, heads=HEADS, legend=LEGEND)
    )


def format_html(page: Page, figures: Path) -> str:
    """Format the report as a page that needs no other file; pictures are read from `figures`."""
    environment = _environment(html=True)
    environment.filters["data"] = lambda name: _data(figures / name)
    return environment.get_template("report.html.j2").render(page=page, parts=SUMMARY, heads=HEADS, legend=LEGEND)


def _environment(*, html: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("context_nmt.report"),
        autoescape=select_autoescape(["html.j2"]),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.filters["code"] = _code if html else str
    environment.filters["table"] = _markdown_table
    environment.filters["lines"] = _markdown_lines
    return environment


def _code(text: str) -> Markup:
    """What stands between backticks, as code."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if odd % 2 else part for odd, part in enumerate(parts)
    )


def _data(path: Path) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"


def _markdown_table(grid: Grid) -> str:
    titles = ["System", *(f"{column.group}: {column.title}".removeprefix(": ") for column in grid.columns)]
    rows: Iterable[Sequence[str]] = ([row.label, *(cell.text for cell in row.cells)] for row in grid.rows)
    return "\n".join([*table_header(titles), *map(table_row, rows)])


def _markdown_lines(lines: Iterable[Line]) -> str:
    rows = ([getattr(line, name) for name in HEADS] for line in lines)
    return "\n".join([table_row(HEADS.values()), table_row(["---"] * len(HEADS)), *map(table_row, rows)])
