"""`context-nmt corpus status`: corpora that are here, that can be downloaded, and files that a person must fetch."""

from pathlib import Path

import pytest
import yaml
from measured import assert_golden

from context_nmt.commands.corpus import status
from context_nmt.corpus.catalogue import DownloadFile
from context_nmt.corpus.fetching import download_path
from context_nmt.corpus.status import find_corpora
from context_nmt.files import UserError, read_json, read_yaml

FILE = {"url": "http://127.0.0.1:9/a.en", "sha256": None, "to": "train.en"}
TEXT = {"format": "text", "licence": "free", "homepage": "none"}
KNOWN = FILE | {"url": "http://127.0.0.1:9/b.en", "to": "dev.en", "bytes": 1_234_567_890}
CATALOGUE = {
    "generated": {"tiny": {}},
    "corpora": {
        "away": TEXT | {"files": [FILE, KNOWN]},
        "here": TEXT | {"files": [FILE]},
        "inside": TEXT | {"files": [FILE]},
        "unknown": TEXT | {"files": [FILE]},
        "licensed": TEXT | {"licence": "ask", "files": [FILE | {"by_hand": "Sign the form,\nand wait."}, KNOWN]},
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


def statuses(project):
    status(json=project / "status.json")
    return read_json(project / "status.json")


def test_the_status_of_a_corpus_depends_on_the_project_and_the_mirror(project, monkeypatch):
    statuses(project)
    assert_golden((project / "status.json").read_text(encoding="utf-8"), "corpus-status.json")
    kept = download_path(DownloadFile(**KNOWN), project / "data/.downloads")
    kept.parent.mkdir()
    kept.write_bytes(b"b\n")
    assert statuses(project)["away"]["download"] == {"bytes": 0, "unknown": 1}
    monkeypatch.setenv("DATA_MIRROR", str(project / "mirror"))
    assert statuses(project)["licensed"]["by_hand"] == {"a.en": "Sign the form, and wait."}
    for name in ("a.en", "b.en"):
        (project / "mirror/licensed" / name).write_text("a\n")
    assert (statuses(project)["licensed"]["from"], statuses(project)["licensed"]["by_hand"]) == ("mirror", {})
    monkeypatch.setenv("DATA_MIRROR", "http://127.0.0.1:9/mirror")  # an address without a server
    assert {status["from"] for name, status in statuses(project).items() if name != "tiny"} == {"mirror"}


def test_the_command_prints_folders_sizes_and_licences_and_for_one_corpus_the_steps_for_a_person(project, capsys):
    (project / "data/.downloads").mkdir()
    (project / "data/.downloads/abc-b.en").write_bytes(b"b" * 3_000_000)
    for name in (None, "licensed"):
        status(name)
    (project / "data/licensed").mkdir()
    (project / "data/licensed/train.en").write_text("a\n")
    status("licensed")
    assert_golden(capsys.readouterr().out, "corpus-status.txt")


def test_the_project_knows_the_corpora_of_all_papers(project):
    parameters = Path(__file__).parents[1] / "data/params.yaml"
    lists = (read_yaml(path)["download"] for path in parameters.parents[1].glob("experiments/*/params.yaml"))
    without_text = {"contrapro", "contrawsd", "discourse_mt"}  # to copy into a corpus of one's own
    assert find_corpora(parameters, mirror=None).keys() == without_text.union(*lists)


def test_other_folders_and_names_are_refused(project, monkeypatch):
    with pytest.raises(UserError, match=r"no corpus 'toy'; there are tiny, .*licensed"):
        status("toy")
    monkeypatch.chdir(project / "data")
    with pytest.raises(UserError, match=r"data/params\.yaml: no such file; run this in the project's folder"):
        status()
