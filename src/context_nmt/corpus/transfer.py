"""Download one file from an address; what an interrupted download lacks is appended to its part.

Without a checksum, only the server can tell that the rest is of the same file. What it said of the file when the part
was begun is next to the part, in PART.json: ETag or Last-Modified, and the length.
"""

import sys
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter

from context_nmt.files import read_json, write_json
from context_nmt.progress import Progress, on_terminal, say

CHUNK = 2**16  # bytes, the most that an interrupted download can lose
MEGABYTE = 10**6
WORTH_SAYING, LARGE = (
    10 * MEGABYTE,
    100 * MEGABYTE,
)  # sizes whose download is announced, and whose time is estimated soon


def retrieve(place: str, part: Path, *, checked: bool) -> None:
    """Download a file to `part`, and go on with what is there if a checksum or the server can tell that it is the same.

    A connection that breaks off is tried again as long as more of the file arrives. Raise OSError and urllib3's
    HTTPError.
    """
    retries = urllib3.Retry(total=4, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504))
    with requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(max_retries=retries))
        while True:
            size_before = size(part)
            try:
                _append_rest(session, place, part, checked=checked)
                break
            except (requests.ConnectionError, urllib3.exceptions.HTTPError):
                if size(part) <= size_before:
                    raise
    _said(part).unlink(missing_ok=True)


def _append_rest(session: requests.Session, place: str, part: Path, *, checked: bool) -> None:
    said = read_json(_said(part)) if not checked and _said(part).is_file() else {}
    offset = size(part) if checked or (said.get("place") == place and size(part) < said["length"]) else 0
    # A server that compresses a file for the transfer would change the bytes to check.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={offset}-"} if offset else {})
    if offset and not checked:
        headers["If-Range"] = said["is"]
    with session.get(place, stream=True, timeout=60, headers=headers) as response:
        if checked and offset and response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # nothing is left to download; the checksum shows whether the file is complete
        response.raise_for_status()
        continued = response.status_code == HTTPStatus.PARTIAL_CONTENT  # not every server supports ranges
        if not continued:
            offset = 0
            if not checked:
                _write_said(part, place, response)
        elif not checked and response.headers.get("Content-Range") != _rest(offset, said["length"]):
            part.unlink()
            raise requests.ConnectionError(f"not the rest of the file: {response.headers.get('Content-Range')}")
        length = response.headers.get("Content-Length")
        total = offset + int(length) if length else None
        _announce(place, offset, total)
        with part.open("ab" if continued else "wb") as file:
            _copy(response, file, place, offset, total)


def _rest(offset: int, length: int) -> str:
    return f"bytes {offset}-{length - 1}/{length}"


def _write_said(part: Path, place: str, response: requests.Response) -> None:
    """Write what tells this file from another one of the same address; nothing if the server does not say enough."""
    tag, length = response.headers.get("ETag", ""), response.headers.get("Content-Length")
    same = tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified")  # W/: of equal meaning
    if same and length:
        write_json(_said(part), {"place": place, "is": same, "length": int(length)})
    else:
        _said(part).unlink(missing_ok=True)


def _announce(place: str, offset: int, total: int | None) -> None:
    if total is not None and total >= WORTH_SAYING:
        here = f", of which {offset / MEGABYTE:,.0f} MB are here" if offset else ""
        say(f"{_name(place)}: {total / MEGABYTE:,.0f} MB from {urlsplit(place).hostname}{here}")


def _copy(response: requests.Response, file: BinaryIO, place: str, offset: int, total: int | None) -> None:
    arrived, told = offset, total is None or total < LARGE or on_terminal(sys.stderr)  # a bar tells by itself
    megabytes = None if total is None else total / MEGABYTE
    with Progress(_name(place), megabytes, "MB", done=offset / MEGABYTE) as progress:
        for chunk in response.raw.stream(CHUNK, decode_content=False):
            file.write(chunk)
            arrived += len(chunk)
            progress.advance(len(chunk) / MEGABYTE)
            if not told and arrived - offset >= (total or 0) / 100:
                told = True
                say(str(progress))  # with the time left, long before the first line that progress itself prints


def _name(place: str) -> str:
    return place.rpartition("/")[2]


def _said(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def size(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it does not exist."""
    return path.stat().st_size if path.exists() else 0
