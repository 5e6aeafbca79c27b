"""What tables and pictures show."""

import html
import re


def texts(picture):
    """The texts of an SVG: matplotlib draws them and leaves comments beside them, or writes them."""
    found = re.findall(r"<!-- (.*?) -->|<text[^>]*>(.*?)</text>", picture.read_text(encoding="utf-8"), re.DOTALL)
    return [html.unescape(comment or text) for comment, text in found]


def cells(grid):
    """{label: {title of a column: text}}."""
    return {row.label: dict(zip(grid.titles, (cell.text for cell in row.cells), strict=True)) for row in grid.rows}


def tables(page, title):
    """The tables of a page below a heading."""
    (section,) = (section for section in page.sections if section.title == title)
    return [cells(grid) for grid in section.grids]
