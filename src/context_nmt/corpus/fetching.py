"""Fetch one file of a corpus from a mirror, one of its addresses or the sacrebleu package.

Downloads are in one folder for all corpora of a project, as DIGEST-NAME, where DIGEST is that of the file's address.
DIGEST-NAME.part is an unfinished one, and DIGEST-NAME.lock is held while the file is fetched. A download resumes only
where a checksum can show that both parts are of the same file; without one, it starts again. Downloads stay there until
a person deletes the folder.
"""

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from itertools import accumulate, chain
from pathlib import Path
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError, ProxyError

from context_nmt.corpus.catalogue import SACREBLEU, DownloadFile
from context_nmt.files import DISK_FULL_ERRORS, UserError, iterate_lines
from context_nmt.progress import Progress, say

UNREACHABLE = (ConnectTimeoutError, NewConnectionError, ProxyError)
CHUNK = 2**16  # bytes, the most that an interrupted download can lose
MEGABYTE = 10**6
WORTH_SAYING = 10 * MEGABYTE  # the size of a download that is announced

Checksum = tuple[str, str]  # a kind of catalogue.CHECKSUMS, and the value


def data_mirror() -> str | None:
    """Return the environment variable DATA_MIRROR, if set; raise UserError for neither a folder nor an address."""
    mirror = os.environ.get("DATA_MIRROR") or None
    if mirror and "://" not in mirror and not Path(mirror).is_dir():
        raise UserError(
            f"DATA_MIRROR is {mirror}, which is no folder; give a folder or the start of an address, http://…"
        )
    return mirror


def downloaded(file: DownloadFile, downloads: Path) -> Path:
    """Return where a whole download of a file is, or will be."""
    return downloads / f"{hashlib.sha256(file.url.encode()).hexdigest()[:12]}-{file.name}"


def size(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it does not exist."""
    return path.stat().st_size if path.exists() else 0


@contextmanager
def alone(path: Path, waiting: str) -> Iterator[None]:
    """Hold the lock of a path, PATH.lock; say `waiting`, and wait, while another process or thread holds it."""
    import fcntl  # not on Windows

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(waiting)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetch(
    file: DownloadFile, downloads: Path, *, corpus: str, mirrored: str, expected: Checksum | None
) -> tuple[Path, str]:
    """Return the path of a file, and where it is from: the place `mirrored`, if that has it, or one of its addresses.

    A file in a mirror's folder is used there. What was downloaded is used again if it has the checksum `expected`, or
    if none is expected and the mirror does not have the file; it is then from where it is kept. Wait while another
    process fetches the same file. Raise UserError for a file that no place has, or only with another checksum.
    """
    if mirrored and Path(mirrored).is_file():
        if wrong := _difference(Path(mirrored), file, expected):
            raise UserError(f"{mirrored}: {wrong}")
        return Path(mirrored), mirrored
    path = downloaded(file, downloads)
    with alone(path, f"{file.name}: waiting for another process, which downloads it"):
        is_of_package = file.url.startswith(SACREBLEU)  # which keeps what it downloads
        is_kept = path.is_file() and not is_of_package and not _difference(path, file, expected)
        if is_kept and (expected or "://" not in mirrored):
            return path, str(path)
        origins = () if is_kept or file.by_hand else (file.url, *file.mirrors)
        place, failures = _fetch(file, path, [mirrored, *origins] if mirrored else origins, expected=expected)
    if place is None and is_kept:
        say(f"{failures[0]}; {path} is used, which was downloaded earlier")
    elif place is None:
        found = "; ".join(failures)
        do = f"Put it into a folder as {corpus}/{file.name}, set the environment variable DATA_MIRROR to that folder,"
        if file.by_hand is None:
            raise UserError(f"{corpus}: {file.name} cannot be downloaded: {found}. {do} and try again")
        steps = f"must be fetched by hand: {' '.join(file.by_hand.split()).rstrip('.')}"
        raise UserError(f"{corpus}: {file.name} {steps}. {do} and try again{f' ({found})' if found else ''}")
    return path, place or str(path)


def _fetch(
    file: DownloadFile, path: Path, places: Iterable[str], *, expected: Checksum | None
) -> tuple[str | None, list[str]]:
    """Return the first place that gives the file, if one does, and why those before it do not."""
    part = path.with_name(f"{path.name}.part")
    failures: list[str] = []
    for place in places:
        part_existed = part.exists()
        try:
            _retrieve(place, part, resume=expected is not None)
            wrong = _difference(part, file, expected)
            if wrong and part_existed:  # the part was of another download
                part.unlink()
                _retrieve(place, part, resume=True)
                wrong = _difference(part, file, expected)
        except (OSError, urllib3.exceptions.HTTPError) as error:  # the errors of requests are OSErrors
            if isinstance(error, OSError) and error.errno in DISK_FULL_ERRORS:
                reason = f"cannot be written ({error.strerror}); free some space and try again"
                raise UserError(f"{path}: {reason}") from None
            failures.append(f"{place}: {_reason(error, place)}")
            continue
        if not wrong:
            part.replace(path)
            return place, failures
        part.unlink()
        failures.append(f"{place}: {wrong}")
    return None, failures


def _difference(path: Path, file: DownloadFile, expected: Checksum | None) -> str:
    """Return how a file differs from the expected checksum; nothing if it does not."""
    if expected is None:
        return ""
    kind, value = expected
    algorithm, start = ("sha1", b"blob %d\0" % size(path)) if kind == "git_blob" else (kind, b"")
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, lambda: hashlib.new(algorithm, start, usedforsecurity=False))
    if (actual := digest.hexdigest()) == value:
        return ""
    source = "params.yaml" if file.checksum else "checksums.json"
    return f"its {kind} is {actual}; it must be {value}, as data/{source} says"


def _reason(error: Exception, place: str) -> str:
    """Return why a place does not give a file, without what requests and urllib3 say about their own parts."""
    if isinstance(error, FileNotFoundError):
        return str(error.strerror)
    cause = getattr(error.args[0], "reason", None) if error.args else None  # after the last retry
    if isinstance(cause, UNREACHABLE):
        return f"{urlsplit(place).hostname} cannot be reached"
    return " ".join(str(cause or error).split()).partition(" for url: ")[0]


def _retrieve(place: str, part: Path, *, resume: bool) -> None:
    """Write a file to `part`, after what is there if `resume`; raise OSError or urllib3's HTTPError.

    A connection that breaks off is tried again as long as more of the file arrives: from where it broke off if
    `resume`, else from the start.
    """
    if place.startswith(SACREBLEU):
        names, pair, file = place.removeprefix(SACREBLEU).rsplit("/", 2)
        _write_set_file(names, pair, file, part)
        return
    if "://" not in place:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    retries = urllib3.Retry(total=4, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504))
    if not resume:
        part.unlink(missing_ok=True)
    with requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(max_retries=retries))
        while True:
            size_before = size(part)
            try:
                _request(session, place, part, offset=size_before if resume else 0)
                return
            except (requests.ConnectionError, urllib3.exceptions.HTTPError):
                if size(part) <= size_before:
                    raise


def _request(session: requests.Session, place: str, part: Path, *, offset: int) -> None:
    """Write to `part` what the server sends: the rest of the file behind `offset` bytes, or all of it."""
    # A server that compresses a file for the transfer would change the bytes to check.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={offset}-"} if offset else {})
    with session.get(place, stream=True, timeout=60, headers=headers) as response:
        if offset and response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # nothing is left to download; the checksum shows whether the file is complete
        response.raise_for_status()
        is_rest = response.status_code == HTTPStatus.PARTIAL_CONTENT  # not every server supports ranges
        _copy(response, part, place, offset if is_rest else 0)


def _copy(response: requests.Response, part: Path, place: str, offset: int) -> None:
    """Write what the server sends behind the first `offset` bytes of a part, and say how far it is."""
    name, length = place.rpartition("/")[2], response.headers.get("Content-Length")
    total = offset + int(length) if length else 0
    if total >= WORTH_SAYING:
        here = f", of which {offset / MEGABYTE:,.0f} MB are here" if offset else ""
        say(f"{name}: {total / MEGABYTE:,.0f} MB from {urlsplit(place).hostname}{here}")
    megabytes = total / MEGABYTE if length else None
    with (
        part.open("ab" if offset else "wb") as file,
        Progress(name, megabytes, "MB", done=offset / MEGABYTE) as progress,
    ):
        for chunk in response.raw.stream(CHUNK, decode_content=False):
            file.write(chunk)
            progress.advance(len(chunk) / MEGABYTE)


def _write_set_file(names: str, pair: str, file: str, destination: Path) -> None:
    """Write the file SPLIT.LANGUAGE or SPLIT.documents of a test set, or of several whose names are joined by commas.

    SPLIT.documents is empty if one of the sets has no documents in SGML. Raise OSError for a set that sacrebleu does
    not have or cannot download.
    """
    if file.endswith(".documents"):
        documents = [_set_documents(name, pair) for name in names.split(",")]
        sizes = list(chain.from_iterable(documents)) if all(documents) else []
        destination.write_text("".join(f"{start}\n" for start in list(accumulate(sizes, initial=0))[:-1]))
        return
    with destination.open("wb") as text:
        for name in names.split(","):
            with _set_text(name, pair, is_source=file.endswith("." + pair.split("-")[0])).open("rb") as part:
                shutil.copyfileobj(part, text)


def _set_text(name: str, pair: str, *, is_source: bool) -> Path:
    """Return the path of a set's source, or of its first reference, in the folder of the package."""
    from sacrebleu.utils import get_reference_files, get_source_file

    try:
        return Path(get_source_file(name, pair) if is_source else get_reference_files(name, pair)[0])
    except (Exception, SystemExit) as error:  # sacrebleu raises bare Exceptions, and exits without a network
        raise OSError(f"sacrebleu: {error}") from None


def _set_documents(name: str, pair: str) -> list[int]:
    """Return the number of sentences of each document of a set; nothing for a set without them in SGML."""
    from sacrebleu.dataset import DATASETS
    from sacrebleu.dataset.fake_sgml import FakeSGMLDataset
    from sacrebleu.utils import SACREBLEU_DIR

    _set_text(name, pair, is_source=True)
    if not isinstance(DATASETS[name], FakeSGMLDataset):
        return []
    sizes = [0]
    for line in iterate_lines(Path(SACREBLEU_DIR) / name / "raw" / DATASETS[name].langpairs[pair][0]):
        if re.match("<doc ", line, re.IGNORECASE):
            sizes.append(0)
        elif line.startswith("<seg "):  # as sacrebleu reads segments
            sizes[-1] += 1
    return [] if sizes[0] else [size for size in sizes if size]
