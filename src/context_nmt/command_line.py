"""Command lines with one-line errors, for a stage or for an application with several commands."""

import errno
import inspect
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from context_nmt.files import FULL, UserError

if TYPE_CHECKING:
    import typer

GO_ON = 75  # exit status, EX_TEMPFAIL: the work is not done, and the same command continues it
OF_THE_MACHINE = (*FULL, errno.EACCES, errno.EPERM, errno.EROFS)


class Unfinished(Exception):  # noqa: N818 (no error)
    """Work that was stopped and that the same command continues."""


def run(main: Callable[..., Any], name: str | None = None) -> None:
    """Run a stage's function as its command line, with the errors of `one_line_errors`."""
    application(main)(prog_name=name or f"python stages {Path(sys.argv[0]).stem}")


def application(*commands: Callable[..., Any], help: str | None = None) -> "typer.Typer":
    """Make a command line with a command for each function; a single function has no subcommands."""
    import typer

    app = typer.Typer(
        help=help,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for command in commands:
        # Indented paragraphs are lists of files and examples: "\b" keeps click from filling their lines.
        command.__doc__ = inspect.cleandoc(command.__doc__ or "").replace("\n\n    ", "\n\n\b\n    ")
        app.command()(one_line_errors()(command))  # inside Typer, which would exit silently at Ctrl-C
    return app


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Exit with a one-line error for problems that the user can fix; let all other exceptions pass, as bugs.

    The exit status is 1 for a UserError and for a disk that is full or not writable, 130 for Ctrl-C ("interrupted"),
    and 75 for Unfinished. This also works as a decorator, and without Typer, so that it can guard slow imports.
    """
    try:
        yield
    except UserError as error:
        _leave(f"error: {error}", 1)
    except Unfinished as reason:
        _leave(f"stopped: {reason}", GO_ON)
    except OSError as error:
        if error.errno not in OF_THE_MACHINE:
            raise
        if error.filename is None:
            drop(sys.stdout)
        _leave(f"error: {error.filename or 'output'}: {error.strerror}", 1)
    except KeyboardInterrupt:
        _leave("interrupted", 130)


@contextmanager
def noticing(*signals: signal.Signals) -> Iterator[list[int]]:
    """Yield a list that receives these signals, in place of their usual effect; ignored signals stay ignored."""
    arrived: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # only the main one may choose what a signal does
        yield arrived
        return
    heeded = [number for number in signals if signal.getsignal(number) != signal.SIG_IGN]
    earlier = {number: signal.signal(number, lambda number, _: arrived.append(number)) for number in heeded}
    try:
        yield arrived
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _leave(message: str, status: int) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(status)


def drop(stream: TextIO) -> None:
    """Discard the output that a stream refused, and what follows; else Python tries again at exit, with status 120."""
    with suppress(io.UnsupportedOperation):  # if it has been replaced
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
