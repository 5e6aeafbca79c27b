"""Fetch one file of a corpus from a mirror, one of its addresses or the sacrebleu package.

A source is a path or an address that may have the file. Downloads are in one folder for all corpora of a project, as
DIGEST-NAME, where DIGEST is the hash of the file's address. DIGEST-NAME.part is an unfinished download, and
DIGEST-NAME.lock is locked while the file is fetched. A download resumes only if a checksum can show that both parts are
of the same file; otherwise it starts again. Downloads stay there until a person deletes the folder.
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

CONNECTION_ERRORS = (ConnectTimeoutError, NewConnectionError, ProxyError)
CHUNK_BYTES = 2**16  # the most that an interrupted download loses
MEGABYTE = 10**6
LARGE_DOWNLOAD = 10 * MEGABYTE  # downloads from this size on are announced

Checksum = tuple[str, str]  # one of CHECKSUM_KINDS, and the value


def data_mirror() -> str | None:
    """Return the environment variable DATA_MIRROR, if set; raise UserError unless it is a folder or an address."""
    mirror = os.environ.get("DATA_MIRROR") or None
    if mirror and "://" not in mirror and not Path(mirror).is_dir():
        raise UserError(
            f"DATA_MIRROR is {mirror}, which is not a folder; give a folder or the start of an address, http://…"
        )
    return mirror


def download_path(file: DownloadFile, downloads: Path) -> Path:
    """Return the path that the complete download of a file has, or will have."""
    return downloads / f"{hashlib.sha256(file.url.encode()).hexdigest()[:12]}-{file.name}"


def file_size(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it does not exist."""
    return path.stat().st_size if path.exists() else 0


@contextmanager
def wait_for_lock(path: Path, message: str) -> Iterator[None]:
    """Hold the lock PATH.lock; if another process or thread holds it, print the message and wait."""
    import fcntl  # not on Windows

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(message)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetch(
    file: DownloadFile, downloads: Path, *, corpus: str, in_mirror: str, expected: Checksum | None
) -> tuple[Path, str]:
    """Return the path of a file and its source: `in_mirror`, if that exists, or one of the file's addresses.

    A file in a mirror's folder is used there. An earlier download is used again, and is its own source, if it has the
    checksum `expected`, or if none is expected and the mirror lacks the file. Wait while another process fetches the
    same file. Raise UserError if no source has the file, or only with another checksum.
    """
    if in_mirror and Path(in_mirror).is_file():
        if difference := _difference(Path(in_mirror), file, expected):
            raise UserError(f"{in_mirror}: {difference}")
        return Path(in_mirror), in_mirror
    path = download_path(file, downloads)
    with wait_for_lock(path, f"{file.name}: waiting for another process that downloads it"):
        is_of_package = file.url.startswith(SACREBLEU)  # the package keeps its own downloads
        is_kept = path.is_file() and not is_of_package and not _difference(path, file, expected)
        if is_kept and (expected or "://" not in in_mirror):
            return path, str(path)
        addresses = () if is_kept or file.by_hand else (file.url, *file.mirrors)
        source, failures = _download(file, path, [in_mirror, *addresses] if in_mirror else addresses, expected=expected)
    if source is None and is_kept:
        say(f"{failures[0]}; the earlier download {path} is used")
    elif source is None:
        reasons = "; ".join(failures)
        do = f"Put it into a folder as {corpus}/{file.name}, set the environment variable DATA_MIRROR to that folder,"
        if file.by_hand is None:
            raise UserError(f"{corpus}: {file.name} cannot be downloaded: {reasons}. {do} and try again")
        steps = f"must be fetched by hand: {' '.join(file.by_hand.split()).rstrip('.')}"
        raise UserError(f"{corpus}: {file.name} {steps}. {do} and try again{f' ({reasons})' if reasons else ''}")
    return path, source or str(path)


def _download(
    file: DownloadFile, path: Path, sources: Iterable[str], *, expected: Checksum | None
) -> tuple[str | None, list[str]]:
    """Download a file to `path`; return the first source that has it, or None, and why the sources before it failed."""
    part = path.with_name(f"{path.name}.part")
    failures: list[str] = []
    for source in sources:
        part_existed = part.exists()
        try:
            _retrieve(source, part, resume=expected is not None)
            difference = _difference(part, file, expected)
            if difference and part_existed:  # the part was of another download
                part.unlink()
                _retrieve(source, part, resume=True)
                difference = _difference(part, file, expected)
        except (OSError, urllib3.exceptions.HTTPError) as error:  # the errors of requests are OSErrors
            if isinstance(error, OSError) and error.errno in DISK_FULL_ERRORS:
                reason = f"cannot be written ({error.strerror}); free some space and try again"
                raise UserError(f"{path}: {reason}") from None
            failures.append(f"{source}: {_reason(error, source)}")
            continue
        if not difference:
            part.replace(path)
            return source, failures
        part.unlink()
        failures.append(f"{source}: {difference}")
    return None, failures


def _difference(path: Path, file: DownloadFile, expected: Checksum | None) -> str:
    """Describe how a file differs from the expected checksum; return "" if it does not."""
    if expected is None:
        return ""
    kind, value = expected
    algorithm, start = ("sha1", b"blob %d\0" % file_size(path)) if kind == "git_blob" else (kind, b"")
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, lambda: hashlib.new(algorithm, start, usedforsecurity=False))
    if (actual := digest.hexdigest()) == value:
        return ""
    record = "params.yaml" if file.checksum else "checksums.json"
    return f"its {kind} is {actual}; it must be {value} (data/{record})"


def _reason(error: Exception, source: str) -> str:
    """Return why a source failed, without the internals of requests and urllib3."""
    if isinstance(error, FileNotFoundError):
        return str(error.strerror)
    cause = getattr(error.args[0], "reason", None) if error.args else None  # after the last retry
    if isinstance(cause, CONNECTION_ERRORS):
        return f"{urlsplit(source).hostname} cannot be reached"
    return " ".join(str(cause or error).split()).partition(" for url: ")[0]


def _retrieve(source: str, part: Path, *, resume: bool) -> None:
    """Write a file to `part`, with `resume` after the bytes that it has; raise OSError or urllib3's HTTPError.

    After a broken connection, try again as long as more of the file arrives: with `resume` from where it broke,
    otherwise from the start.
    """
    if source.startswith(SACREBLEU):
        names, pair, file = source.removeprefix(SACREBLEU).rsplit("/", 2)
        _write_set_file(names, pair, file, part)
        return
    if "://" not in source:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    retries = urllib3.Retry(total=4, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504))
    if not resume:
        part.unlink(missing_ok=True)
    with requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(max_retries=retries))
        while True:
            size_before = file_size(part)
            try:
                _request(session, source, part, offset=size_before if resume else 0)
                return
            except (requests.ConnectionError, urllib3.exceptions.HTTPError):
                if file_size(part) <= size_before:
                    raise


def _request(session: requests.Session, address: str, part: Path, *, offset: int) -> None:
    """Request the file from byte `offset` on, and write to `part` what the server sends, which may be all of it."""
    # A server that compresses the file for the transfer would change the bytes that the checksum is for.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={offset}-"} if offset else {})
    with session.get(address, stream=True, timeout=60, headers=headers) as response:
        if offset and response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # nothing is left to download; the checksum shows whether the file is complete
        response.raise_for_status()
        is_rest = response.status_code == HTTPStatus.PARTIAL_CONTENT  # not every server supports ranges
        _copy(response, part, address, offset if is_rest else 0)


def _copy(response: requests.Response, part: Path, address: str, offset: int) -> None:
    """Write the body of a response to `part` from byte `offset` on, and report progress."""
    name, length = address.rpartition("/")[2], response.headers.get("Content-Length")
    total = offset + int(length) if length else 0
    if total >= LARGE_DOWNLOAD:
        already = f", of which {offset / MEGABYTE:,.0f} MB are already here" if offset else ""
        say(f"{name}: {total / MEGABYTE:,.0f} MB from {urlsplit(address).hostname}{already}")
    megabytes = total / MEGABYTE if length else None
    with (
        part.open("ab" if offset else "wb") as file,
        Progress(name, megabytes, "MB", done=offset / MEGABYTE) as progress,
    ):
        for chunk in response.raw.stream(CHUNK_BYTES, decode_content=False):
            file.write(chunk)
            progress.advance(len(chunk) / MEGABYTE)


def _write_set_file(names: str, pair: str, file: str, destination: Path) -> None:
    """Write the file SPLIT.LANGUAGE or SPLIT.documents of a test set, or of several sets, separated by commas.

    SPLIT.documents is empty if one of the sets has no documents in SGML. Raise OSError for a set that sacrebleu lacks
    or cannot download.
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
    """Return the path of a set's source, or of its first reference, in the package's folder."""
    from sacrebleu.utils import get_reference_files, get_source_file

    try:
        return Path(get_source_file(name, pair) if is_source else get_reference_files(name, pair)[0])
    except (Exception, SystemExit) as error:  # sacrebleu raises bare Exceptions, and exits without a network
        raise OSError(f"sacrebleu: {error}") from None


def _set_documents(name: str, pair: str) -> list[int]:
    """Return the number of sentences of each document of a set; an empty list if it has no documents in SGML."""
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
