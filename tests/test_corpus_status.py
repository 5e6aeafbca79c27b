"""`context-nmt corpus status`: what is here, what can be had, and what a person must fetch."""

import os

import pytest
import yaml

from context_nmt.commands.corpus import status
from context_nmt.files import UserError, read_json

FILE = {"url": "http://127.0.0.1:9/a.en", "sha256": None, "to": "train.en"}
TEXT = {"format": "text", "licence": "free", "homepage": "none"}
CATALOGUE = {
    "generated": {"tiny": {}},
    "corpora": {
        "away": TEXT | {"files": [FILE]},
        "here": TEXT | {"files": [FILE]},
        "inside": TEXT | {"files": [FILE]},
        "licensed": TEXT | {"licence": "ask", "files": [FILE | {"by_hand": "Sign the form,\nand wait."}]},
    },
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/params.yaml").write_text(yaml.safe_dump(CATALOGUE))
    for folder, lines in (("data/here", 3), ("experiments/one/data/inside", 2)):
        (tmp_path / folder).mkdir(parents=True)
        for language in ("en", "de"):
            (tmp_path / folder / f"train.{language}").write_text("a\n" * lines)
        (tmp_path / folder / "train.documents").write_text("0\n")
        (tmp_path / folder / "test.en").write_text("b\n")
        for other in ("test.bound.en", "pronouns.en-de.jsonl", "test.gold.jsonl"):
            (tmp_path / folder / other).write_text("{}\n" * 9)
    (tmp_path / "mirror/licensed").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DATA_MIRROR", raising=False)
    return tmp_path


def found(project):
    status(json=project / "status.json")
    return read_json(project / "status.json")


def test_a_corpus_is_here_in_the_project_or_in_an_experiment(project):
    corpora = found(project)
    assert set(corpora) == {"tiny", "away", "here", "inside", "licensed"}
    assert {name: one["folder"] for name, one in corpora.items() if one["folder"]} == {
        "here": os.path.join("data", "here"),
        "inside": os.path.join("experiments", "one", "data", "inside"),
    }
    assert (corpora["here"]["sentences"], corpora["here"]["bytes"]) == (4, 97)
    assert (corpora["inside"]["sentences"], corpora["away"]["sentences"]) == (3, None)
    assert corpora["away"]["licence"] == "free"


def test_what_is_not_here_can_be_had_somewhere(project, monkeypatch):
    sources = {name: one["from"] for name, one in found(project).items()}
    assert sources == {
        "tiny": "generated",
        "away": "download",
        "here": "download",
        "inside": "download",
        "licensed": "by hand",
    }
    monkeypatch.setenv("DATA_MIRROR", str(project / "mirror"))
    assert found(project)["licensed"]["by_hand"] == {"a.en": "Sign the form, and wait."}
    (project / "mirror/licensed/a.en").write_text("a\n")
    assert found(project)["licensed"]["from"] == "mirror"
    assert found(project)["licensed"]["by_hand"] == {}
    monkeypatch.setenv("DATA_MIRROR", "http://127.0.0.1:9/mirror")  # an address, where nothing listens
    assert {name: one["from"] for name, one in found(project).items() if name != "tiny"} == dict.fromkeys(
        ("away", "here", "inside", "licensed"), "mirror"
    )


def test_the_table_has_every_corpus_and_that_of_one_is_followed_by_the_steps_for_a_person(project, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    status()
    printed = capsys.readouterr().out
    for name in found(project):
        assert f" {name} " in printed
    assert "corpus status NAME" in printed
    assert "Sign the form" not in printed
    status("licensed")
    printed = capsys.readouterr().out
    assert "licensed/a.en: Sign the form, and wait." in printed
    assert " away " not in printed
    (project / "data/licensed").mkdir()
    (project / "data/licensed/train.en").write_text("a\n")
    for name in (None, "licensed"):
        status(name)
        printed = capsys.readouterr().out
        assert "Sign the form" not in printed
        assert "corpus status NAME" not in printed


def test_other_folders_and_names_are_refused(project, monkeypatch):
    with pytest.raises(UserError, match=r"no corpus 'toy'; there are tiny, .*licensed"):
        status("toy")
    monkeypatch.chdir(project / "data")
    with pytest.raises(UserError, match=r"data/params\.yaml: no such file; run this in the project's folder"):
        status()
