"""Write an explored text as one HTML page that needs no other file."""

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from context_nmt.explorer.data import Explored, to_json
from context_nmt.files import replacing

SCRIPTS = (
    "numbers.js",
    "text.js",
    "selection.js",
    "pieces.js",
    "panel.js",
    "start.js",
)  # in one scope


def write_explorer(path: Path, explored: Explored) -> None:
    """Write the page of an explored text."""
    with replacing(path) as temporary:
        temporary.write_text(page_text(explored, title=explored.title), encoding="utf-8", newline="")


def page_text(explored: Explored | None, *, title: str, limits: dict[str, int] | None = None) -> str:
    """Return the page of an explored text; with `limits`, it has a field for texts to send to a server."""
    environment = Environment(
        loader=PackageLoader("context_nmt.explorer"),
        autoescape=select_autoescape(["html.j2"]),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    data = Markup("null" if explored is None else to_json(explored))  # noqa: S704 (to_json escapes "<")
    return environment.get_template("page.html.j2").render(title=title, data=data, scripts=SCRIPTS, limits=limits)
