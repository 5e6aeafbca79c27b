"""A stage's command line: one-line errors, statuses, help and progress."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from terminal import Terminal

from context_nmt import command_line
from context_nmt.command_line import Unfinished
from context_nmt.files import UserError
from context_nmt.progress import INTERVAL_VARIABLE, read_line

ROOT = Path(__file__).parents[1]


@pytest.fixture
def command(monkeypatch):
    """Runs a function as a stage with these arguments; gives its exit status."""

    def run(main, *arguments):
        monkeypatch.setattr(sys, "argv", ["stage", *arguments])
        with pytest.raises(SystemExit) as left:
            command_line.run(main)
        return left.value.code

    return run


def test_a_command_line_parses_runs_and_leaves_with_a_status(command, capsys):
    def main(name: str, times: int = 1, fail: bool = False) -> None:
        """Greet."""
        if fail:
            raise UserError(f"no {name}")
        typer.echo(" ".join(["hello", *[name] * times]))

    assert command(main, "you", "--times", "2") == 0
    assert capsys.readouterr() == ("hello you you\n", "")
    assert command(main, "you", "--fail") == 1
    assert capsys.readouterr() == ("", "error: no you\n")
    assert command(main, "you", "--times", "x") == 2
    assert "Invalid value for '--times'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 1, "error: output: No space left on device"),
        (PermissionError(errno.EACCES, "Permission denied", "a/b"), 1, "error: a/b: Permission denied"),
        (OSError(errno.EROFS, "Read-only file system", "a/b"), 1, "error: a/b: Read-only file system"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (Unfinished("half of it"), 75, "stopped: half of it"),
    ],
)
def test_what_the_machine_or_the_user_stops_is_one_line(command, capsys, error, status, line):
    def main() -> None:
        """Fail."""
        raise error

    assert command(main) == status
    assert capsys.readouterr() == ("", f"{line}\n")


@pytest.mark.parametrize("error", [KeyError("a bug"), FileNotFoundError(errno.ENOENT, "a bug", "a/b")])
def test_other_errors_are_bugs_and_pass(monkeypatch, error):
    def main() -> None:
        """Fail."""
        raise error

    monkeypatch.setattr(sys, "argv", ["stage"])
    with pytest.raises(type(error)):
        command_line.run(main)


WORK = """
from context_nmt.corpus.workers import in_parallel
from context_nmt.progress import Progress, say, tracked

def in_a_worker(number):
    for _ in tracked("abc", "worker"):
        pass

for number in tracked(range(4), "outer [one]", unit="things", sizes=[1, 1, 1, 7]):
    for _ in tracked("ab", "inner", 2, "parts"):
        pass
    if number == 1:
        say("a line of its own")
        list(in_parallel(in_a_worker, range(4), 2))
with Progress("endless", unit="rounds") as progress:
    progress.advance(3)
print("finished")
"""
PROGRAM = [sys.executable, "-c", WORK]


def environment(seconds, **variables):
    return os.environ | {"PYTHONPATH": str(ROOT / "src"), INTERVAL_VARIABLE: seconds, "TERM": "xterm"} | variables


def test_in_a_file_progress_is_lines_of_plain_text():
    """Work inside other work moves it on."""
    done = subprocess.run(PROGRAM, env=environment("0"), capture_output=True, text=True, check=True)
    assert done.stdout == "finished\n"
    *lines, endless = [line for line in done.stderr.splitlines() if line != "a line of its own"]
    progress_lines = [read_line(line) for line in lines]
    assert [line.name for line in progress_lines] == ["outer [one]"] * len(progress_lines)
    assert [line.percent for line in progress_lines] == [5, 10, 10, 15, 20, 20, 25, 30, 30, 65, 100, 100]
    assert "10/10 things" in progress_lines[-1].text
    assert read_line(endless).percent is None
    assert "\x1b" not in done.stderr
    assert read_line("a line of its own") is None


@pytest.mark.parametrize(
    ("seconds", "variables", "status", "expected"),
    [
        ("1000", {}, 0, "a line of its own\n"),
        ("0", {"WORLD_SIZE": "2", "RANK": "1"}, 0, ""),
        ("often", {}, 1, f"(?s).*{INTERVAL_VARIABLE}.*'often'.*"),
    ],
    ids=["over sooner", "not the first process", "no number"],
)
def test_progress_that_is_not_printed(seconds, variables, status, expected):
    done = subprocess.run(PROGRAM, env=environment(seconds, **variables), capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert re.fullmatch(expected, done.stderr)


def test_on_a_terminal_progress_is_a_bar_with_lines_above_it():
    terminal = Terminal(PROGRAM, env=environment("1000"))
    assert terminal.finish() == 0
    assert "\x1b[" in terminal.seen
    assert "outer [one]" in terminal.seen
    assert "a line of its own" in terminal.seen
    assert "finished" in terminal.seen


def test_on_a_terminal_without_rich_progress_is_lines(tmp_path):
    """A machine that trains packed runs may lack rich."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['rich'] = None\n")
    paths = {"PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"}
    terminal = Terminal(PROGRAM, env=environment("0", **paths))
    assert terminal.finish() == 0
    assert "\x1b[" not in terminal.seen
    assert "outer [one]: 5% " in terminal.seen


def test_work_continues_when_nobody_reads_its_progress():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(PROGRAM, env=environment("0"), stdout=subprocess.PIPE, stderr=writer, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stdout) == (0, "finished\n")
