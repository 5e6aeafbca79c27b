"""Turns one function into a stage's command line with one-line errors."""

import inspect
import sys
from collections.abc import Callable
from typing import Any

import typer

from context_nmt.files import UserError


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
