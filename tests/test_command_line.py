"""A stage's command line: one-line errors, statuses, help and progress."""

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
    result = stage(tmp_path, "stages.tokenize")
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


def test_other_errors_are_bugs_and_pass(monkeypatch):
    def main() -> None:
        """Fail."""
        raise KeyError("a bug")

    monkeypatch.setattr(sys, "argv", ["stage"])
    with pytest.raises(KeyError):
        command_line.run(main)


def test_progress_passes_everything_on_and_is_silent_in_a_file(capsys):
    assert list(command_line.progress(iter("abc"), "letters", 3)) == ["a", "b", "c"]
    assert capsys.readouterr() == ("", "")
