"""Plain texts, gzipped or not, or members of a tar or zip archive; a line may have fields in several languages."""

import gzip
import stat
import tarfile
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from context_nmt.corpus.catalogue import SKIPPED, CorpusEntry, DownloadFile, names_in

CHUNK = 2**16


def unpack(path: Path, folder: Path, file: DownloadFile, _: CorpusEntry) -> None:
    """Append a text to the file `to` of a folder, or members of an archive to the files named in `members`.

    Raise KeyError for a member that is missing or no regular file, ValueError for a line with another number of fields,
    and the errors of gzip, tarfile and zipfile.
    """
    if file.to is not None:
        with gzip.open(path) if path.name.endswith(".gz") else path.open("rb") as content:
            _append(content, folder, file.to)
        return
    with zipfile.ZipFile(path) if zipfile.is_zipfile(path) else tarfile.open(path) as archive:
        for member, output in file.members.items():
            with _open_member(archive, member) as content:
                _append(content, folder, output)


def _open_member(archive: zipfile.ZipFile | tarfile.TarFile, name: str) -> IO[bytes]:
    if isinstance(archive, zipfile.ZipFile):
        if not stat.S_ISLNK(archive.getinfo(name).external_attr >> 16):
            return archive.open(name)
    elif (member := archive.getmember(name)).isreg() and (content := archive.extractfile(member)):
        return content
    raise KeyError(f"{name!r} is not a plain file of the archive")  # a link could lead anywhere


def _append(text: IO[bytes] | gzip.GzipFile, folder: Path, layout: str) -> None:
    names = names_in(layout)
    if len(names) > 1:
        _append_fields(text, folder, names, b"\t" if "\t" in layout else b"|||")
        return
    last_byte = b"\n"
    with (folder / layout).open("ab") as file:
        while chunk := text.read(CHUNK):
            file.write(chunk)
            last_byte = chunk[-1:]
        if last_byte != b"\n":  # so that the next text starts on a new line
            file.write(b"\n")


def _append_fields(text: IO[bytes] | gzip.GzipFile, folder: Path, names: list[str], separator: bytes) -> None:
    """Append each field of every line to the file of its name; skip empty lines."""
    with ExitStack() as stack:
        files = [None if name == SKIPPED else stack.enter_context((folder / name).open("ab")) for name in names]
        for number, line in enumerate(text, start=1):
            fields = line.split(separator)
            if not line.strip():
                continue
            if len(fields) != len(files):
                raise ValueError(f"line {number} has {len(fields)} fields instead of {len(files)}")
            for field, file in zip(fields, files, strict=True):
                if file is not None:
                    file.write(field.strip() + b"\n")
