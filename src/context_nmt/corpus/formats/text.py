"""Plain texts, gzipped or not, or members of a tar or zip archive."""

import gzip
import stat
import tarfile
import zipfile
from pathlib import Path
from typing import IO

from context_nmt.corpus.catalogue import CorpusEntry, DownloadFile

CHUNK = 2**16


def unpack(path: Path, folder: Path, file: DownloadFile, _: CorpusEntry) -> None:
    """Append a text to the file `to` of a folder, or members of an archive to the files named in `members`.

    Raise KeyError for a member that is missing or no regular file, and the errors of gzip, tarfile and zipfile.
    """
    if file.to is not None:
        with gzip.open(path) if path.name.endswith(".gz") else path.open("rb") as content:
            _append(content, folder / file.to)
        return
    with zipfile.ZipFile(path) if zipfile.is_zipfile(path) else tarfile.open(path) as archive:
        for member, output in file.members.items():
            with _open_member(archive, member) as content:
                _append(content, folder / output)


def _open_member(archive: zipfile.ZipFile | tarfile.TarFile, name: str) -> IO[bytes]:
    if isinstance(archive, zipfile.ZipFile):
        if not stat.S_ISLNK(archive.getinfo(name).external_attr >> 16):
            return archive.open(name)
    elif (member := archive.getmember(name)).isreg() and (content := archive.extractfile(member)):
        return content
    raise KeyError(f"{name!r} is not a plain file of the archive")  # a link could lead anywhere


def _append(text: IO[bytes] | gzip.GzipFile, path: Path) -> None:
    last_byte = b"\n"
    with path.open("ab") as file:
        while chunk := text.read(CHUNK):
            file.write(chunk)
            last_byte = chunk[-1:]
        if last_byte != b"\n":  # so that the next text starts on a new line
            file.write(b"\n")
