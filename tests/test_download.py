import gzip
import hashlib
import io
import json
import multiprocessing
import os
import re
import stat
import tarfile
import threading
import zipfile
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
import sacrebleu.dataset.base
import sacrebleu.utils
import urllib3
import yaml
from made_up_mirror import FORMATS as MADE_UP
from made_up_mirror import lines, sentence, tarred, write_catalogue, write_mirror, zipped
from measured import assert_golden
from sacrebleu.dataset.fake_sgml import FakeSGMLDataset
from test_bad_input import files_of_at_most

from context_nmt.commands.corpus import download as command
from context_nmt.commands.corpus import status
from context_nmt.corpus.catalogue import FORMATS, DownloadFile, read_catalogue, read_entry
from context_nmt.corpus.contrastive import read_contrastive_set
from context_nmt.corpus.documents import read_documents
from context_nmt.corpus.download import make_corpus
from context_nmt.corpus.fetching import downloaded
from context_nmt.files import UserError, locked, read_json, read_lines, read_yaml, write_json
from stages import download as stage

ORIGIN = "http://127.0.0.1:9/nothing-listens-here"
ENTRIES = Path(__file__).parents[1] / "data" / "params.yaml"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Breaking(BaseHTTPRequestHandler):
    """Serves `content` to every request, and closes the connection after `patience` bytes of it."""

    content: bytes
    patience: int
    knows_ranges: bool
    asked: list[str | None]

    def do_GET(self):
        asked = self.headers.get("Range")
        self.asked.append(asked)
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.knows_ranges else 0
        rest = self.content[start:]
        self.send_response(206 if start and rest else 200 if rest else 416)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[: self.patience])

    def log_message(self, *_):
        pass


@contextmanager
def serving(handler):
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def breaking(monkeypatch):
    """The class of a server whose connections break off, with its address."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    class Own(Breaking):
        content = b"".join(b"line %d\n" % number for number in range(40_000))  # several blocks of the network
        patience = 150_000
        knows_ranges = True
        asked: ClassVar = []

    with serving(Own) as address:
        Own.address = address
        yield Own


@pytest.fixture
def mirror(tmp_path):
    (tmp_path / "mirror" / "toy").mkdir(parents=True)
    return tmp_path / "mirror"


@pytest.fixture
def served(mirror, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving(partial(Quiet, directory=mirror)) as address:
        yield address


def put(mirror, name, content):
    (mirror / "toy" / name).write_bytes(content)
    return {"url": f"{ORIGIN}/{name}", "sha256": hashlib.sha256(content).hexdigest()}


def download(mirror, files, *, place=None, **entry):
    data = mirror.parent / "data"
    data.mkdir(exist_ok=True)
    entry = {"format": "text", "licence": "none", "homepage": "none", "files": files, **entry}
    (data / "params.yaml").write_text(yaml.safe_dump({"corpora": {"toy": entry}}))
    make(data, "toy", str(mirror) if place is None else place)
    return data / "toy"


def make(data, corpus, mirror):
    checked = read_entry(data / "params.yaml", corpus)
    make_corpus(checked, data / corpus, checksums=data / "checksums.json", mirror=mirror)


def test_a_mirror_may_be_an_address_and_the_origin_follows(mirror, served):
    file = {"to": "train.en", **put(mirror, "a.en.gz", gzip.compress(b"a\n", mtime=0))}
    assert read_lines(download(mirror, [file], place=served + "/") / "train.en") == ["a"]
    (mirror / "toy" / "b.en").write_bytes(b"b\n")
    file = {"to": "train.en", "url": f"{served}/toy/b.en", "sha256": None}
    assert read_lines(download(mirror, [file], place=f"{served}/elsewhere") / "train.en") == ["b"]


def test_the_command_says_what_it_does_and_where_the_corpus_is(mirror, monkeypatch, capsys):
    download(mirror, [{"to": "train.en", **put(mirror, "a.en", b"a\n")}])
    capsys.readouterr()
    monkeypatch.chdir(mirror.parent)
    monkeypatch.setenv("DATA_MIRROR", str(mirror))
    command("toy")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("toy: ")
    assert lines[-1].endswith("data/toy")
    for place in ("miror", "mirror/toy/a.en"):
        monkeypatch.setenv("DATA_MIRROR", place)
        for call in (partial(command, "toy"), status):
            with pytest.raises(UserError, match=f"DATA_MIRROR is {place}, which is no folder; give "):
                call()
    monkeypatch.chdir(mirror)
    with pytest.raises(UserError, match="no such file; run this in the project's folder"):
        command("toy")


def test_what_is_nowhere_is_listed_with_every_place(mirror, served, monkeypatch):
    file = {"to": "train.en", "url": f"{served}/toy/none.en", "sha256": None}
    with pytest.raises(UserError, match=r"mirror/toy/none\.en: .*No such file.*; http://.*none\.en: 404"):
        download(mirror, [file])
    assert sorted(path.name for path in (mirror.parent / "data").iterdir()) == [".downloads", "params.yaml"]
    assert [path.suffix for path in (mirror.parent / "data/.downloads").iterdir()] == [".lock"]
    monkeypatch.setattr(urllib3.Retry, "sleep", lambda *_: None)
    cannot = r"a\.en: 127\.0\.0\.1 cannot be reached\. .*toy/a\.en.*DATA_MIRROR"
    with pytest.raises(UserError, match=cannot) as error:
        download(mirror, [file | {"url": f"{ORIGIN}/a.en"}], place="")
    assert "HTTPConnection" not in str(error.value)


def test_what_a_person_must_fetch_comes_from_the_mirror_alone(mirror, served, breaking):
    (mirror / "away").mkdir()
    files = [from_server(breaking)]
    for name in ("form", "other"):
        (mirror / f"away/{name}.en").write_bytes(b"not for programs\n")
        by_hand = {"by_hand": "Sign the form at example.org/form,\n  and wait.\n", "to": f"{name}.en"}
        files.append({"url": f"{served}/away/{name}.en", "sha256": None, **by_hand})
    steps = r"^toy: form\.en must be fetched by hand: Sign the form at example\.org/form, and wait\. .*toy/form\.en"
    for place in (None, mirror):
        with pytest.raises(UserError, match=steps + r".*DATA_MIRROR.*By hand, too: other\.en; see .*status toy"):
            download(mirror, files, place=str(place or ""))
    assert breaking.asked == []  # before anything is downloaded
    put(mirror, "form.en", b"a\n")
    assert read_lines(download(mirror, files[1:2]) / "form.en") == ["a"]


def test_another_checksum_is_an_error_and_keeps_the_old_corpus(mirror, capsys):
    known = put(mirror, "a.en", b"a\n")
    recorded = {"to": "train.en", "url": known["url"], "sha256": None}
    corpus = download(mirror, [recorded])
    assert read_json(corpus.parent / "checksums.json") == {known["url"]: known["sha256"]}
    assert known["sha256"] in capsys.readouterr().out
    download(mirror, [recorded])
    other = put(mirror, "a.en", b"b\n")
    for file in ({"to": "train.en", **known}, recorded):
        with pytest.raises(UserError, match=f"toy/a.en: its sha256 is {other['sha256']}; .*{known['sha256']}"):
            download(mirror, [file])
    assert read_lines(corpus / "train.en") == ["a"]
    assert not list(mirror.parent.rglob("*.partial"))


def test_a_download_that_was_complete_is_not_fetched_again(mirror, served):
    first = {"to": "train.en", **put(mirror, "a.en", b"a\n")}
    second = {"to": "train.de", **put(mirror, "a.de", b"x\n"), "sha256": "0" * 64}
    with pytest.raises(UserError, match="it must be 0000"):
        download(mirror, [first, second], place=served)
    (mirror / "toy" / "a.en").unlink()
    second["sha256"] = hashlib.sha256(b"x\n").hexdigest()
    assert read_lines(download(mirror, [first, second], place=served) / "train.en") == ["a"]


def unknown(mirror, name, content):
    """A file of the mirror whose checksum the entry lacks."""
    return put(mirror, name, content) | {"sha256": None}


LOGIN = b"<html>Sign in to download this file</html>\n"
CHAT = json.dumps({"1": [{"speaker": who, "source": "a", "target": "b"} for who in ("agent", "customer")]}).encode()
PACKED = tarred({"a.en": b"a\n" * 9})


def links():
    """Archives whose member a.en is a symbolic link, a hard link, and a link in a zip."""
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            info = tarfile.TarInfo("a.en")
            info.type, info.linkname = kind, "../../../etc/passwd"
            archive.addfile(info)
        yield packed.getvalue()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as zipped_archive:
        entry = zipfile.ZipInfo("a.en")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        zipped_archive.writestr(entry, "/etc/passwd")
    yield packed.getvalue()


TEXT, MEMBER, CHATS = {"to": "train.en"}, {"members": {"a.en": "train.en"}}, {"to": "train", "format": "bcontrast"}


@pytest.mark.parametrize(
    ("name", "entry", "bad", "good", "why"),
    [
        ("a.txt", {"to": "_ ||| train.en"}, b"0.9 ||| a ||| b\n", b"0.9 ||| a\n", "3 fields instead of 2"),
        ("a.en", TEXT, "schön\n".encode("latin-1"), "schön\n".encode(), "not UTF-8"),
        ("a.en", TEXT, b"", b"a\n", "no text"),
        ("a.en.gz", TEXT, gzip.compress(b"", mtime=0), gzip.compress(b"a\n", mtime=0), "no text"),
        (
            "a.en.gz",
            TEXT,
            gzip.compress(b"a\n" * 99, mtime=0)[:-9],
            gzip.compress(b"a\n", mtime=0),
            "cannot be read as text",
        ),
        ("a.tgz", MEMBER, LOGIN, PACKED, "cannot be read as text"),
        ("a.tgz", MEMBER, PACKED[:-40], PACKED, "cannot be read as text"),
        ("a.tgz", MEMBER, tarred({"b.en": b"b\n"}), PACKED, "'a.en' is not in the archive"),
        ("a.zip", MEMBER, zipped({"b.en": b"b\n"}), PACKED, "'a.en' is not in the archive"),
        *(("archive", MEMBER, bad, PACKED, "'a.en' is not a plain file") for bad in links()),
        ("a.json", CHATS, LOGIN, CHAT, "cannot be read as bcontrast"),
        ("a.json", CHATS, CHAT.replace(b'"b"', b'"b\\nc"'), CHAT, "a line break"),
    ],
)
@pytest.mark.parametrize("is_folder", [True, False], ids=["folder", "server"])
def test_a_file_that_is_wrong_is_named_and_can_be_replaced(mirror, served, is_folder, name, entry, bad, good, why):
    place = str(mirror) if is_folder else served
    file = entry | unknown(mirror, name, bad)
    with pytest.raises(UserError, match=re.escape(f"{place}/toy/{name}")) as error:
        download(mirror, [file], place=place)
    assert why in str(error.value)
    assert not re.search(r"\.partial|\n", str(error.value))
    if not is_folder:  # it is kept, as the entry may be wrong, and used again if the mirror lacks the file
        (mirror / "toy" / name).unlink()
        with pytest.raises(UserError, match=rf"(^|from )\S*/data/\.downloads/\w+-{re.escape(name)}"):
            download(mirror, [file], place="")
    for path in (mirror.parent / "data/.downloads").glob(f"*{name}"):
        assert str(path) in str(error.value)
        path.unlink()
    assert not (mirror.parent / "data/toy").exists()
    assert not (mirror.parent / "data/checksums.json").exists()
    put(mirror, name, good)
    corpus = download(mirror, [file], place=place)
    assert read_lines(corpus / "train.en")
    assert read_json(corpus.parent / "checksums.json") == {file["url"]: hashlib.sha256(good).hexdigest()}


@pytest.mark.parametrize("is_known", [True, False])
def test_a_right_file_that_does_not_fit_its_entry_is_kept(mirror, served, is_known):
    file = {"to": "_ ||| train.en", **(put if is_known else unknown)(mirror, "a.txt", b"a\n")}
    with pytest.raises(UserError, match=r"a\.txt: bad lines: 1 of 1; .* line 1 \(1 fields instead of 2\)"):
        download(mirror, [file], place=served)
    (mirror / "toy/a.txt").unlink()
    assert read_lines(download(mirror, [file | {"to": "train.en"}], place=served) / "train.en") == ["a"]


def test_a_download_without_a_checksum_is_used_again_unless_the_mirror_has_the_file(mirror, served, capsys):
    files = [{"to": f"train.{side}"} | unknown(mirror, f"a.{side}", b"a\n") for side in ("en", "de")]
    (mirror / "toy/a.de").unlink()
    for place in (served, str(mirror)):
        put(mirror, "a.en", f"from {place}\n".encode())
        with pytest.raises(UserError, match=r"a\.de cannot be downloaded: "):
            download(mirror, files, place=place)
    assert not (mirror.parent / "data/checksums.json").exists()
    put(mirror, "a.en", b"changed\n")
    put(mirror, "a.de", b"a\n")
    for place in ("", f"{served}/elsewhere"):
        assert read_lines(download(mirror, files[:1], place=place) / "train.en") == [f"from {served}"]
        (mirror.parent / "data/checksums.json").unlink()
    assert f"{served}/elsewhere/toy/a.en: 404" in capsys.readouterr().err
    assert read_lines(download(mirror, files, place=served) / "train.en") == ["changed"]
    assert read_lines(download(mirror, [files[0] | {"url": f"{ORIGIN}/b/a.en"}]) / "train.en") == ["changed"]


def test_a_full_disk_is_not_the_fault_of_a_file(mirror, breaking):
    packed = tarred({"train.tags.en-de.en": b"<title>a</title>\n" + b"a\n" * 50_000})
    archive = unknown(mirror, "a.tgz", packed) | {"members": {"train.tags.en-de.en": "train.en"}, "format": "iwslt"}
    for file, most, place in (
        (archive, 10_000, r"data/toy"),
        (from_server(breaking), 100_000, r"data/\.downloads/\w+-a\.en"),
    ):
        with files_of_at_most(most), pytest.raises(UserError, match=rf"{place}: cannot be written \(.*\)"):
            download(mirror, [file])
        assert len(read_lines(download(mirror, [file]) / "train.en")) > 30_000


def from_server(breaking, sha256="right"):
    sha256 = hashlib.sha256(breaking.content).hexdigest() if sha256 == "right" else sha256
    return {"url": f"{breaking.address}/a.en", "sha256": sha256, "to": "train.en"}


def part_of(mirror, file):
    """Where the unfinished download of a file is."""
    downloads = mirror.parent / "data/.downloads"
    downloads.mkdir(parents=True)
    path = downloaded(DownloadFile(**file), downloads)
    return path.with_name(f"{path.name}.part")


def parts(mirror):
    return [path.name[13:] for path in (mirror.parent / "data/.downloads").iterdir() if path.suffix != ".lock"]


@pytest.mark.parametrize("begun", ["", "part", "all", "of another version", "longer than the file"])
def test_a_download_with_a_checksum_resumes_unless_its_part_is_of_another_file(mirror, breaking, begun):
    content = {"part": breaking.content[:300_000], "all": breaking.content, "longer than the file": b"\0" * 10**6}
    part = part_of(mirror, from_server(breaking))
    part.write_bytes(content.get(begun, begun.encode()))
    begun_size = part.stat().st_size
    assert (download(mirror, [from_server(breaking)]) / "train.en").read_bytes() == breaking.content
    assert breaking.asked[0] == (f"bytes={begun_size}-" if begun else None)
    assert (None in breaking.asked[1:]) == (begun not in ("", "part", "all"))
    if not begun:
        starts = [int(asked[6:-1]) for asked in breaking.asked[1:]]
        assert starts == sorted(set(starts))
        assert starts[0] >= 2**16


@pytest.mark.parametrize("is_known", [True, False])
def test_without_ranges_or_a_checksum_a_download_starts_again_and_nothing_is_mixed(mirror, breaking, is_known):
    breaking.knows_ranges = not is_known
    file = from_server(breaking, "right" if is_known else None)
    with pytest.raises(UserError, match=r"cannot be downloaded: .*a\.en: .*(IncompleteRead|broken)"):
        download(mirror, [file])
    assert len(breaking.asked) == 2  # it got no further
    assert is_known or set(breaking.asked) == {None}
    assert parts(mirror) == ["a.en.part"]
    breaking.patience = 10**9
    if not is_known:
        breaking.content = b"another\n" * 80_000  # longer than the part
    assert (download(mirror, [file]) / "train.en").read_bytes() == breaking.content
    assert parts(mirror) == ["a.en"]


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        ("md5", "60b725f10c9c85c70d97880dfe8191b3", "d41d8cd98f00b204e9800998ecf8427e"),
        ("git_blob", "78981922613b2afb6025042ff6bd878ac1994e85", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
    ],
)
def test_other_checksums_than_sha256(mirror, kind, right, wrong):
    file = {"to": "train.en", "url": put(mirror, "a.en", b"a\n")["url"]}
    with pytest.raises(UserError, match=f"its {kind} is {right}; it must be {wrong}, as data/params.yaml says"):
        download(mirror, [file | {kind: wrong}])
    corpus = download(mirror, [file | {kind: right}])
    assert read_lines(corpus / "train.en") == ["a"]
    assert not (corpus.parent / "checksums.json").exists()


def test_another_address_follows_one_that_fails(mirror, served, breaking):
    put(mirror, "wrong.en", b"b\n")
    places = [f"{served}/toy/none.en", f"{served}/toy/wrong.en", f"{breaking.address}/a.en"]
    file = from_server(breaking) | {"url": places[0], "mirrors": places[1:]}
    corpus = download(mirror, [file], place="")
    assert (corpus / "train.en").read_bytes() == breaking.content
    with pytest.raises(UserError, match=r"none\.en: 404.*; http://.*wrong\.en: its sha256 is .*; http://.*a\.en: its"):
        download(mirror, [file | {"sha256": "0" * 64}], place="")
    assert parts(mirror) == ["none.en"]  # the right one, by the name of the first address


def test_corpora_that_are_made_at_once_do_not_disturb_each_other_and_record_their_checksums(mirror):
    data, known, entries = mirror.parent / "data", {}, {}
    data.mkdir()
    for name in (f"c{number}" for number in range(12)):
        (mirror / name).mkdir()
        (mirror / name / "a.en").write_text(f"{name}\n" * 20_000)
        known[f"{ORIGIN}/{name}/a.en"] = hashlib.sha256(f"{name}\n".encode() * 20_000).hexdigest()
        files = [{"url": f"{ORIGIN}/{name}/a.en", "sha256": None, "to": "train.en"}]
        entries[name] = {"format": "text", "licence": "none", "homepage": "none", "files": files}
    (data / "params.yaml").write_text(yaml.safe_dump({"corpora": entries}))
    at_once([partial(make, data, name, str(mirror)) for name in entries for _ in range(2)])
    assert read_json(data / "checksums.json") == known
    assert {name: read_lines(data / name / "train.en") for name in entries} == {
        name: [name] * 20_000 for name in entries
    }
    assert [path.name for path in data.iterdir() if path.suffix in (".partial", ".earlier")] == []


def at_once(calls):
    """Make each call in a process of its own; all must succeed."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(len(calls))
    processes = [context.Process(target=_after, args=(barrier, call)) for call in calls]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(calls)


def _after(barrier, call):
    barrier.wait()
    call()


def test_a_download_waits_for_another_process_with_the_same_file(mirror, breaking, capsys):
    breaking.patience = 10**9
    part = part_of(mirror, from_server(breaking))
    thread = threading.Thread(target=download, args=(mirror, [from_server(breaking)]))
    with locked(part.with_suffix(".lock")):
        thread.start()
        while "waiting" not in capsys.readouterr().err:
            thread.join(0.05)
        assert breaking.asked == []
    thread.join()
    download(mirror, [from_server(breaking) | {"to": "test.en"}])
    assert breaking.asked == [None]  # for both corpora


def test_a_large_download_says_its_size(mirror, breaking, monkeypatch, capsys):
    breaking.patience = 10**9
    monkeypatch.setattr("context_nmt.corpus.fetching.WORTH_SAYING", 10**5)
    monkeypatch.setattr("context_nmt.corpus.download.WORTH_SAYING", 10**5)
    breaking.content *= 5
    download(mirror, [from_server(breaking) | {"bytes": len(breaking.content)}])
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "toy: 2 MB or more to download"
    assert said[1].startswith("a.en: 2 MB from 127.0.0.1")
    assert said[-1].startswith("toy: its downloads, 2 MB, stay in ")


@pytest.mark.parametrize("case", read_yaml(Path(__file__).with_name("texts.yaml")))
def test_texts_are_joined_in_the_order_of_files_and_of_the_names_of_members(mirror, case):
    files = []
    for name, values in case["files"].items():
        keys = dict(values)
        content, pack = keys.pop("content"), zipped if keys.pop("zip", False) else tarred
        data = pack(content) if isinstance(content, dict) else content.encode()
        files.append(keys | put(mirror, name, gzip.compress(data) if name.endswith(".gz") else data))
    corpus = download(mirror, files)
    assert {path.name: path.read_bytes().decode() for path in corpus.iterdir()} == case["texts"]
    assert not list(mirror.parent.rglob("evil"))
    assert not (corpus.parent / ".downloads").exists()  # a folder's files are used where they are
    assert not (corpus.parent / "checksums.json").exists()


@pytest.mark.parametrize("pack", [None, tarred, zipped], ids=["files", "tar", "zip"])
def test_each_text_has_as_many_lines_as_its_translation_not_only_all_together(mirror, pack):
    texts = {"a.en": b"a\n" * 3, "a.de": b"A\n" * 2, "b.en": b"b\n" * 2, "b.de": b"B\nB\nB"}
    if pack:
        names = {name: f"train.{name[-2:]}" for name in texts}
        files = [{"members": names, **put(mirror, "one", pack(texts))}]
    else:
        files = [{"to": f"train.{name[-2:]}", **put(mirror, name, content)} for name, content in texts.items()]
    places = [rf"\(from {'' if pack else '.*toy/'}a\.{side}" for side in ("en", "de")]
    in_any_order = rf"train\.en 3 {places[0]}.*train\.de 2 {places[1]}|train\.de 2 {places[1]}.*train\.en 3 {places[0]}"
    with pytest.raises(UserError, match=in_any_order):
        download(mirror, files)


def test_texts_of_other_places_are_compared_as_a_whole(mirror):
    english = [{"to": "train.en", **put(mirror, name, b"a\n" * 3)} for name in ("a.en", "b.en")]
    fields = {"to": "train.en\ttrain.de", **put(mirror, "a.tsv", b"a\tA\n\nb\tB\n")}
    for size, files, message in (
        (6, english, ""),  # one text in German, of all the lines
        (5, english, r"lines: train\.de 5, train\.en 6 \(from .*toy/a\.en, .*toy/b\.en, .*toy/c\.de\)"),
        (3, [fields, english[1]], ""),
        (4, [fields, english[1]], r"train\.en 3 \(from .*toy/b\.en\), train\.de 4 \(from .*toy/c\.de\)"),
    ):
        german = {"to": "train.de", **put(mirror, "c.de", b"C\n" * size)}
        if message:
            with pytest.raises(UserError, match=message):
                download(mirror, [*files, german])
        else:
            corpus = download(mirror, [*files, german])
            assert len(read_lines(corpus / "train.de")) == len(read_lines(corpus / "train.en"))


BARS, TABS = "_ ||| train.ja ||| train.en", "_\ttrain.ja\ttrain.en"


@pytest.mark.parametrize(
    ("layout", "good", "bad"),
    [
        *((BARS, b"0.9 ||| ja|||x ||| en", bad) for bad in (b"0.9 ||| ja", b"0 ||| ja ||| en ||| x", b"0.9\tja\ten")),
        (TABS, b"0.9\tja|||x\ten", b"0.9\tja\tmore\ten"),
    ],
)
def test_a_line_with_another_number_of_fields_is_left_out_and_many_are_refused(mirror, layout, good, bad, capsys):
    corpus = download(mirror, [{"to": layout, **put(mirror, "a.txt", b"\n".join([good] * 99 + [bad]))}])
    assert read_lines(corpus / "train.ja") == ["ja|||x"] * 99
    assert read_lines(corpus / "train.en") == ["en"] * 99
    assert "note: a.txt: bad lines left out: 1 of 100: line 100 (" in capsys.readouterr().out
    file = {"to": layout, **put(mirror, "a.txt", b"\n".join([good] * 99 + [bad] * 2))}
    with pytest.raises(UserError, match=r"a\.txt: bad lines: 2 of 101; at most 1% .* The first: line 100 \("):
        download(mirror, [file])


@pytest.mark.parametrize(("count", "more"), [(1, ""), (5, ""), (6, "; and 1 more")])
def test_lines_that_are_not_utf8_are_left_out_in_all_languages_and_some_are_named(mirror, capsys, count, more):
    english, german = [b"a%d\n" % n for n in range(700)], [b"x%d\n" % n for n in range(700)]
    german[7 : 7 + count] = ["schön\n".encode("latin-1")] * count
    files = [
        {"to": f"train.{side}", **put(mirror, side, b"".join(text))} for side, text in (("en", english), ("de", german))
    ]
    corpus = download(mirror, files)
    kept = [n for n in range(700) if n not in range(7, 7 + count)]
    assert read_lines(corpus / "train.en") == [f"a{n}" for n in kept]
    assert read_lines(corpus / "train.de") == [f"x{n}" for n in kept]
    places = "; ".join(f"train.de, line {number} (not UTF-8)" for number in range(8, 8 + min(count, 5)))
    assert f" left out: {count} of 700: {places}{more}\n" in capsys.readouterr().out


def sgm(*documents, tag='<doc docid="1" genre="news" origlang="en">'):
    """Text as sacrebleu's archives have it, in documents."""
    parts = (f"{tag}\n<p>\n" + "".join(f'<seg id="1">{text}</seg>\n' for text in document) for document in documents)
    return f'<srcset setid="made up" srclang="any">\n{"".join(parts)}</srcset>\n'


def test_test_sets_come_from_sacrebleu_or_the_mirror(mirror, tmp_path, monkeypatch):
    for module in (sacrebleu.utils, sacrebleu.dataset.base):
        monkeypatch.setattr(module, "SACREBLEU_DIR", str(tmp_path / "sacrebleu"))
    more = sgm(["four", "five"], ["six"], tag="<DOC sysid={}>")
    for name, source, reference in (
        ("news/one", sgm(["one", "two"], ["three"]), sgm(["eins", "zwei"], ["drei"])),
        ("second", more, more),
        ("without", sgm(["seven"], tag=""), sgm(["sieben"], tag="")),
    ):
        dataset = FakeSGMLDataset(name, data=[], langpairs={"en-de": ["a/source.sgm", "a/reference.sgm"]})
        monkeypatch.setitem(sacrebleu.DATASETS, name, dataset)
        (tmp_path / "sacrebleu" / name / "raw/a").mkdir(parents=True)
        (tmp_path / "sacrebleu" / name / "raw/a/source.sgm").write_text(source)
        (tmp_path / "sacrebleu" / name / "raw/a/reference.sgm").write_text(reference)
    names = {"newstest": "news/one", "both": "news/one,second", "partly": "news/one,without"}
    sets = [{"name": name, "pair": "en-de", "split": split} for split, name in names.items()]
    corpus = download(mirror, [], sacrebleu=sets)
    assert read_lines(corpus / "newstest.en") == ["one", "two", "three"]
    assert read_lines(corpus / "newstest.de") == ["eins", "zwei", "drei"]
    assert read_lines(corpus / "both.en") == ["one", "two", "three", "four", "five", "six"]
    assert read_lines(corpus / "partly.de") == ["eins", "zwei", "drei", "sieben"]
    assert read_documents(corpus, "newstest", 3) == [range(2), range(2, 3)]
    assert read_documents(corpus, "both", 6) == [range(2), range(2, 3), range(3, 5), range(5, 6)]
    assert read_documents(corpus, "partly", 4) is None
    assert len(read_json(corpus.parent / "checksums.json")) == 6
    put(mirror, "newstest.documents", b"0\n")  # others than this project read
    assert read_documents(download(mirror, [], sacrebleu=sets), "newstest", 3) == [range(3)]
    put(mirror, "newstest.de", b"other\n")
    with pytest.raises(UserError, match=r"toy/newstest\.de: its sha256"):
        download(mirror, [], sacrebleu=sets)


def test_sacrebleu_without_network_is_one_line(mirror, monkeypatch):
    def leave(*_):
        raise SystemExit(1)

    monkeypatch.setattr(sacrebleu.utils, "get_source_file", leave)
    with pytest.raises(UserError, match=r"cannot be downloaded: .*sacrebleu://wmt13/en-de/dev\.en"):
        download(mirror, [], sacrebleu=[{"name": "wmt13", "pair": "en-de", "split": "dev"}])


@pytest.mark.parametrize(("entry", "file", "message"), read_yaml(Path(__file__).with_name("wrong_corpora.yaml")))
def test_wrong_entries_are_refused(mirror, entry, file, message):
    files = [] if file is None else [{"url": "http://x/a", "sha256": None, **file}]
    with pytest.raises(UserError, match=rf"params\.yaml: corpora\.toy: {message}"):
        download(mirror, **{"files": files} | entry)


def digests(corpus):
    """Lines of a golden file: the files of a corpus, with the number of their lines and the hash of their bytes."""
    return [
        f"{corpus.name}/{path.name} {len(read_lines(path))} {hashlib.sha256(path.read_bytes()).hexdigest()}\n"
        for path in sorted(corpus.iterdir())
    ]


def test_every_corpus_can_be_made_of_made_up_files(tmp_path):
    """No program has tried most of their addresses."""
    assert set(MADE_UP) == set(FORMATS)
    write_catalogue(ENTRIES, tmp_path / "params.yaml")
    write_mirror(tmp_path / "mirror", tmp_path / "params.yaml")
    made = []
    for corpus in read_catalogue(ENTRIES)["corpora"]:
        entry, folder = read_entry(tmp_path / "params.yaml", corpus), tmp_path / corpus
        # corpora share addresses, but not made-up files
        make_corpus(entry, folder, checksums=tmp_path / f"{corpus}.json", mirror=str(tmp_path / "mirror"))
        made += digests(folder)
        names = {path.name for path in folder.iterdir()}
        texts = {name for name in names if not name.endswith(".jsonl")}
        assert {name.partition(".")[0] for name in names - texts} == set(entry.contrastive_sets)
        assert entry.texts in (None, texts)
        outputs = [output for file in entry.of_format("text") for output in file.outputs]
        for output in {output for output in outputs if not output.endswith(".txt")}:
            parts = outputs.count(output)
            part = [sentence(output.partition(".")[2], n) for n in range(len(lines(output, "en")) // parts)]
            assert read_lines(folder / output) == part * parts
    assert_golden("".join(made), "made-up-corpora.txt")


def test_every_entry_is_right_one_address_has_one_checksum_and_what_needs_a_form_says_so():
    found, by_hand = {}, {}
    for name in (name for names in read_catalogue(ENTRIES).values() for name in names):
        entry = read_entry(ENTRIES, name)
        for file in getattr(entry, "files", ()):
            found.setdefault(file.url, set()).add(file.sha256)
            if file.by_hand and entry.format == "text":
                assert "http" in file.by_hand
                by_hand.setdefault(name, []).append(file.name)
    assert {url: checksums for url, checksums in found.items() if len(checksums) > 1} == {}
    assert sum(checksums != {None} for checksums in found.values()) > 25
    with pytest.raises(UserError, match=r"params\.yaml: no corpus 'multi30'; there are multi30k, .* and \d+ others"):
        read_entry(ENTRIES, "multi30")
    assert by_hand == {
        "wmt17-en-ru": ["1mcorpus.zip"],
        "wmt18-en-cs": ["czeng17.tsv.gz"],
        "aspec": ["train-1.txt", "train-2.txt", "dev.txt", "test.txt"],
    }


def test_the_stage_makes_what_its_plan_says(mirror, monkeypatch):
    file = {"to": "train.en", **put(mirror, "a.en", b"a\n")}
    entry = {"format": "text", "licence": "none", "homepage": "none", "files": [file]}
    folder = mirror.parent / "experiment"
    write_json(folder / "metrics/plans/data.toy.json", {"entry": entry, "code": {}})
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DATA_MIRROR", str(mirror))
    stage.main("toy", Path("checksums.json"))
    assert read_lines(folder / "data/toy/train.en") == ["a"]
    with pytest.raises(UserError, match=r"data\.tow\.json: no such plan; params\.yaml has under download: toy"):
        stage.main("tow", Path("checksums.json"))


def wit3(folder):
    """An entry of all archives of a mirror, each with the sources of two sets."""
    files = []
    for path in sorted(folder.glob("*.tgz")):
        pair = path.stem.rpartition("_")[2]
        name = rf"{pair}/IWSLT17\.TED\.(tst201[67])\.{pair}\.({pair[:2]})\.xml"
        with tarfile.open(path) as archive:
            found = filter(None, (re.fullmatch(name, member) for member in archive.getnames()))
            members = {match[0]: f"{match[1]}-{pair}.{match[2]}" for match in found}
        files.append({"url": f"{ORIGIN}/{path.name}", "sha256": None, "members": members})
    return {"format": "iwslt", "licence": "none", "homepage": "none", "files": files}


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["multi30k", "bcontrast", "discourse_mt", "tvsub", "wit3"])
def test_a_corpus_is_read_whole(tmp_path, corpus):
    real = Path(os.environ.get("DATA_MIRROR", "/nonexistent")) / corpus
    if not real.is_dir():
        pytest.skip(f"DATA_MIRROR has no {corpus}")
    entry = wit3(real) if corpus == "wit3" else read_yaml(ENTRIES)["corpora"][corpus]
    (tmp_path / "params.yaml").write_text(yaml.safe_dump({"corpora": {corpus: entry}}))
    make(tmp_path, corpus, str(real.parent))
    assert_golden("".join(digests(tmp_path / corpus)), f"real-{corpus}.txt")
    for path in (tmp_path / corpus).glob("*.jsonl"):
        pairs, index = read_contrastive_set(path)
        assert all(len(item["context"]) == 1 for item in index["items"])
        assert len(pairs) > 200
