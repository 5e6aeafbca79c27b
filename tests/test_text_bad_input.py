"""Wrong text files on the stages' command lines: a one-line message, status 1, no output."""

import importlib
import sys

import pytest
import yaml
from project_root import make_root

from context_nmt import command_line
from context_nmt.pipeline.planning import write_plans
from context_nmt.settings.parameters import Experiment

PARAMETERS = {
    "root": ".",
    "corpus": {"name": "toy", "source": "en", "target": "de", "validation": "valid", "tests": ["test"]},
    "units": {"merges": 20},
    "variants": {"plain": {}},
    "train": {"bitext": ["plain"]},
    "seeds": [1],
    "focus": "plain",
}
ENGLISH = [b"The man sees the dog.", b"We see a dog.", b"The dog sleeps."]
GERMAN = [b"Der Mann sieht den Hund.", b"Wir sehen einen Hund.", "Der Hund schläft.".encode()]
SPLITS = ("train", "valid", "test")


@pytest.fixture
def stage(tmp_path, monkeypatch, capsys):
    """Runs a stage's command line in an experiment with three pairs per split; returns status and standard error."""
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(PARAMETERS), encoding="utf-8")
    for split in SPLITS:
        write(tmp_path, f"{split}.en", ENGLISH)
        write(tmp_path, f"{split}.de", GERMAN)
    monkeypatch.chdir(tmp_path)
    make_root(tmp_path)
    write_plans(Experiment())

    def run(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        with pytest.raises(SystemExit) as system_exit:
            command_line.run(importlib.import_module(f"stages.{name}").main)
        return system_exit.value.code, capsys.readouterr().err

    return run


def write(root, name, lines):
    (root / "data/toy").mkdir(parents=True, exist_ok=True)
    (root / "data/toy" / name).write_bytes(b"".join(line + b"\n" for line in lines))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        *(
            (f"{split}.de", GERMAN[0] + b"\n", f"{split}.en has 3 lines and data/toy/{split}.de has 1")
            for split in SPLITS
        ),
        ("test.en", None, "no such file"),
        ("valid.de", b"", "the file is empty"),
        ("train.de", "Ja\nschön\n".encode("latin-1"), "line 2 is not UTF-8 (invalid start byte at byte 3)"),
        ("train.de", "Ja\n".encode("utf-16"), "line 1 is not UTF-8 (invalid start byte at byte 0)"),
        ("train.en", b"\r\n".join([*ENGLISH, b""]), r"sed -i 's/\r$//' data/toy/train.en"),
    ],
)
def test_wrong_files_are_named_and_leave_nothing(stage, tmp_path, name, content, message):
    path = tmp_path / "data/toy" / name
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    status, error = stage("tokenize")
    assert (status, error.count("\n")) == (1, 1)
    assert f"data/toy/{name}" in error
    assert message in error
    assert not (tmp_path / "runs").exists() or list((tmp_path / "runs").iterdir()) == []


def test_a_byte_order_mark_is_not_part_of_the_text(stage, tmp_path):
    outputs = []
    for mark in (b"", b"\xef\xbb\xbf"):
        for path in (tmp_path / "data/toy").iterdir():
            path.write_bytes(mark + path.read_bytes())
        assert [stage("tokenize")[0], stage("bpe")[0]] == [0, 0]
        outputs.append({path: path.read_bytes() for path in sorted((tmp_path / "runs").rglob("*")) if path.is_file()})
    assert outputs[0] == outputs[1]


def test_a_folder_in_place_of_a_file(stage, tmp_path):
    (tmp_path / "data/toy/test.en").unlink()
    (tmp_path / "data/toy/test.en").mkdir()
    assert stage("tokenize") == (1, "error: data/toy/test.en: is a folder, not a file\n")


def test_stages_without_their_input(stage, tmp_path):
    assert stage("bpe") == (1, "error: runs/tokenized/train.en: no such file\n")
    assert not (tmp_path / "runs").exists()
    for path in (tmp_path / "metrics/plans").glob("*.json"):
        path.unlink()
    for name, missing in (("tokenize", "text"), ("bpe", "units")):
        assert stage(name) == (1, f"error: metrics/plans/{missing}.json: no such file\n")
