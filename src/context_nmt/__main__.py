"""The command line `context-nmt`."""

import io
import os
import re
import shlex
import sys
from pathlib import Path

from context_nmt.command_line import one_line_errors
from context_nmt.files import UserError

STANDARD_ERROR = 2  # the highest number of a stream that each process has


def main() -> None:
    """Run the command that the arguments name, with the code of the project that the current folder is in."""
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
    """Print "?" for what the encoding of the terminal lacks, and UTF-8 into files and pipes, which lose nothing.

    Raise UserError if standard output is closed.
    The numbers of closed streams are taken, so that no file that is opened gets what others write to a stream.
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
    """Start again with the project's own code, such as a new mechanism, if this is the code of another place."""
    here = Path(__file__).resolve().parents[1]
    for project in (folder, *folder.parents):
        source = project / "src"
        if (project / "stages/__main__.py").is_file() and (source / "context_nmt/__main__.py").is_file():
            if source.resolve() != here:
                path = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH")]))
                command = [sys.executable, "-m", "context_nmt", *sys.argv[1:]]
                os.execve(sys.executable, command, os.environ | {"PYTHONPATH": path})  # noqa: S606 (no shell is wanted)
            return


if __name__ == "__main__":
    main()
