"""A stage's command line: one-line errors, statuses and help."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from context_nmt import command_line
from context_nmt.files import UserError

ROOT = Path(__file__).parents[1]


def stage(folder, *command):
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_an_error_of_a_stage_is_one_line_and_status_1(tmp_path):
    (tmp_path / "params.yaml").write_text("rot: .\n")
    result = stage(tmp_path, "stages.plan")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("error: params.yaml: rot: unknown key; did you mean 'root'? (known: root, ")
    assert result.stderr.count("\n") == 1


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


def test_help_keeps_the_tree_of_files(command, capsys):
    def main() -> None:
        """Write files.

        Writes

            folder/a   one
            folder/b   two

        That is all.
        """

    assert command(main, "--help") == 0
    assert "folder/a   one\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 1, "error: output: No space left on device"),
        (PermissionError(errno.EACCES, "Permission denied", "a/b"), 1, "error: a/b: Permission denied"),
        (OSError(errno.EROFS, "Read-only file system", "a/b"), 1, "error: a/b: Read-only file system"),
        (KeyboardInterrupt(), 130, "interrupted"),
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
