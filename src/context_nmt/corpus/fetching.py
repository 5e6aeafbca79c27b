"""Fetch one file of a corpus from a mirror, one of its addresses or the sacrebleu package.

Downloads are in one folder for all corpora of a project, as DIGEST-NAME, where DIGEST is that of the file's address;
next to it, DIGEST-NAME.part is an unfinished one, and DIGEST-NAME.lock is held while the file is fetched. They stay
there until a person deletes the folder.
"""

import errno
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError, ProxyError

from context_nmt.corpus.catalogue import SACREBLEU, DownloadFile
from context_nmt.corpus.sacrebleu_sets import write_set_file
from context_nmt.corpus.transfer import retrieve
from context_nmt.files import FULL, UserError
from context_nmt.progress import say

UNREACHABLE = (ConnectTimeoutError, NewConnectionError, ProxyError)

Checksum = tuple[str, str]  # a kind of catalogue.CHECKSUMS, and the value


def downloaded(file: DownloadFile, downloads: Path) -> Path:
    """Return where a whole download of a file is, or will be."""
    return downloads / f"{hashlib.sha256(file.url.encode()).hexdigest()[:12]}-{file.name}"


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
    if place is None and not is_kept:
        raise UserError(_missing(file, corpus, failures))
    if place is None:
        say(f"{failures[0]}; {path} is used, which was downloaded earlier")
    return path, place or str(path)


def data_mirror() -> str | None:
    """Return the environment variable DATA_MIRROR, if set; raise UserError for neither a folder nor an address."""
    mirror = os.environ.get("DATA_MIRROR") or None
    if mirror and "://" not in mirror and not Path(mirror).is_dir():
        raise UserError(
            f"DATA_MIRROR is {mirror}, which is no folder; give a folder or the start of an address, http://…"
        )
    return mirror


def checksum_of(path: Path, kind: str) -> str:
    """Return a checksum of a file in hexadecimal, of a kind of `catalogue.CHECKSUMS`."""
    is_git = kind == "git_blob"
    start = b"blob %d\0" % path.stat().st_size if is_git else b""
    with path.open("rb") as file:
        digest = hashlib.file_digest(
            file, lambda: hashlib.new("sha1" if is_git else kind, start, usedforsecurity=False)
        )
    return digest.hexdigest()


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


def _fetch(
    file: DownloadFile, path: Path, places: Iterable[str], *, expected: Checksum | None
) -> tuple[str | None, list[str]]:
    """Return the first place that gives the file, if one does, and why those before it do not."""
    part = path.with_name(f"{path.name}.part")
    failures: list[str] = []
    for place in places:
        part_existed = part.exists()
        try:
            _retrieve(place, part, checked=expected is not None)
            wrong = _difference(part, file, expected)
            if wrong and part_existed:  # the part was of another download
                part.unlink()
                _retrieve(place, part, checked=True)
                wrong = _difference(part, file, expected)
        except (OSError, urllib3.exceptions.HTTPError) as error:  # the errors of requests are OSErrors
            if isinstance(error, OSError) and error.errno in FULL:
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


def _retrieve(place: str, part: Path, *, checked: bool) -> None:
    if place.startswith(SACREBLEU):
        name, pair, file = place.removeprefix(SACREBLEU).rsplit("/", 2)
        write_set_file(name, pair, file, part)
    elif "://" in place:
        retrieve(place, part, checked=checked)
    else:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def _difference(path: Path, file: DownloadFile, expected: Checksum | None) -> str:
    """Return how a file differs from the expected checksum; nothing if it does not."""
    if expected is None or (actual := checksum_of(path, expected[0])) == expected[1]:
        return ""
    kind, value = expected
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


def _missing(file: DownloadFile, corpus: str, failures: list[str]) -> str:
    """Return the message for a file that no place has."""
    found = "; ".join(failures)
    do = f"Put it into a folder as {corpus}/{file.name}, set the environment variable DATA_MIRROR to that folder, and"
    if file.by_hand is None:
        return f"{corpus}: {file.name} cannot be downloaded: {found}. {do} try again"
    steps = " ".join(file.by_hand.split()).rstrip(".")
    return f"{corpus}: {file.name} must be fetched by hand: {steps}. {do} try again{f' ({found})' if found else ''}"
