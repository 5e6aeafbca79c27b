"""`context-nmt corpus status`: what is here, what can be had, and what a person must fetch."""

import os
from pathlib import Path

import pytest
import yaml

from context_nmt.commands.corpus import status
from context_nmt.corpus.catalogue import DownloadFile
from context_nmt.corpus.fetching import downloaded
from context_nmt.corpus.status import find_corpora, print_status
from context_nmt.files import UserError, read_json, read_yaml
from context_nmt.report.papers.published import read_papers

FILE = {"url": "http://127.0.0.1:9/a.en", "sha256": None, "to": "train.en"}
TEXT = {"format": "text", "licence": "free", "homepage": "none"}
KNOWN = FILE | {"url": "http://127.0.0.1:9/b.en", "to": "dev.en", "bytes": 1_234_567_890}
CATALOGUE = {
    "generated": {"tiny": {}},
    "corpora": {
        "away": TEXT | {"files": [FILE, KNOWN], "papers": ["dual_contextual"]},
        "here": TEXT | {"files": [FILE]},
        "inside": TEXT | {"files": [FILE]},
        "unknown": TEXT | {"files": [FILE]},
        "licensed": TEXT
        | {
            "licence": "ask, or see the homepage",
            "papers": ["lexical_shortcuts", "dual_contextual"],
            "files": [FILE | {"by_hand": "Sign the form,\nand wait."}, KNOWN],
        },
    },
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/params.yaml").write_text(yaml.safe_dump(CATALOGUE))
    for folder, lines in (("data/here", 3), ("experiments/one/data/inside", 2)):
        (tmp_path / folder).mkdir(parents=True)
        for language in ("en", "de"):
            (tmp_path / folder / f"train.{language}").write_text("a\n" * (lines - (language == "de")))
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


def test_a_corpus_is_here_or_can_be_had_somewhere(project, monkeypatch):
    corpora = found(project)
    assert {name: (one["from"], one["folder"]) for name, one in corpora.items()} == {
        "tiny": ("generated", None),
        "away": ("download", None),
        "here": ("download", os.path.join("data", "here")),
        "inside": ("download", os.path.join("experiments", "one", "data", "inside")),
        "unknown": ("download", None),
        "licensed": ("by hand", None),
    }
    assert [(corpora[name]["sentences"], corpora[name]["bytes"]) for name in ("here", "inside", "away")] == [
        *((4, 95), (3, 91), (None, None))
    ]
    assert corpora["away"]["licence"] == "free"
    assert corpora["away"]["download"] == {"bytes": 1_234_567_890, "unknown": 1}
    assert corpora["licensed"]["download"] == {"bytes": 1_234_567_890, "unknown": 0}
    kept = downloaded(DownloadFile(**KNOWN), project / "data/.downloads")
    kept.parent.mkdir()
    kept.write_bytes(b"b\n")
    assert found(project)["away"]["download"] == {"bytes": 0, "unknown": 1}
    monkeypatch.setenv("DATA_MIRROR", str(project / "mirror"))
    assert found(project)["licensed"]["by_hand"] == {"a.en": "Sign the form, and wait."}
    for name in ("a.en", "b.en"):
        (project / "mirror/licensed" / name).write_text("a\n")
    assert (found(project)["licensed"]["from"], found(project)["licensed"]["by_hand"]) == ("mirror", {})
    monkeypatch.setenv("DATA_MIRROR", "http://127.0.0.1:9/mirror")  # an address, where nothing listens
    assert {one["from"] for name, one in found(project).items() if name != "tiny"} == {"mirror"}


def test_each_paper_has_its_corpora_with_sizes_licences_and_the_steps_for_a_person(project, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    (project / "data/.downloads").mkdir()
    (project / "data/.downloads/abc-b.en").write_bytes(b"b" * 3_000_000)
    status()
    printed = capsys.readouterr().out
    _, dual, shortcuts, others, kept = printed.strip().split("\n\n")
    assert dual.splitlines()[0] == "Dual Contextual module (2021): 2,469 MB and 1 file of unknown size"
    for line in (
        "  away                      by itself: 1,235 MB and 1 file of unknown size",
        "  licensed                  by itself: 1,235 MB; by hand: 1 file, size unknown",
        "    licence: ask, or see the homepage, none",
        "    by hand, as DATA_MIRROR/licensed/a.en: Sign the form, and wait.",
    ):
        assert line in dual.splitlines()
    assert shortcuts.startswith("Lexical Shortcuts (2019): 1,235 MB\n  licensed ")
    assert "  here                      data/here: 4 sentences, 0.0 MB" in others.splitlines()
    assert "  tiny                      generated" in others.splitlines()
    assert "  unknown                   by itself: 1 file of unknown size" in others.splitlines()
    assert kept == "Downloads, kept until you delete data/.downloads: 3 MB"
    assert max(map(len, printed.splitlines())) <= 80
    status("licensed")
    printed = capsys.readouterr().out
    assert "Sign the form" in printed
    assert " away " not in printed
    (project / "data/licensed").mkdir()
    (project / "data/licensed/train.en").write_text("a\n")
    for name in (None, "licensed"):
        status(name)
        assert "Sign the form" not in capsys.readouterr().out


def test_steps_are_wrapped_and_those_in_common_are_printed_once_for_a_paper(project, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    steps = "Open the page of the archive and download it, and then unpack one file of it: tar -xzf archive.tgz"
    files = [FILE | {"url": f"http://a/{name}.en", "by_hand": f"{steps} {name}.en"} for name in ("one", "two")]
    catalogue = {
        name: TEXT | {"homepage": "https://example.org/", "papers": [paper], "files": [file]}
        for name, paper, file in (
            ("first", "dual_contextual", files[0]),
            ("second", "dual_contextual", files[1]),
            ("third", "lexical_shortcuts", files[1]),
        )
    }
    (project / "data/params.yaml").write_text(yaml.safe_dump({"corpora": catalogue}, sort_keys=False))
    status()
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 60
    _, dual, shortcuts = (" ".join(part.split()) for part in printed.strip().split("\n\n"))
    assert f"by hand, as DATA_MIRROR/first/one.en: {steps} one.en" in dual
    assert dual.endswith(
        "by hand, as DATA_MIRROR/second/two.en: as first/one.en, but with the command: tar -xzf archive.tgz two.en"
    )
    assert shortcuts.endswith(f"{steps} two.en")
    assert printed.count("licence: free, https://example.org/") == 3


def test_the_project_knows_the_corpora_of_all_papers(project):
    parameters = Path(__file__).parents[1] / "data/params.yaml"
    corpora = find_corpora(parameters, mirror=None)
    assert {paper for one in corpora.values() for paper in one["papers"]} == set(read_papers())
    lists = (
        read_yaml(path)["download"]
        for path in parameters.parents[1].glob("experiments/*/params.yaml")
        if not path.parent.name.startswith(("miniature", "multi30k", "small", "bcontrast", "iwslt14-de-en"))
    )
    assert {name for one in lists for name in one} == {name for name, one in corpora.items() if one["papers"]}
    print_status(corpora, parameters, dict.fromkeys(read_papers(), "A paper"))


def test_an_unknown_paper_is_refused(project):
    corpora = CATALOGUE["corpora"] | {"odd": TEXT | {"files": [FILE], "papers": ["dual"]}}
    (project / "data/params.yaml").write_text(yaml.safe_dump({"corpora": corpora}))
    with pytest.raises(
        UserError, match=r"params\.yaml: corpora\.odd: papers: no paper 'dual'; there are context_aware"
    ):
        status()


def test_other_folders_and_names_are_refused(project, monkeypatch):
    with pytest.raises(UserError, match=r"no corpus 'toy'; there are tiny, .*licensed"):
        status("toy")
    monkeypatch.chdir(project / "data")
    with pytest.raises(UserError, match=r"data/params\.yaml: no such file; run this in the project's folder"):
        status()
