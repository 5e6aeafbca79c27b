"""`context-nmt`: help with examples that can be called, exit statuses, and Ctrl-C at any time."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import typer
from terminal import Terminal

from context_nmt.__main__ import main
from context_nmt.commands import app

ROOT = Path(__file__).parents[1]
GROUPS = ("corpus",)


def commands(group, *names):
    """(names, command) of each command below a group."""
    for name, command in group.commands.items():
        if name in GROUPS:
            yield from commands(command, *names, name)
        else:
            yield (*names, name), command


COMMANDS = dict(commands(typer.main.get_command(app)))


def test_the_console_script_is_this_one():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert EntryPoint("context-nmt", scripts["context-nmt"], "console_scripts").load() is main


def test_the_version_is_that_of_the_package(call):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert call("--version") == (0, f"context-nmt {project['version']}\n", "")


@pytest.mark.parametrize("arguments", [(), ("--help",), ("corpus",), ("corpus", "--help")])
def test_a_group_lists_its_commands(call, arguments):
    status, output, errors = call(*arguments)
    assert status == (0 if "--help" in arguments else 2)
    depth = len([name for name in arguments if name in GROUPS])
    for name, *_ in (names[depth:] for names in COMMANDS if names[:depth] == arguments[:depth]):
        line = next(line for line in (output + errors).splitlines() if line.split()[:1] == [name])
        assert line[-1] == "." != line[-2], "its sentence is too long for a line"


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_help_says_what_is_read_and_written_and_has_an_example_that_parses(call, names):
    status, output, errors = call(*names, "--help")
    assert (status, errors) == (0, "")
    assert re.search("\n +Reads  +[^ ].*\n(.+\n)* +Writes  +[^ ].*\n(.+\n)* +Example  (.*)\n", output)
    example = output.split("  Example  ")[1].split("\n")[0]
    program, *words = shlex.split(example.split(" < ")[0])
    assert (program, tuple(words[: len(names)])) == ("context-nmt", names)
    COMMANDS[names].make_context(program, words[len(names) :])  # raises UsageError


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("nonsense",), 2, "No such command 'nonsense'"),
        (("repro", "--nonsense"), 2, "No such option"),
        (("repro", "--jobs", "0"), 2, "--jobs"),
        (("corpus", "describe"), 2, "Missing argument 'CORPUS'"),
        (("corpus", "describe", "nowhere"), 1, "error: nowhere"),
        (("new", "../x"), 1, "error: NAME is '../x'"),
        (("check", "nowhere"), 1, "error: nowhere is not a project"),
    ],
)
def test_exit_statuses(call, tmp_path, monkeypatch, arguments, status, message):
    monkeypatch.chdir(tmp_path)
    left, output, errors = call(*arguments)
    assert (left, output) == (status, "")
    assert message in errors
    assert status == 2 or errors.startswith("error: ")


@pytest.mark.parametrize("arguments", [("repro", ""), ("cancel", ""), ("corpus", "describe", ".", "--json=")])
def test_an_argument_that_is_empty_is_not_the_current_folder(call, tmp_path, monkeypatch, reproduced, arguments):
    (tmp_path / "params.yaml").touch()
    monkeypatch.chdir(tmp_path)
    status, _, errors = call(*arguments)
    assert (status, errors.count("\n"), reproduced) == (1, 1, [])
    assert "an argument is empty" in errors


@pytest.fixture
def reproduced(monkeypatch):
    """The folders that `repro` was called for; nothing is run."""
    folders = []
    monkeypatch.setattr(
        "context_nmt.pipeline.repro.reproduce",
        lambda folder, jobs, *, allow_missing, only, slurm, wait: folders.append((folder, jobs, allow_missing, only)),
    )
    return folders


def test_an_experiment_is_named_by_its_folder_or_its_name(call, tmp_path, monkeypatch, reproduced):
    monkeypatch.chdir(tmp_path)
    for folder in (".", "experiments/one", "two"):
        Path(folder).mkdir(exist_ok=True, parents=True)
        (Path(folder) / "params.yaml").write_text("{}")
    one, two = Path("experiments/one"), Path("two")
    calls = {
        (): (Path(), None, False, ()),
        (".",): (Path(), None, False, ()),
        ("one", "--jobs", "3"): (one, 3, False, ()),
        ("two",): (two, None, False, ()),
        (str(tmp_path / "two"),): (tmp_path / "two", None, False, ()),
        ("experiments/one", "--allow-missing"): (one, None, True, ()),
        ("one", "--only", "cmlm"): (one, None, False, ["cmlm"]),
    }
    for arguments in calls:
        assert call("repro", *arguments) == (0, "", "")
    assert reproduced == list(calls.values())
    status, _, errors = call("repro", "three")
    assert (status, len(reproduced)) == (1, len(calls))
    assert errors.startswith("error: three: no experiment")
    assert "one" in errors


INTERRUPTED = "import signal\nsignal.raise_signal(signal.SIGINT)\n"


def shell(folder, command, **environment):
    """What a shell makes of a command line: its status, standard output and standard error."""
    line, given = f"'{sys.executable}' -m context_nmt {command}", {"PYTHONPATH": str(ROOT / "src")} | environment
    options = {"cwd": folder, "env": os.environ | given, "input": "", "capture_output": True, "encoding": "latin-1"}
    done = subprocess.run(["sh", "-c", line], check=False, **options)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def texts(tmp_path):
    """A corpus of one sentence."""
    for language in ("en", "zh"):
        (tmp_path / f"test.{language}").write_text("Süß: 在河边 “x”\n", encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize(("library", "command"), [("typer", "--help"), ("torch", "translate runs/models/x-1")])
def test_ctrl_c_while_something_is_loaded(tmp_path, library, command):
    (tmp_path / f"{library}.py").write_text(INTERRUPTED)
    assert shell(tmp_path, command, PYTHONPATH=f"{tmp_path}:{ROOT / 'src'}") == (130, "", "interrupted\n")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("translate x <&-", "standard input is closed"),
        ("translate x >&-", "standard output is closed"),
        ("corpus describe . >&-", "standard output is closed"),
    ],
)
def test_a_closed_stream_is_one_line(texts, command, message):
    status, output, errors = shell(texts, command)
    assert (status, output, errors.count("\n")) == (1, "", 1)
    assert errors.startswith(f"error: {message}")


def test_without_standard_error_a_command_does_its_work(texts):
    score = "score --hypothesis test.zh --reference test.zh --language qq --output x"
    status, output, notes = shell(texts, score)
    assert "Moses" in notes
    assert shell(texts, f"{score} 2>&-") == (status, output, "") == (0, output, "")


SCORE = "score --hypothesis test.en --reference test.zh --language en"
OVER_INPUT = [
    f"{SCORE} --output test.en",
    f"{SCORE} --output link",
    f"{SCORE} --output sub/../test.zh",
    f"{SCORE} --source other --output other",
    "compare --system test.en --baseline other --reference test.zh --output other",
    "corpus describe . --json test.en",
    "corpus status --json data/params.yaml",
]


@pytest.mark.parametrize("command", OVER_INPUT)
def test_an_input_is_never_replaced_by_the_output(texts, call, monkeypatch, command):
    (texts / "sub").mkdir()
    (texts / "data").mkdir()
    (texts / "data/params.yaml").write_text("generated: {}\n")
    (texts / "other").write_bytes((texts / "test.en").read_bytes())
    (texts / "link").hardlink_to(texts / "test.en")
    before = {path: path.read_bytes() for path in texts.rglob("*") if path.is_file()}
    monkeypatch.chdir(texts)
    status, _, errors = call(*command.split())
    assert (status, errors.count("\n")) == (1, 1)
    assert errors.startswith(f"error: {command.split()[-2]} is {command.split()[-1]}")
    assert {path: path.read_bytes() for path in texts.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("variables", [{"PYTHONIOENCODING": "latin-1"}, {"PYTHONUTF8": "0", "LC_ALL": "C"}])
def test_what_goes_into_a_file_or_a_pipe_loses_nothing(texts, variables):
    status, output, errors = shell(texts, "corpus sample . --documents 1", **variables)
    assert (status, errors) == (0, "")
    assert "Süß: 在河边 “x”" in output.encode("latin-1").decode()


def test_what_a_terminal_cannot_show_is_replaced(texts):
    terminal = Terminal(
        [sys.executable, "-m", "context_nmt", "corpus", "sample", ".", "--documents", "1"],
        cwd=texts,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "ascii"},
    )
    assert terminal.finish() == 0
    assert "S??: ??? ?x?" in terminal.seen
