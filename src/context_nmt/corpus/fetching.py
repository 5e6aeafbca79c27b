"""Fetch one file of a corpus from a mirror, its address or the sacrebleu package."""

import shutil
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError, ProxyError

from context_nmt.corpus.catalogue import SACREBLEU, DownloadFile
from context_nmt.corpus.sacrebleu_sets import write_set_file
from context_nmt.files import FULL, UserError, sha256
from context_nmt.progress import Progress

CHUNK = 2**16  # bytes, the most that an interrupted download can lose
UNREACHABLE = (ConnectTimeoutError, NewConnectionError, ProxyError)


def fetch(file: DownloadFile, path: Path, *, mirrored: str, expected: str | None) -> str:
    """Fetch a file to `path` from the place `mirrored`, if that has it, or else from its address; return the place.

    A whole copy that is there already is fetched again if its sha256 is not `expected`, or if none is expected and a
    mirror's folder has the file, which may be another one now. With `expected`, an interrupted download resumes where
    it ended, even in a later run. Raise UserError for a file that no place has and for another sha256.
    """
    in_folder = Path(mirrored).is_file()
    if path.is_file() and (not in_folder if expected is None else sha256(path) == expected):
        return mirrored if in_folder else file.url
    part = path.with_name(f"{path.name}.part")
    failures = []
    for place in filter(None, (mirrored, None if file.by_hand else file.url)):
        part_existed = part.exists()
        try:
            _retrieve(place, part, resume=expected is not None)
            if (
                part_existed and expected is not None and sha256(part) != expected
            ):  # the partial file was of another download
                part.unlink()
                _retrieve(place, part, resume=True)
            break
        except (OSError, urllib3.exceptions.HTTPError) as error:  # the errors of requests are OSErrors
            if isinstance(error, OSError) and error.errno in FULL:
                raise
            failures.append(f"{place}: {_reason(error, place)}")
    else:
        raise UserError(_missing(file, path.parent.name, failures))
    if expected is not None and (actual := sha256(part)) != expected:
        part.unlink()
        source = "params.yaml" if file.sha256 else "checksums.json"
        raise UserError(f"{place}: its sha256 is {actual}; it must be {expected}, as data/{source} says")
    part.replace(path)
    return place


def _reason(error: Exception, place: str) -> str:
    """Return why a place does not give a file, without what requests and urllib3 say about their own parts."""
    if isinstance(error, FileNotFoundError):
        return str(error.strerror)
    cause = getattr(error.args[0], "reason", None) if error.args else None  # after the last retry
    if isinstance(cause, UNREACHABLE):
        return f"{urlsplit(place).hostname} cannot be reached"
    return " ".join(str(cause or error).split()).partition(" for url: ")[0]


def _missing(file: DownloadFile, corpus: str, failures: list[str]) -> str:
    """Return the message for a file that no place has."""
    found = "; ".join(failures)
    do = f"Put it into a folder as {corpus}/{file.name}, set the environment variable DATA_MIRROR to that folder, and"
    if file.by_hand is None:
        return f"{corpus}: {file.name} cannot be downloaded: {found}. {do} try again"
    steps = " ".join(file.by_hand.split()).rstrip(".")
    return f"{corpus}: {file.name} must be fetched by hand: {steps}. {do} try again{f' ({found})' if found else ''}"


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
