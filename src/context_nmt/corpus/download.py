"""Make a corpus of data/params.yaml: a folder of plain text, `CORPUS/SPLIT.LANGUAGE`, and `CORPUS/SPLIT.documents`.

Formats and the generator are loaded by name, so that a change to one of them remakes only its own corpora.
"""

import importlib
import shutil
import tarfile
import zipfile
import zlib
from http import HTTPStatus
from itertools import groupby
from pathlib import Path

import requests
import urllib3
from requests.adapters import HTTPAdapter

from context_nmt.corpus.catalogue import SACREBLEU, CorpusEntry, DownloadFile
from context_nmt.corpus.sacrebleu_sets import write_set_file
from context_nmt.files import (
    FULL,
    UserError,
    iterate_lines,
    locked,
    read_json,
    replacing_folder,
    sha256,
    write_json,
)
from context_nmt.progress import Progress
from context_nmt.settings.checking import check
from context_nmt.settings.miniature import MiniatureSettings

BROKEN = (OSError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile)
GENERATOR = "context_nmt.miniature.generation"
CHUNK = 2**16  # bytes, the most that an interrupted download can lose


def code_of(entry: CorpusEntry | MiniatureSettings) -> list[str]:
    """Return the names of the modules that make a corpus."""
    if isinstance(entry, MiniatureSettings):
        return [GENERATOR]
    return sorted(map(_code_of_format, {entry.format, *(file.format for file in entry.files if file.format)}))


def _code_of_format(name: str) -> str:
    return f"context_nmt.corpus.formats.{name}"


def read_data_plan(path: Path) -> CorpusEntry | MiniatureSettings:
    """Read the plan of one corpus, which the plan stage wrote; raise UserError if there is none."""
    if not path.is_file():
        known = sorted(file.stem.removeprefix("data.") for file in path.parent.glob("data.*.json"))
        raise UserError(f"{path}: no such plan; params.yaml has under download: {', '.join(known) or 'nothing'}")
    entry = read_json(path)["entry"]
    if "format" in entry:
        return check(CorpusEntry, entry, where=str(path))
    return check(MiniatureSettings, entry, where=str(path))


def make_corpus(
    entry: CorpusEntry | MiniatureSettings, destination: Path, *, checksums: Path, mirror: str | None
) -> None:
    """Make the whole folder `destination` from its entry in data/params.yaml, or nothing.

    Each file is first looked for in `mirror`, a folder or the start of a URL, as MIRROR/CORPUS/FILENAME. Until the
    corpus is complete, full and partial downloads stay in `.downloads` next to the folder. Raise UserError for a file
    that cannot be fetched or unpacked, a wrong checksum, and languages of a split with unequal numbers of lines.
    """
    if isinstance(entry, MiniatureSettings):
        importlib.import_module(GENERATOR).generate(entry, destination)
        return
    corpus = destination.name
    downloads = destination.parent / ".downloads" / corpus
    with locked(downloads / ".lock"), replacing_folder(destination) as folder:
        test_sets = [file for test_set in entry.sacrebleu for file in test_set.files]
        for file in (*entry.files, *test_sets):
            places = [f"{mirror.rstrip('/')}/{corpus}/{file.name}"] if mirror else []
            _fetch(file, places, downloads / file.name, checksums)
            if file not in test_sets:
                _unpack(downloads / file.name, file, folder, entry)
            elif downloads.joinpath(file.name).stat().st_size:  # the list of documents is empty if none are known
                shutil.copyfile(downloads / file.name, folder / file.name)
        paths = sorted(path for path in folder.iterdir() if path.suffix not in (".documents", ".jsonl"))
        for _, files in groupby(paths, lambda path: path.name.partition(".")[0]):
            counts = {path.name: sum(1 for _ in iterate_lines(path)) for path in files}
            if len(set(counts.values())) > 1:
                line_counts = ", ".join(f"{name} {count}" for name, count in counts.items())
                raise UserError(f"{corpus}: the languages of a split have different numbers of lines: {line_counts}")
        shutil.rmtree(downloads, ignore_errors=True)


def _unpack(path: Path, file: DownloadFile, folder: Path, entry: CorpusEntry) -> None:
    form = file.format or entry.format
    try:
        importlib.import_module(_code_of_format(form)).unpack(path, folder, file, entry)
    except KeyError as error:
        raise UserError(f"{file.url}: {error.args[0]}") from None
    except BROKEN as error:
        if isinstance(error, OSError) and error.errno in FULL:
            raise
        raise UserError(f"{file.url}: cannot be unpacked ({error})") from None
    except (AttributeError, TypeError, ValueError) as error:
        raise UserError(f"{file.url}: not of format {form} ({error})") from None


def _fetch(file: DownloadFile, mirrored: list[str], path: Path, checksums: Path) -> None:
    """Fetch a file to `path`, from the first place of a mirror that has it, or else from its address.

    Without a sha256 of its own, its checksum is the one in `checksums`; if there is none, record it there, unless the
    file is derived. An interrupted download resumes where it ended, even in a later run. Raise UserError.
    """
    address, part = file.url, path.with_name(f"{path.name}.part")
    expected = None if file.derived else file.sha256 or _recorded(checksums).get(address)
    if expected is not None and path.is_file() and sha256(path) == expected:
        return
    failures = []
    for place in mirrored if file.by_hand else [*mirrored, address]:
        part_existed = part.exists()
        try:
            _retrieve(place, part, resume=expected is not None)
            if part_existed and sha256(part) != expected:  # the partial file was of another download
                part.unlink()
                _retrieve(place, part, resume=True)
            break
        except (OSError, urllib3.exceptions.HTTPError) as error:  # the errors of requests are OSErrors
            if isinstance(error, OSError) and error.errno in FULL:
                raise
            failures.append(f"{place}: {' '.join(str(error).split())}")
    else:
        raise UserError(_missing(file, path.parent.name, failures))
    actual = sha256(part)
    if expected not in (None, actual):
        part.unlink()
        raise UserError(f"{place}: its sha256 is {actual}; it must be {expected}")
    part.replace(path)
    if expected is None and not file.derived:
        print(f"{address}: sha256 {actual} is recorded in {checksums}; later downloads must match it")
        write_json(checksums, _recorded(checksums) | {address: actual})


def _missing(file: DownloadFile, corpus: str, failures: list[str]) -> str:
    """Return the message for a file that no place has."""
    if file.by_hand is None:
        return "cannot be downloaded: " + "; ".join(failures)
    found = f" ({'; '.join(failures)})" if failures else ""
    steps = " ".join(file.by_hand.split()).rstrip(".")
    return (
        f"{corpus}: {file.name} must be fetched by hand: {steps}. Put it into a folder as {corpus}/{file.name}, set the"
        f" environment variable DATA_MIRROR to that folder, and try again{found}"
    )


def _recorded(checksums: Path) -> dict[str, str]:
    return read_json(checksums) if checksums.is_file() else {}


def _retrieve(place: str, part: Path, *, resume: bool) -> None:
    """Copy or download a file to `part`; with `resume`, which needs a checksum, append only the rest of it."""
    if not resume:
        part.unlink(missing_ok=True)
    if place.startswith(SACREBLEU):
        name, pair, file = place.removeprefix(SACREBLEU).rsplit("/", 2)
        write_set_file(name, pair, file, part)
        return
    if "://" not in place:
        shutil.copyfile(place, part)
        return
    retries = urllib3.Retry(total=4, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504))
    with requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(max_retries=retries))
        while True:
            size_before = _size(part)
            try:
                _append_rest(session, place, part)
                return
            except (requests.ConnectionError, urllib3.exceptions.HTTPError):
                if not resume or _size(part) <= size_before:
                    raise


def _append_rest(session: requests.Session, place: str, part: Path) -> None:
    offset = _size(part)
    # A server that compresses a file for the transfer would change the bytes to check.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={offset}-"} if offset else {})
    with session.get(place, stream=True, timeout=60, headers=headers) as response:
        if offset and response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # nothing is left to download; the checksum shows whether the file is complete
        response.raise_for_status()
        size = response.headers.get("Content-Length")
        chunks = response.raw.stream(CHUNK, decode_content=False)
        continued = response.status_code == HTTPStatus.PARTIAL_CONTENT  # not every server supports ranges
        with part.open("ab" if continued else "wb", buffering=0) as file:
            done = offset / 1000 if continued else 0.0
            total = done + int(size) / 1000 if size else None
            with Progress(place.rpartition("/")[2], total, "kB", done=done) as progress:
                for chunk in chunks:
                    file.write(chunk)
                    progress.advance(len(chunk) / 1000)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
