"""Texts as they are: packed with gzip or not, or members of a tar or zip archive."""

import gzip
import stat
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from context_nmt.corpus.catalogue import CorpusEntry, DownloadFile

CHUNK = 2**16


def unpack(path: Path, folder: Path, file: DownloadFile, _: CorpusEntry) -> None:
    """Unpack one file of an entry into `folder`."""
    unpack_texts(path, folder, to=file.to, members=file.members)


def unpack_texts(path: Path, folder: Path, *, to: str | None, members: Mapping[str, str]) -> None:
    """Append a text to the file `to` of a folder, or those members of an archive to the files that they name.

    Raises KeyError for a member that is missing or no plain file, and what gzip, tarfile and zipfile raise.
    """
    if to is not None:
        with gzip.open(path) if path.name.endswith(".gz") else path.open("rb") as text:
            _append(text, folder / to)
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for member, output in members.items():
                if stat.S_ISLNK(archive.getinfo(member).external_attr >> 16):
                    raise KeyError(f"{member!r} is not a plain file of the archive")
                with archive.open(member) as text:
                    _append(text, folder / output)
    else:
        with tarfile.open(path) as archive:
            for member, output in members.items():
                with _plain_member(archive, member) as text:
                    _append(text, folder / output)


@contextmanager
def _plain_member(archive: tarfile.TarFile, name: str) -> Iterator[IO[bytes]]:
    member = archive.getmember(name)
    text = archive.extractfile(member) if member.isreg() else None  # a link could lead anywhere
    if text is None:
        raise KeyError(f"{name!r} is not a plain file of the archive")
    with text:
        yield text


def _append(text: IO[bytes] | gzip.GzipFile, path: Path) -> None:
    last = b"\n"
    with path.open("ab") as file:
        while chunk := text.read(CHUNK):
            file.write(chunk)
            last = chunk[-1:]
        if last != b"\n":  # the next text must not go on in this one's last line
            file.write(b"\n")
