"""Turns one function into a stage's command line with one-line errors."""

import errno
import functools
import inspect
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

import typer

from context_nmt.files import FULL, UserError

Item = TypeVar("Item")

OF_THE_MACHINE = (*FULL, errno.EACCES, errno.EPERM, errno.EROFS)


def run(main: Callable[..., Any]) -> None:
    """Run `main` as a Typer command.

    What a user can mend (a UserError, a disk that is full or may not be written) becomes one line on standard error
    and exit status 1, Ctrl-C the line "interrupted" and 130; everything else is a bug and passes.
    """
    # Indented paragraphs are trees of files: "\b" keeps click from filling their lines.
    main.__doc__ = inspect.cleandoc(main.__doc__ or "").replace("\n\n    ", "\n\n\b\n    ")
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command()(_with_one_line_errors(main))
    app()


def _with_one_line_errors(main: Callable[..., Any]) -> Callable[..., None]:
    @functools.wraps(main)
    def command(*arguments: Any, **options: Any) -> None:
        try:
            main(*arguments, **options)
        except UserError as error:
            _leave(f"error: {error}", 1)
        except OSError as error:
            if error.errno not in OF_THE_MACHINE:
                raise
            if error.filename is None:
                _drop_output()
            _leave(f"error: {error.filename or 'output'}: {error.strerror}", 1)
        except KeyboardInterrupt:
            _leave("interrupted", 130)

    return command


def _leave(message: str, status: int) -> NoReturn:
    typer.echo(message, err=True)
    sys.exit(status)


def _drop_output() -> None:
    """Write what standard output would not take nowhere: else Python tries again as it exits, and its status is 120."""
    with suppress(io.UnsupportedOperation):  # where another program has put its own in place of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def progress(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items with a progress bar on standard error, which is shown on a terminal only and leaves no trace."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(items, description, total, console=console, transient=True, disable=not console.is_terminal)
