"""Brings single files from the network, a mirror or the sacrebleu package, checked by their sha256."""

import math
import shutil
from http import HTTPStatus
from pathlib import Path

import requests
import urllib3
from requests.adapters import HTTPAdapter

from context_nmt.command_line import progress
from context_nmt.corpus.catalogue import SACREBLEU
from context_nmt.files import FULL, UserError, read_json, sha256, write_json

CHUNK = 2**16  # what is lost at most where a download breaks off


def fetch(places: list[str], path: Path, expected: str | None, checksums: Path) -> None:
    """Bring a file from the first place that has it; the last place is its address, for the record.

    Without an expected sha256, the one recorded in `checksums` is expected, or else recorded there. A download that
    breaks off goes on where it ended, also when it is started again. Raises UserError.
    """
    address = places[-1]
    recorded = read_json(checksums) if checksums.is_file() else {}
    expected = expected or recorded.get(address)
    if expected is not None and path.is_file() and sha256(path) == expected:
        return
    part = path.with_name(f"{path.name}.part")
    failures = []
    for place in places:
        begun = part.exists()
        try:
            _retrieve(place, part, resume=expected is not None)
            if begun and sha256(part) != expected:  # the part was of another file
                part.unlink()
                _retrieve(place, part, resume=True)
            break
        except (OSError, urllib3.exceptions.HTTPError) as error:  # those of requests are OSErrors
            if isinstance(error, OSError) and error.errno in FULL:
                raise
            failures.append(f"{place}: {' '.join(str(error).split())}")
    else:
        raise UserError("nothing could be fetched from " + "; ".join(failures))
    got = sha256(part)
    if expected is not None and got != expected:
        part.unlink()
        raise UserError(f"{place}: its sha256 is {got}, expected is {expected}")
    part.replace(path)
    if expected is None:
        print(f"{address}: sha256 {got} is recorded in {checksums}; later downloads must match it")
        recorded = read_json(checksums) if checksums.is_file() else {}  # another corpus may have been downloaded
        write_json(checksums, recorded | {address: got})


def _retrieve(place: str, part: Path, *, resume: bool) -> None:
    """Bring a file to `part`; with `resume`, a download that broke off goes on where `part` ends."""
    if not resume:
        part.unlink(missing_ok=True)  # no checksum would tell whether the rest fits to it
    if place.startswith(SACREBLEU):
        place = _sacrebleu_file(*place.removeprefix(SACREBLEU).rsplit("/", 2))
    if "://" not in place:
        shutil.copyfile(place, part)
        return
    retries = urllib3.Retry(total=4, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504))
    with requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(max_retries=retries))
        while True:
            begun = _size(part)
            try:
                _retrieve_rest(session, place, part)
                return
            except (requests.ConnectionError, urllib3.exceptions.HTTPError):
                if not resume or _size(part) <= begun:
                    raise


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _retrieve_rest(session: requests.Session, place: str, part: Path) -> None:
    begun = _size(part)
    # A server that packs a file for the journey would change the bytes that are checked.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={begun}-"} if begun else {})
    with session.get(place, stream=True, timeout=60, headers=headers) as response:
        if begun and response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # nothing follows; the checksum tells whether this is the whole file
        response.raise_for_status()
        size = response.headers.get("Content-Length")
        chunks = response.raw.stream(CHUNK, decode_content=False)
        continued = response.status_code == HTTPStatus.PARTIAL_CONTENT  # not every server knows ranges
        with part.open("ab" if continued else "wb", buffering=0) as file:
            for chunk in progress(chunks, place.rpartition("/")[2], math.ceil(int(size) / CHUNK) if size else None):
                file.write(chunk)


def _sacrebleu_file(name: str, pair: str, output: str) -> str:
    """The path of a test set's source or first reference in sacrebleu's own folder; it is downloaded if need be."""
    from sacrebleu.utils import get_reference_files, get_source_file

    try:
        if output.endswith("." + pair.split("-")[0]):
            return str(get_source_file(name, pair))
        return str(get_reference_files(name, pair)[0])
    except (Exception, SystemExit) as error:  # sacrebleu raises bare Exceptions, and leaves the program without network
        raise OSError(f"sacrebleu: {error}") from None
