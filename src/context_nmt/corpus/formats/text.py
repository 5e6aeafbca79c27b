"""Plain texts, gzipped or not, or members of a tar or zip archive; a line may have fields in several languages."""

import codecs
import gzip
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from context_nmt.corpus.catalogue import SKIPPED, CorpusEntry, DownloadFile, names_in
from context_nmt.corpus.skipping import Skipping

CHUNK = 2**16
BARS = (b" ||| ", b"|||")  # the second for a line that has no spaces around them


Text = tuple[str, str, int]  # the file that a text is appended to, the text's own name, and its number of lines


def unpack(paths: dict[str, Path], folder: Path, file: DownloadFile, _: CorpusEntry) -> list[Text]:
    """Append a text to the file `to` of a folder, or members of an archive to the files named in `members`.

    Return what was appended to each file, in this order.
    Lines with another number of fields are skipped. Raise KeyError for a member that is missing or no regular file,
    UserError for too many bad lines, and the errors of gzip, tarfile and zipfile.
    """
    path = paths[file.name]
    if file.to is not None:
        with gzip.open(path) if path.name.endswith(".gz") else path.open("rb") as text:
            return _append(text, folder, file.to, file.name)
    members = dict(sorted(file.members.items()))
    texts = list[Text]()
    with ExitStack() as opened:
        if zipfile.is_zipfile(path):
            contents = _zipped(opened.enter_context(zipfile.ZipFile(path)), members)
        else:
            contents = _tarred(opened.enter_context(tarfile.open(path, "r|*", bufsize=CHUNK)), members, folder)
        for member, content in contents:
            with content:
                texts += _append(content, folder, members[member], member)
    return texts


def _zipped(archive: zipfile.ZipFile, members: dict[str, str]) -> Iterator[tuple[str, IO[bytes]]]:
    for name in members:
        if stat.S_ISLNK(archive.getinfo(name).external_attr >> 16):
            raise _no_plain_file(name)
        yield name, archive.open(name)


def _tarred(archive: tarfile.TarFile, members: dict[str, str], folder: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the members, those of one output in the given order; what comes too early is kept in temporary files."""
    waiting, early = dict(members), dict[str, IO[bytes]]()
    for member in archive:  # opened as a stream, which cannot go back
        name = member.name
        if name not in waiting or name in early:
            continue
        if not member.isreg() or (content := archive.extractfile(member)) is None:
            raise _no_plain_file(name)
        outputs = names_in(members[name])
        if name == next(other for other in waiting if not set(outputs).isdisjoint(names_in(members[other]))):
            del waiting[name]
            yield name, content
        else:
            early[name] = TemporaryFile(dir=folder)  # noqa: SIM115 (closed by the one who reads it)
            shutil.copyfileobj(content, early[name], CHUNK)
            early[name].seek(0)
    for name in waiting:
        if name not in early:
            raise KeyError(f"{name!r} is not in the archive")
        yield name, early[name]


def _no_plain_file(name: str) -> KeyError:
    return KeyError(f"{name!r} is not a plain file of the archive")  # a link could lead anywhere


def _append(text: IO[bytes] | gzip.GzipFile, folder: Path, layout: str, source: str) -> list[Text]:
    names = names_in(layout)
    if len(names) > 1:
        count = _append_fields(text, folder, names, (b"\t",) if "\t" in layout else BARS, source)
        return [(name, source, count) for name in names if name != SKIPPED]
    last_byte, count = b"\n", 0
    with (folder / layout).open("ab") as file:
        chunk = text.read(CHUNK).removeprefix(codecs.BOM_UTF8)
        while chunk:
            file.write(chunk)
            last_byte = chunk[-1:]
            count += chunk.count(b"\n")
            chunk = text.read(CHUNK)
        if last_byte != b"\n":  # so that the next text starts on a new line
            file.write(b"\n")
            count += 1
    return [(layout, source, count)]


def _append_fields(
    text: IO[bytes] | gzip.GzipFile, folder: Path, names: list[str], separators: tuple[bytes, ...], source: str
) -> int:
    """Append each field of every line to the file of its name, and return how many; skip empty lines."""
    with ExitStack() as stack, Skipping(source, "lines") as lines:
        files = [None if name == SKIPPED else stack.enter_context((folder / name).open("ab")) for name in names]
        for number, line in enumerate(text, start=1):
            content = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if not content.strip():
                continue
            lines.total += 1
            fields: list[bytes] = []
            for separator in separators:
                if len(fields) != len(files):
                    fields = content.split(separator)
            if len(fields) != len(files):
                lines.skip(f"line {number}", f"{len(fields)} fields instead of {len(files)}")
                continue
            for field, file in zip(fields, files, strict=True):
                if file is not None:
                    file.write(field.strip() + b"\n")
    return lines.total - lines.bad
