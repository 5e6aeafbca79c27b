"""Turns one function into a stage's command line with one-line errors."""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import typer

from context_nmt.files import UserError

Item = TypeVar("Item")


def run(main: Callable[..., Any]) -> None:
    """Run `main` as a Typer command; a UserError becomes one line on standard error and exit status 1."""
    # Indented paragraphs are trees of files: "\b" keeps click from filling their lines.
    main.__doc__ = inspect.cleandoc(main.__doc__ or "").replace("\n\n    ", "\n\n\b\n    ")
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command()(main)
    try:
        app()
    except UserError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)


def progress(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items with a progress bar on standard error, which is shown on a terminal only and leaves no trace."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(items, description, total, console=console, transient=True, disable=not console.is_terminal)
