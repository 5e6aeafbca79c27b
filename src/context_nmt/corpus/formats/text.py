"""Plain text, one sentence per line.

text: files, gzipped or not, or members of a tar or zip archive; a line may have fields in several languages.

opus_moses: a large corpus of OPUS (Tiedemann 2012) with the names of its documents, here of subtitles.

    CORPUS.A-B.A, CORPUS.A-B.B    one sentence per line
    CORPUS.A-B.ids                per line: name of the document in A, in B, and the sentences there, separated by tabs

The name of a subtitle file is LANGUAGE/YEAR/EPISODE/NUMBER.xml.gz. An episode or a film may have several files with
nearly the same text; only the first is used, so that no held-out episode is also in the training set.
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
from context_nmt.corpus.formats import AppendedText, Format, skipping
from context_nmt.files import UserError

FORMATS = {
    "text": Format(("to", "members")),
    "opus_moses": Format(options={"documents": False, "held_out_documents": True, "seed": True}),
}

BAR_SEPARATORS = (b" ||| ", b"|||")  # the second for lines without spaces around the bars

Episode = list[range]  # its lines: several ranges if bad lines are between them


def unpack_text(paths: dict[str, Path], folder: Path, file: DownloadFile, _: CorpusEntry) -> list[AppendedText]:
    """Append a text to the file `to` of a folder, or members of an archive to the files named in `members`.

    Return the appended texts in order. Skip lines with another number of fields. Raise UserError for too many of them
    and for a member that is missing or not a regular file, and the errors of gzip, tarfile and zipfile.
    """
    path = paths[file.name]
    if file.to is not None:
        with gzip.open(path) if path.name.endswith(".gz") else path.open("rb") as text:
            return _append(text, folder, file.to, file.name)
    texts = list[AppendedText]()
    with zipfile.ZipFile(path) if zipfile.is_zipfile(path) else tarfile.open(path) as archive:
        for member, layout in sorted(file.members.items()):
            with _open_member(archive, member) as text:
                texts += _append(text, folder, layout, member)
    return texts


def _open_member(archive: zipfile.ZipFile | tarfile.TarFile, name: str) -> IO[bytes]:
    """Open a member; raise UserError if it is missing or is a link, which could point to any file."""
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


def _append(text: IO[bytes] | gzip.GzipFile, folder: Path, layout: str, source: str) -> list[AppendedText]:
    """Append each field of every line to the file of its name; if lines have no fields, keep them as they are."""
    names = names_in(layout)
    with ExitStack() as stack, skipping(source, "lines") as counts:
        files = [None if name == SKIPPED else stack.enter_context((folder / name).open("ab")) for name in names]
        for number, line in enumerate(text, start=1):
            content = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if not (content if len(names) == 1 else content.strip()):
                continue
            counts.total += 1
            fields = [content.removesuffix(b"\n")] if len(names) == 1 else _fields(content, layout, len(names))
            if len(fields) != len(files):
                counts.skip(f"line {number}", f"{len(fields)} fields instead of {len(files)}")
                continue
            for field, file in zip(fields, files, strict=True):
                if file is not None:
                    file.write(field + b"\n")
    return [AppendedText(name, source, counts.total - counts.bad) for name in names if name != SKIPPED]


def _fields(line: bytes, layout: str, count: int) -> list[bytes]:
    fields: list[bytes] = []
    for separator in (b"\t",) if "\t" in layout else BAR_SEPARATORS:
        if len(fields) != count:
            fields = line.split(separator)
    return [field.strip() for field in fields]


def unpack_opus_moses(paths: dict[str, Path], folder: Path, file: DownloadFile, entry: CorpusEntry) -> None:
    """Write train and the splits of `held_out_documents` with documents that are drawn at random.

    Raise UserError for an archive without .ids, too few episodes and texts of another length, and zipfile's errors.
    """
    with zipfile.ZipFile(paths[file.name]) as archive:
        names = [name.removesuffix(".ids") for name in archive.namelist() if name.endswith(".ids")]
        if len(names) != 1:
            raise UserError(f"the archive has {len(names)} .ids files; it must have one")
        with archive.open(f"{names[0]}.ids") as ids:
            episodes, total = _episodes(ids, f"{names[0]}.ids")
        episodes_by_split = _draw(episodes, entry)
        split_numbers = bytearray(total)  # by line: the number of its split, from 1, or 0
        for number, split_episodes in enumerate(episodes_by_split.values(), start=1):
            for lines in (lines for episode in split_episodes for lines in episode):
                split_numbers[lines.start : lines.stop] = bytes([number]) * len(lines)
        for language in names[0].rpartition(".")[2].split("-"):
            with ExitStack() as stack:
                text = stack.enter_context(archive.open(f"{names[0]}.{language}"))
                outputs = [
                    stack.enter_context((folder / f"{split}.{language}").open("wb")) for split in episodes_by_split
                ]
                count = 0
                for count, line in enumerate(text, start=1):
                    if count <= total and (number := split_numbers[count - 1]):
                        outputs[number - 1].write(line.removesuffix(b"\n") + b"\n")
            if count != total:
                counts = f"{count} lines, and {names[0]}.ids has {total}"
                raise UserError(f"{names[0]}.{language} has {counts}; they must be equal")
    for split, split_episodes in episodes_by_split.items():
        write_sizes(folder, split, (sum(map(len, episode)) for episode in split_episodes))


def _episodes(ids: Iterable[bytes], source: str) -> tuple[list[Episode], int]:
    """Return the lines of each episode's first subtitle file, and the number of all lines."""
    episodes, seen, start = list[Episode](), set(), 0
    current: list[bytes] | None = None  # the names of the last subtitle file, if it is used
    with skipping(source, "lines") as counts:
        for names, lines in groupby(ids, lambda line: line.split(b"\t")[:2]):
            stop = start + sum(1 for _ in lines)
            counts.total += stop - start
            episode = names[0].rpartition(b"/")[0]
            if len(names) < 2 or not episode:
                for number in range(start, stop):
                    counts.skip(f"line {number + 1}", "does not name two documents")
            elif names == current:  # it continues after bad lines
                episodes[-1].append(range(start, stop))
            elif episode in seen:
                current = None
            else:
                seen.add(episode)
                episodes.append([range(start, stop)])
                current = names
            start = stop
    return episodes, start


def _draw(episodes: list[Episode], entry: CorpusEntry) -> dict[str, list[Episode]]:
    """Draw the episodes of each split; return them in the order of the archive."""
    counts = entry.held_out_documents or {}
    held_out = sum(counts.values())
    training = len(episodes) - held_out if entry.documents is None else entry.documents
    if not 1 <= training <= len(episodes) - held_out:
        raise UserError(f"documents is {entry.documents}, held out are {held_out}; there are {len(episodes)} episodes")
    splits = [split for split, count in (counts | {TRAIN: training}).items() for _ in range(count)]
    episodes_by_split: dict[str, list[Episode]] = {split: [] for split in splits}
    drawn = Random(entry.seed).sample(episodes, len(splits))
    for episode, split in sorted(zip(drawn, splits, strict=True), key=lambda pair: pair[0][0].start):
        episodes_by_split[split].append(episode)
    return episodes_by_split
