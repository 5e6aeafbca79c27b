"""The texts that tables and pictures show."""

import html
import re


def texts(picture):
    """Return the texts of an SVG, which matplotlib either writes as text or draws with a comment beside them."""
    matches = re.findall(r"<!-- (.*?) -->|<text[^>]*>(.*?)</text>", picture.read_text(encoding="utf-8"), re.DOTALL)
    return [html.unescape(comment or text) for comment, text in matches]


def cells(grid):
    """Return {label: {title of a column: text}}."""
    return {row.label: dict(zip(grid.titles, (cell.text for cell in row.cells), strict=True)) for row in grid.rows}


def tables(page, title):
    """Return the tables below a heading of a page."""
    (section,) = (section for section in page.sections if section.title == title)
    return [cells(grid) for grid in section.grids]
