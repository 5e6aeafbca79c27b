"""The command line `context-nmt`."""

import io
import os
import re
import shlex
import sys
from pathlib import Path

from context_nmt.command_line import one_line_errors
from context_nmt.files import UserError

STANDARD_ERROR = 2  # the highest file descriptor that every process starts with


def main() -> None:
    """Run the command that the arguments name, with the code of the project around the current folder."""
    _use_code_of_project(Path.cwd())
    with one_line_errors():  # also for Ctrl-C while Typer is loaded
        _open_streams()
        if any(re.fullmatch("(--[a-z-]+=)?", argument) for argument in sys.argv[1:]):  # "" would be the current folder
            raise UserError(
                f"{shlex.join(['context-nmt', *sys.argv[1:]])}: an argument is empty; is a variable not set?"
            )
        from context_nmt.commands import app

        app()


def _open_streams() -> None:
    """On a terminal, print "?" for characters that its encoding lacks; write UTF-8 to files and pipes.

    Closed standard streams are opened on /dev/null, so that no other file gets their descriptors and their output.
    Raise UserError if standard output is closed.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= STANDARD_ERROR:
        os.set_inheritable(number, True)
    os.close(number)
    if sys.stderr is None:
        sys.stderr = os.fdopen(STANDARD_ERROR, "w")
    if sys.stdout is None:
        raise UserError("standard output is closed; to hide it, redirect it to /dev/null")
    if isinstance(sys.stdout, io.TextIOWrapper):
        if sys.stdout.isatty():
            sys.stdout.reconfigure(errors="replace")
        else:
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # file names may not be valid UTF-8


def _use_code_of_project(folder: Path) -> None:
    """Restart with the code of the project around `folder`, which may have a new mechanism, if this is other code."""
    source_of_this_code = Path(__file__).resolve().parents[1]
    for project in (folder, *folder.parents):
        source = project / "src"
        if (project / "stages/__main__.py").is_file() and (source / "context_nmt/__main__.py").is_file():
            if source.resolve() == source_of_this_code:
                sys.path.append(str(project))  # for mechanisms in the project's folder
            else:
                path = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH")]))
                command = [sys.executable, "-m", "context_nmt", *sys.argv[1:]]
                os.execve(sys.executable, command, os.environ | {"PYTHONPATH": path})  # noqa: S606 (no shell is needed)
            return


if __name__ == "__main__":
    main()
