"""Plain text, a sentence per line.

text: files, gzipped or not, or members of a tar or zip archive; a line may have fields in several languages.

opus_moses: a large corpus of OPUS (Tiedemann 2012) with the names of its documents, here of subtitles.

    CORPUS.A-B.A, CORPUS.A-B.B    a sentence per line
    CORPUS.A-B.ids                per line: name of the document in A, in B, and the sentences there, separated by tabs

The name of a subtitle is LANGUAGE/YEAR/EPISODE/NUMBER.xml.gz. An episode, or a film, may have several subtitles with
nearly the same text; only the first is used, so that no held-out episode is in the training set, too.
"""

import codecs
import gzip
import stat
import tarfile
import zipfile
from collections.abc import Iterable
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from random import Random
from typing import IO

from context_nmt.corpus.catalogue import SKIPPED, TRAIN, CorpusEntry, DownloadFile, names_in
from context_nmt.corpus.documents import write_sizes
from context_nmt.corpus.formats import skipping
from context_nmt.files import UserError

BARS = (b" ||| ", b"|||")  # the second for a line that has no spaces around them

Text = tuple[str, str, int]  # the file that a text is appended to, the text's own name, and its number of lines
Episode = list[range]  # its lines, of several ranges if bad lines are between them


def unpack_text(paths: dict[str, Path], folder: Path, file: DownloadFile, _: CorpusEntry) -> list[Text]:
    """Append a text to the file `to` of a folder, or members of an archive to the files named in `members`.

    Return what was appended to each file, in this order. Lines with another number of fields are skipped. Raise
    UserError for a member that is missing or no regular file and for too many bad lines, and the errors of gzip,
    tarfile and zipfile.
    """
    path = paths[file.name]
    if file.to is not None:
        with gzip.open(path) if path.name.endswith(".gz") else path.open("rb") as text:
            return _append(text, folder, file.to, file.name)
    texts = list[Text]()
    with zipfile.ZipFile(path) if zipfile.is_zipfile(path) else tarfile.open(path) as archive:
        for member, layout in sorted(file.members.items()):
            with _plain_file(archive, member) as text:
                texts += _append(text, folder, layout, member)
    return texts


def _plain_file(archive: zipfile.ZipFile | tarfile.TarFile, name: str) -> IO[bytes]:
    """Open a member; raise UserError for one that is missing, or is a link, which could lead anywhere."""
    content = None
    if name not in (archive.namelist() if isinstance(archive, zipfile.ZipFile) else archive.getnames()):
        raise UserError(f"{name!r} is not in the archive")
    if isinstance(archive, tarfile.TarFile):
        content = archive.extractfile(name) if archive.getmember(name).isreg() else None
    elif not stat.S_ISLNK(archive.getinfo(name).external_attr >> 16):
        content = archive.open(name)
    if content is None:
        raise UserError(f"{name!r} is not a plain file of the archive")
    return content


def _append(text: IO[bytes] | gzip.GzipFile, folder: Path, layout: str, source: str) -> list[Text]:
    """Append each field of every line to the file of its name; without fields, lines stay as they are, blank or not."""
    names = names_in(layout)
    with ExitStack() as opened, skipping(source, "lines") as lines:
        files = [None if name == SKIPPED else opened.enter_context((folder / name).open("ab")) for name in names]
        for number, line in enumerate(text, start=1):
            content = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if not (content if len(names) == 1 else content.strip()):
                continue
            lines.total += 1
            fields = [content.removesuffix(b"\n")] if len(names) == 1 else _fields(content, layout, len(names))
            if len(fields) != len(files):
                lines.skip(f"line {number}", f"{len(fields)} fields instead of {len(files)}")
                continue
            for field, file in zip(fields, files, strict=True):
                if file is not None:
                    file.write(field + b"\n")
    return [(name, source, lines.total - lines.bad) for name in names if name != SKIPPED]


def _fields(line: bytes, layout: str, count: int) -> list[bytes]:
    fields: list[bytes] = []
    for separator in (b"\t",) if "\t" in layout else BARS:
        if len(fields) != count:
            fields = line.split(separator)
    return [field.strip() for field in fields]


def unpack_opus_moses(paths: dict[str, Path], folder: Path, file: DownloadFile, entry: CorpusEntry) -> None:
    """Write train and the splits of `held_out_documents` with their documents, which are drawn at random.

    Raise UserError for an archive without .ids, too few episodes and texts of another length, and zipfile's errors.
    """
    with zipfile.ZipFile(paths[file.name]) as archive:
        names = [name.removesuffix(".ids") for name in archive.namelist() if name.endswith(".ids")]
        if len(names) != 1:
            raise UserError(f"the archive has {len(names)} files .ids; it must have one")
        with archive.open(f"{names[0]}.ids") as ids:
            episodes, total = _episodes(ids, f"{names[0]}.ids")
        drawn = _draw(episodes, entry)
        splits = bytearray(total)  # of each line: its place in `drawn`, from 1, or 0
        for place, chosen in enumerate(drawn.values(), start=1):
            for lines in (lines for episode in chosen for lines in episode):
                splits[lines.start : lines.stop] = bytes([place]) * len(lines)
        for language in names[0].rpartition(".")[2].split("-"):
            with ExitStack() as opened:
                text = opened.enter_context(archive.open(f"{names[0]}.{language}"))
                outputs = [opened.enter_context((folder / f"{split}.{language}").open("wb")) for split in drawn]
                count = 0
                for count, line in enumerate(text, start=1):
                    if count <= total and (place := splits[count - 1]):
                        outputs[place - 1].write(line.removesuffix(b"\n") + b"\n")
            if count != total:
                counts = f"{count} lines, and {names[0]}.ids has {total}"
                raise UserError(f"{names[0]}.{language} has {counts}; they must be equal")
    for split, chosen in drawn.items():
        write_sizes(folder, split, (sum(map(len, episode)) for episode in chosen))


def _episodes(ids: Iterable[bytes], source: str) -> tuple[list[Episode], int]:
    """Return the lines of each episode's first subtitle, and the number of all lines."""
    episodes, known, start = list[Episode](), set(), 0
    current: list[bytes] | None = None  # the names of the last subtitle, if it is used
    with skipping(source, "lines") as counted:
        for names, lines in groupby(ids, lambda line: line.split(b"\t")[:2]):
            stop = start + sum(1 for _ in lines)
            counted.total += stop - start
            episode = names[0].rpartition(b"/")[0]
            if len(names) < 2 or not episode:
                for number in range(start, stop):
                    counted.skip(f"line {number + 1}", "no names of two documents")
            elif names == current:  # it goes on after bad lines
                episodes[-1].append(range(start, stop))
            elif episode in known:
                current = None
            else:
                known.add(episode)
                episodes.append([range(start, stop)])
                current = names
            start = stop
    return episodes, start


def _draw(episodes: list[Episode], entry: CorpusEntry) -> dict[str, list[Episode]]:
    """Return the episodes of each split, in the order of the archive."""
    counts = entry.held_out_documents or {}
    held_out = sum(counts.values())
    training = len(episodes) - held_out if entry.documents is None else entry.documents
    if not 1 <= training <= len(episodes) - held_out:
        raise UserError(f"documents is {entry.documents}, held out are {held_out}; there are {len(episodes)} episodes")
    splits = [split for split, count in (counts | {TRAIN: training}).items() for _ in range(count)]
    drawn: dict[str, list[Episode]] = {split: [] for split in splits}
    chosen = Random(entry.seed).sample(episodes, len(splits))
    for episode, split in sorted(zip(chosen, splits, strict=True), key=lambda item: item[0][0].start):
        drawn[split].append(episode)
    return drawn
