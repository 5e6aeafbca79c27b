import gzip
import hashlib
import io
import json
import os
import re
import stat
import tarfile
import threading
import zipfile
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
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
from context_nmt.corpus.catalogue import DownloadFile, read_catalogue, read_entry, read_formats
from context_nmt.corpus.contrastive import read_contrastive_set
from context_nmt.corpus.documents import read_documents
from context_nmt.corpus.download import make_corpus
from context_nmt.corpus.fetching import download_path
from context_nmt.files import UserError, locked, read_json, read_lines, read_yaml, write_json
from stages import download as stage

ORIGIN = "http://127.0.0.1:9/nothing-listens-here"
ENTRIES = Path(__file__).parents[1] / "data" / "params.yaml"


class Quiet:
    def log_message(self, *_):
        pass


class FolderHandler(Quiet, SimpleHTTPRequestHandler):
    pass


class BreakingHandler(Quiet, BaseHTTPRequestHandler):
    """Serves `content` to every request, and closes the connection after `limit` bytes; keeps the requested ranges."""

    content: bytes
    limit: int
    supports_ranges: bool
    ranges: list[str | None]

    def do_GET(self):
        requested = self.headers.get("Range")
        self.ranges.append(requested)
        start = int(requested.removeprefix("bytes=").removesuffix("-")) if requested and self.supports_ranges else 0
        rest = self.content[start:]
        self.send_response(206 if start and rest else 200 if rest else 416)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[: self.limit])


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
    """The handler class of a server whose connections break, with its address."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    class Handler(BreakingHandler):
        content = b"".join(b"line %d\n" % number for number in range(40_000))  # several blocks of the network
        limit = 150_000
        supports_ranges = True
        ranges: ClassVar = []

    with serving(Handler) as address:
        Handler.address = address
        yield Handler


@pytest.fixture
def mirror(tmp_path):
    (tmp_path / "mirror" / "toy").mkdir(parents=True)
    return tmp_path / "mirror"


@pytest.fixture
def served(mirror, monkeypatch):
    """The address of a server of the mirror; retries do not wait."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(urllib3.Retry, "sleep", lambda *_: None)
    with serving(partial(FolderHandler, directory=mirror)) as address:
        yield address


def put(mirror, name, content):
    """Put a file into the mirror; return its keys in an entry."""
    (mirror / "toy" / name).write_bytes(content)
    return {"url": f"{ORIGIN}/{name}", "sha256": hashlib.sha256(content).hexdigest()}


def put_unverified(mirror, name, content):
    """Put a file into the mirror; its entry lacks a checksum."""
    return put(mirror, name, content) | {"sha256": None}


def download(mirror, files, *, source=None, **entry):
    """Make the corpus of an entry with these files; by default, the source is the mirror's folder."""
    data = mirror.parent / "data"
    data.mkdir(exist_ok=True)
    entry = {"format": "text", "licence": "none", "homepage": "none", "files": files, **entry}
    (data / "params.yaml").write_text(yaml.safe_dump({"corpora": {"toy": entry}}))
    make(data, "toy", str(mirror) if source is None else source)
    return data / "toy"


def make(data, corpus, mirror):
    entry = read_entry(data / "params.yaml", corpus)
    make_corpus(entry, data / corpus, checksums=data / "checksums.json", mirror=mirror)


def test_the_mirror_may_be_an_address_and_the_url_is_next(mirror, served):
    file = {"to": "train.en", **put(mirror, "a.en.gz", gzip.compress(b"a\n", mtime=0))}
    assert read_lines(download(mirror, [file], source=served + "/") / "train.en") == ["a"]
    (mirror / "toy" / "b.en").write_bytes(b"b\n")
    file = {"to": "train.en", "url": f"{served}/toy/b.en", "sha256": None}
    assert read_lines(download(mirror, [file], source=f"{served}/elsewhere") / "train.en") == ["b"]


def test_the_command_prints_what_it_does_and_where_the_corpus_is(mirror, monkeypatch, capsys):
    download(mirror, [{"to": "train.en", **put(mirror, "a.en", b"a\n")}])
    capsys.readouterr()
    monkeypatch.chdir(mirror.parent)
    monkeypatch.setenv("DATA_MIRROR", str(mirror))
    command("toy")
    printed = capsys.readouterr().err.splitlines()
    assert printed[0].startswith("toy: ")
    assert printed[-1].endswith("data/toy")
    for path in ("miror", "mirror/toy/a.en"):
        monkeypatch.setenv("DATA_MIRROR", path)
        for call in (partial(command, "toy"), status):
            with pytest.raises(UserError, match=f"DATA_MIRROR is {path}, which is not a folder; give "):
                call()
    monkeypatch.chdir(mirror)
    with pytest.raises(UserError, match="no such file; run this in the project's folder"):
        command("toy")


def test_a_missing_file_is_named_with_every_source(mirror, served):
    file = {"to": "train.en", "url": f"{served}/toy/none.en", "sha256": None}
    with pytest.raises(UserError, match=r"mirror/toy/none\.en: .*No such file.*; http://.*none\.en: 404"):
        download(mirror, [file])
    assert sorted(path.name for path in (mirror.parent / "data").iterdir()) == [".downloads", "params.yaml"]
    assert [path.suffix for path in (mirror.parent / "data/.downloads").iterdir()] == [".lock"]
    message = r"a\.en: 127\.0\.0\.1 cannot be reached\. .*toy/a\.en.*DATA_MIRROR"
    with pytest.raises(UserError, match=message) as error:
        download(mirror, [file | {"url": f"{ORIGIN}/a.en"}], source="")
    assert "HTTPConnection" not in str(error.value)


def test_a_second_file_that_fails_leaves_no_corpus_and_another_try_completes_it(mirror, served):
    files = []
    for language in ("en", "de"):
        keys = put(mirror, f"a.{language}", f"{language}\n".encode())
        files.append({"to": f"train.{language}", **keys, "url": f"{served}/toy/a.{language}"})
    second = (mirror / "toy/a.de").rename(mirror / "later.de")
    with pytest.raises(UserError, match=r"a\.de: 404"):
        download(mirror, files, source="")
    assert sorted(path.name for path in (mirror.parent / "data").iterdir()) == [".downloads", "params.yaml"]
    assert parts(mirror) == ["a.en"]
    second.rename(mirror / "toy/a.de")
    (mirror / "toy/a.en").unlink()  # it is not fetched again
    corpus = download(mirror, files, source="")
    assert {path.name: path.read_text() for path in corpus.iterdir()} == {"train.en": "en\n", "train.de": "de\n"}


def test_files_by_hand_come_only_from_the_mirror_and_are_needed_first(mirror, served, breaking):
    (mirror / "away").mkdir()
    files = [from_server(breaking)]
    for name in ("form", "other"):
        (mirror / f"away/{name}.en").write_bytes(b"not for programs\n")
        by_hand = {"by_hand": "Sign the form at example.org/form,\n  and wait.\n", "to": f"{name}.en"}
        files.append({"url": f"{served}/away/{name}.en", "sha256": None, **by_hand})
    steps = r"^toy: form\.en must be fetched by hand: Sign the form at example\.org/form, and wait\. .*toy/form\.en"
    for source in ("", str(mirror)):
        with pytest.raises(UserError, match=steps + r".*DATA_MIRROR.*Also by hand: other\.en; see .*status toy"):
            download(mirror, files, source=source)
    assert breaking.ranges == []  # nothing was requested
    put(mirror, "form.en", b"a\n")
    assert read_lines(download(mirror, files[1:2]) / "form.en") == ["a"]


CHECKSUMS = {  # of b"a\n" and of b"b\n"
    "sha256": tuple(hashlib.sha256(content).hexdigest() for content in (b"a\n", b"b\n")),
    "md5": ("60b725f10c9c85c70d97880dfe8191b3", "3b5d5c3712955042212316173ccf37be"),
    "git_blob": ("78981922613b2afb6025042ff6bd878ac1994e85", "61780798228d17af2d34fce4cfbdf35556832472"),
}


@pytest.mark.parametrize(
    ("kind", "record"), [*((kind, "params.yaml") for kind in CHECKSUMS), ("sha256", "checksums.json")]
)
def test_another_checksum_is_an_error_and_keeps_the_old_corpus(mirror, capsys, kind, record):
    right, wrong = CHECKSUMS[kind]
    url = put(mirror, "a.en", b"a\n")["url"]
    file = {"to": "train.en", "url": url} | ({kind: right} if record == "params.yaml" else {"sha256": None})
    corpus = download(mirror, [file])
    if record == "checksums.json":
        assert read_json(corpus.parent / record) == {url: right}
        assert right in capsys.readouterr().out
        download(mirror, [file])
    else:
        assert not (corpus.parent / "checksums.json").exists()
    put(mirror, "a.en", b"b\n")
    with pytest.raises(UserError, match=rf"toy/a\.en: its {kind} is {wrong}; it must be {right} \(data/{record}\)"):
        download(mirror, [file])
    assert read_lines(corpus / "train.en") == ["a"]
    assert not list(mirror.parent.rglob("*.partial"))


LOGIN = b"<html>Sign in to download this file</html>\n"
CHAT = json.dumps({"1": [{"speaker": who, "source": "a", "target": "b"} for who in ("agent", "customer")]}).encode()
PACKED = tarred({"a.en": b"a\n" * 9})


def archives_of_links():
    """Archives whose member a.en is a symbolic link, a hard link, and a symbolic link in a zip."""
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
        member = tarfile.TarInfo("a.en")
        member.type, member.linkname = kind, "../../../etc/passwd"
        yield member.tobuf() + bytes(2 * tarfile.BLOCKSIZE)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        member = zipfile.ZipInfo("a.en")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(member, "/etc/passwd")
    yield packed.getvalue()


TEXT, MEMBER, CHATS = {"to": "train.en"}, {"members": {"a.en": "train.en"}}, {"to": "train", "format": "bcontrast"}


@pytest.mark.parametrize(
    ("name", "entry", "bad", "good", "reason"),
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
        *(("archive", MEMBER, bad, PACKED, "'a.en' is not a plain file") for bad in archives_of_links()),
        ("a.json", CHATS, LOGIN, CHAT, "cannot be read as bcontrast"),
        ("a.json", CHATS, CHAT.replace(b'"b"', b'"b\\nc"'), CHAT, "a line break"),
    ],
)
@pytest.mark.parametrize("is_folder", [True, False], ids=["folder", "server"])
def test_a_wrong_file_is_named_and_can_be_replaced(mirror, served, is_folder, name, entry, bad, good, reason):
    source = str(mirror) if is_folder else served
    file = entry | put_unverified(mirror, name, bad)
    with pytest.raises(UserError, match=re.escape(f"{source}/toy/{name}")) as error:
        download(mirror, [file], source=source)
    assert reason in str(error.value)
    assert not re.search(r"\.partial|\n", str(error.value))
    if not is_folder:  # it is kept, because the entry may be wrong, and used again if the mirror lacks the file
        (mirror / "toy" / name).unlink()
        with pytest.raises(UserError, match=rf"(^|from )\S*/data/\.downloads/\w+-{re.escape(name)}"):
            download(mirror, [file], source="")
    for path in (mirror.parent / "data/.downloads").glob(f"*{name}"):
        assert str(path) in str(error.value)
        path.unlink()
    assert not (mirror.parent / "data/toy").exists()
    assert not (mirror.parent / "data/checksums.json").exists()
    put(mirror, name, good)
    corpus = download(mirror, [file], source=source)
    assert read_lines(corpus / "train.en")
    assert read_json(corpus.parent / "checksums.json") == {file["url"]: hashlib.sha256(good).hexdigest()}


def test_a_download_without_a_checksum_is_used_again_unless_the_mirror_has_the_file(mirror, served, capsys):
    files = [{"to": f"train.{side}"} | put_unverified(mirror, f"a.{side}", b"a\n") for side in ("en", "de")]
    (mirror / "toy/a.de").unlink()
    for source in (served, str(mirror)):
        put(mirror, "a.en", f"from {source}\n".encode())
        with pytest.raises(UserError, match=r"a\.de cannot be downloaded: "):
            download(mirror, files, source=source)
    assert not (mirror.parent / "data/checksums.json").exists()
    put(mirror, "a.en", b"changed\n")
    put(mirror, "a.de", b"a\n")
    for source in ("", f"{served}/elsewhere"):
        assert read_lines(download(mirror, files[:1], source=source) / "train.en") == [f"from {served}"]
        (mirror.parent / "data/checksums.json").unlink()
    assert f"{served}/elsewhere/toy/a.en: 404" in capsys.readouterr().err
    assert read_lines(download(mirror, files, source=served) / "train.en") == ["changed"]
    assert read_lines(download(mirror, [files[0] | {"url": f"{ORIGIN}/b/a.en"}]) / "train.en") == ["changed"]


def test_a_full_disk_is_not_the_fault_of_a_file(mirror, breaking):
    packed = tarred({"train.tags.en-de.en": b"<title>a</title>\n" + b"a\n" * 50_000})
    archive = put_unverified(mirror, "a.tgz", packed) | {
        "members": {"train.tags.en-de.en": "train.en"},
        "format": "iwslt",
    }
    for file, limit, path in (
        (archive, 10_000, r"data/toy"),
        (from_server(breaking), 100_000, r"data/\.downloads/\w+-a\.en"),
    ):
        with files_of_at_most(limit), pytest.raises(UserError, match=rf"{path}: cannot be written \(.*\)"):
            download(mirror, [file])
        assert len(read_lines(download(mirror, [file]) / "train.en")) > 30_000


def from_server(breaking, sha256="right"):
    sha256 = hashlib.sha256(breaking.content).hexdigest() if sha256 == "right" else sha256
    return {"url": f"{breaking.address}/a.en", "sha256": sha256, "to": "train.en"}


def part_path(mirror, file):
    """The path of a file's unfinished download."""
    downloads = mirror.parent / "data/.downloads"
    downloads.mkdir(parents=True)
    path = download_path(DownloadFile(**file), downloads)
    return path.with_name(f"{path.name}.part")


def parts(mirror):
    return [path.name[13:] for path in (mirror.parent / "data/.downloads").iterdir() if path.suffix != ".lock"]


@pytest.mark.parametrize("begun", ["", "part", "all", "of another version", "longer than the file"])
def test_a_download_with_a_checksum_resumes_unless_its_part_is_of_another_file(mirror, breaking, begun):
    content = {"part": breaking.content[:300_000], "all": breaking.content, "longer than the file": b"\0" * 10**6}
    part = part_path(mirror, from_server(breaking))
    part.write_bytes(content.get(begun, begun.encode()))
    begun_size = part.stat().st_size
    assert (download(mirror, [from_server(breaking)]) / "train.en").read_bytes() == breaking.content
    assert breaking.ranges[0] == (f"bytes={begun_size}-" if begun else None)
    assert (None in breaking.ranges[1:]) == (begun not in ("", "part", "all"))
    if not begun:
        starts = [int(requested[6:-1]) for requested in breaking.ranges[1:]]
        assert starts == sorted(set(starts))
        assert starts[0] >= 2**16


@pytest.mark.parametrize("has_checksum", [True, False])
def test_without_ranges_or_a_checksum_a_download_starts_again_and_nothing_is_mixed(mirror, breaking, has_checksum):
    breaking.supports_ranges = not has_checksum
    file = from_server(breaking, "right" if has_checksum else None)
    with pytest.raises(UserError, match=r"cannot be downloaded: .*a\.en: .*(IncompleteRead|broken)"):
        download(mirror, [file])
    assert len(breaking.ranges) == 2  # it got no further
    assert has_checksum or set(breaking.ranges) == {None}
    assert parts(mirror) == ["a.en.part"]
    breaking.limit = 10**9
    if not has_checksum:
        breaking.content = b"another\n" * 80_000  # longer than the part
    assert (download(mirror, [file]) / "train.en").read_bytes() == breaking.content
    assert parts(mirror) == ["a.en"]


def test_another_address_is_used_if_one_fails(mirror, served, breaking):
    put(mirror, "wrong.en", b"b\n")
    addresses = [f"{served}/toy/none.en", f"{served}/toy/wrong.en", f"{breaking.address}/a.en"]
    file = from_server(breaking) | {"url": addresses[0], "mirrors": addresses[1:]}
    corpus = download(mirror, [file], source="")
    assert (corpus / "train.en").read_bytes() == breaking.content
    with pytest.raises(UserError, match=r"none\.en: 404.*; http://.*wrong\.en: its sha256 is .*; http://.*a\.en: its"):
        download(mirror, [file | {"sha256": "0" * 64}], source="")
    assert parts(mirror) == ["none.en"]  # the right file, by the name of the first address


def test_corpora_that_are_made_at_once_do_not_disturb_each_other_and_record_their_checksums(mirror):
    data, checksums, entries = mirror.parent / "data", {}, {}
    data.mkdir()
    for name in (f"c{number}" for number in range(12)):
        (mirror / name).mkdir()
        (mirror / name / "a.en").write_text(f"{name}\n" * 20_000)
        checksums[f"{ORIGIN}/{name}/a.en"] = hashlib.sha256(f"{name}\n".encode() * 20_000).hexdigest()
        files = [{"url": f"{ORIGIN}/{name}/a.en", "sha256": None, "to": "train.en"}]
        entries[name] = {"format": "text", "licence": "none", "homepage": "none", "files": files}
    (data / "params.yaml").write_text(yaml.safe_dump({"corpora": entries}))
    start = get_context("fork").Barrier(2 * len(entries))
    with ProcessPoolExecutor(start.parties, get_context("fork"), initializer=start.wait) as pool:
        for future in [pool.submit(make, data, name, str(mirror)) for name in entries for _ in range(2)]:
            future.result()
    assert read_json(data / "checksums.json") == checksums
    assert {name: read_lines(data / name / "train.en") for name in entries} == {
        name: [name] * 20_000 for name in entries
    }
    assert [path.name for path in data.iterdir() if path.suffix in (".partial", ".earlier")] == []


def test_a_download_waits_for_another_process_with_the_same_file(mirror, breaking, capsys):
    breaking.limit = 10**9
    part = part_path(mirror, from_server(breaking))
    thread = threading.Thread(target=download, args=(mirror, [from_server(breaking)]))
    with locked(part.with_suffix(".lock")):
        thread.start()
        while "waiting" not in capsys.readouterr().err:
            thread.join(0.05)
        assert breaking.ranges == []
    thread.join()
    download(mirror, [from_server(breaking) | {"to": "test.en"}])
    assert breaking.ranges == [None]  # one request for both corpora


def test_the_size_of_a_large_download_is_announced(mirror, breaking, monkeypatch, capsys):
    breaking.limit = 10**9
    monkeypatch.setattr("context_nmt.corpus.fetching.LARGE_DOWNLOAD", 10**5)
    monkeypatch.setattr("context_nmt.corpus.download.LARGE_DOWNLOAD", 10**5)
    breaking.content *= 5
    download(mirror, [from_server(breaking) | {"bytes": len(breaking.content)}])
    printed = capsys.readouterr().err.splitlines()
    assert printed[0] == "toy: 2 MB or more to download"
    assert printed[1].startswith("a.en: 2 MB from 127.0.0.1")
    assert printed[-1].startswith("toy: its downloads, 2 MB, stay in ")


@pytest.mark.parametrize("case", read_yaml(Path(__file__).with_name("texts.yaml")))
def test_texts_are_joined_in_the_order_of_files_and_of_the_names_of_members(mirror, case):
    files = []
    for name, values in case["files"].items():
        keys = dict(values)
        content, pack = keys.pop("content"), zipped if keys.pop("zip", False) else tarred
        data = pack(content) if isinstance(content, dict) else content.encode()
        files.append(keys | put(mirror, name, gzip.compress(data) if name.endswith(".gz") else data))
    if "error" in case:
        with pytest.raises(UserError, match=case["error"]):
            download(mirror, files)
        return
    corpus = download(mirror, files)
    assert {path.name: path.read_bytes().decode() for path in corpus.iterdir()} == case["texts"]
    assert not list(mirror.parent.rglob("evil"))
    assert not (corpus.parent / ".downloads").exists()  # a folder's files are used where they are
    assert not (corpus.parent / "checksums.json").exists()


BARS, TABS = "_ ||| train.ja ||| train.en", "_\ttrain.ja\ttrain.en"


@pytest.mark.parametrize(
    ("layout", "good", "bad"),
    [
        *((BARS, b"0.9 ||| ja|||x ||| en", bad) for bad in (b"0.9 ||| ja", b"0 ||| ja ||| en ||| x", b"0.9\tja\ten")),
        (TABS, b"0.9\tja|||x\ten", b"0.9\tja\tmore\ten"),
    ],
)
def test_lines_with_another_number_of_fields_are_left_out_unless_they_are_many(mirror, layout, good, bad, capsys):
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
    """Documents in the SGML of sacrebleu's archives."""
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
    put(mirror, "newstest.documents", b"0\n")  # not what this project extracts
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
    """Lines of a golden file: the files of a corpus with their numbers of lines and their hashes."""
    return [
        f"{corpus.name}/{path.name} {len(read_lines(path))} {hashlib.sha256(path.read_bytes()).hexdigest()}\n"
        for path in sorted(corpus.iterdir())
    ]


def test_every_corpus_can_be_made_of_made_up_files(tmp_path):
    """Most of their addresses have never been tried."""
    assert set(MADE_UP) == set(read_formats())
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
        outputs = [output for file in entry.files_of_format("text") for output in file.outputs]
        for output in {output for output in outputs if not output.endswith(".txt")}:
            parts = outputs.count(output)
            part = [sentence(output.partition(".")[2], n) for n in range(len(lines(output, "en")) // parts)]
            assert read_lines(folder / output) == part * parts
    assert_golden("".join(made), "made-up-corpora.txt")


def test_every_entry_is_valid_and_an_address_has_one_checksum():
    checksums_by_url, by_hand = {}, {}
    for name in (name for names in read_catalogue(ENTRIES).values() for name in names):
        entry = read_entry(ENTRIES, name)
        for file in getattr(entry, "files", ()):
            checksums_by_url.setdefault(file.url, set()).add(file.sha256)
            if file.by_hand and entry.format == "text":
                assert "http" in file.by_hand
                by_hand.setdefault(name, []).append(file.name)
    assert {url: checksums for url, checksums in checksums_by_url.items() if len(checksums) > 1} == {}
    assert sum(checksums != {None} for checksums in checksums_by_url.values()) > 25
    with pytest.raises(UserError, match=r"params\.yaml: no corpus 'multi30'; there are multi30k, .* and \d+ others"):
        read_entry(ENTRIES, "multi30")
    assert by_hand == {
        "wmt17-en-ru": ["1mcorpus.zip"],
        "wmt18-en-cs": ["czeng17.tsv.gz"],
        "aspec": ["train-1.txt", "train-2.txt", "dev.txt", "test.txt"],
    }


def test_the_stage_makes_the_corpus_of_its_plan(mirror, monkeypatch):
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
    """An entry with all archives of a folder, each with the source sides of two test sets."""
    files = []
    for path in sorted(folder.glob("*.tgz")):
        pair = path.stem.rpartition("_")[2]
        name = rf"{pair}/IWSLT17\.TED\.(tst201[67])\.{pair}\.({pair[:2]})\.xml"
        with tarfile.open(path) as archive:
            matches = filter(None, (re.fullmatch(name, member) for member in archive.getnames()))
            members = {match[0]: f"{match[1]}-{pair}.{match[2]}" for match in matches}
        files.append({"url": f"{ORIGIN}/{path.name}", "sha256": None, "members": members})
    return {"format": "iwslt", "licence": "none", "homepage": "none", "files": files}


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["multi30k", "bcontrast", "discourse_mt", "tvsub", "wit3"])
def test_real_downloads_give_the_golden_corpus(tmp_path, corpus):
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
