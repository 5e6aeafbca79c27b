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

from context_nmt.files import DISK_FULL_ERRORS, UserError

if TYPE_CHECKING:
    import typer

UNFINISHED_STATUS = 75  # exit status EX_TEMPFAIL: the same command continues the work
MACHINE_ERRORS = (*DISK_FULL_ERRORS, errno.EACCES, errno.EPERM, errno.EROFS)


class Unfinished(Exception):  # noqa: N818 (not an error)
    """Raised when work stops early; the same command continues it."""


def run(main: Callable[..., Any], name: str | None = None) -> None:
    """Run a stage's function as a command line; errors are those of `one_line_errors`."""
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
        # Indented paragraphs are lists of files and examples; "\b" stops click from rewrapping them.
        command.__doc__ = inspect.cleandoc(command.__doc__ or "").replace("\n\n    ", "\n\n\b\n    ")
        app.command()(one_line_errors()(command))  # inside Typer, which would exit silently on Ctrl-C
    return app


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Exit with a one-line error for problems that the user can fix; let all other exceptions, which are bugs, pass.

    The exit status is 1 for a UserError and for a disk that is full or not writable, 130 for Ctrl-C ("interrupted"),
    and 75 for Unfinished. It is also a decorator, and works without Typer, so that it can guard slow imports.
    """
    try:
        yield
    except UserError as error:
        _leave(f"error: {error}", 1)
    except Unfinished as reason:
        _leave(f"stopped: {reason}", UNFINISHED_STATUS)
    except OSError as error:
        if error.errno not in MACHINE_ERRORS:
            raise
        if error.filename is None:
            redirect_to_devnull(sys.stdout)
        _leave(f"error: {error.filename or 'output'}: {error.strerror}", 1)
    except KeyboardInterrupt:
        _leave("interrupted", 130)


@contextmanager
def capture_signals(*signals: signal.Signals) -> Iterator[list[int]]:
    """Yield a list that collects these signals instead of letting them act; ignored signals stay ignored."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # only the main thread may install handlers
        yield received
        return
    heeded = [number for number in signals if signal.getsignal(number) != signal.SIG_IGN]
    handlers = {number: signal.signal(number, lambda number, _: received.append(number)) for number in heeded}
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _leave(message: str, status: int) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(status)


def redirect_to_devnull(stream: TextIO) -> None:
    """Discard a stream's output from now on; otherwise Python flushes it again at exit, and fails with status 120."""
    with suppress(io.UnsupportedOperation):  # a stream that has no file descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
