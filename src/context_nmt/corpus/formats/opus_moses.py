"""A large corpus of OPUS (Tiedemann 2012) as plain text with the names of its documents, here of subtitles.

    CORPUS.A-B.A, CORPUS.A-B.B    a sentence per line
    CORPUS.A-B.ids                per line: name of the document in A, in B, and the sentences there, separated by tabs

The name of a subtitle is LANGUAGE/YEAR/EPISODE/NUMBER.xml.gz. An episode, or a film, may have several subtitles with
nearly the same text; only the first is used, so that no held-out episode is in the training set, too.
"""

import zipfile
from collections.abc import Iterable
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from random import Random

from context_nmt.corpus.catalogue import CorpusEntry, DownloadFile
from context_nmt.corpus.documents import write_sizes
from context_nmt.corpus.skipping import Skipping
from context_nmt.files import UserError

Episode = list[range]  # its lines, of several ranges if bad lines are between them
Drawn = list[tuple[range, str]]  # lines and the split that they are in, in the order of the archive


def unpack(paths: dict[str, Path], folder: Path, file: DownloadFile, entry: CorpusEntry) -> None:
    """Write train and the splits of `held_out_documents` with their documents, which are drawn at random.

    Raise KeyError for an archive that lacks a file, and UserError for too few episodes and texts of another length.
    """
    with zipfile.ZipFile(paths[file.name]) as archive:
        names = [name.removesuffix(".ids") for name in archive.namelist() if name.endswith(".ids")]
        if len(names) != 1:
            raise KeyError(f"the archive has {len(names)} files .ids; it must have one")
        with archive.open(f"{names[0]}.ids") as ids:
            episodes, total = _episodes(ids, f"{names[0]}.ids")
        chosen = _draw(episodes, entry)
        drawn = [(lines, split) for episode, split in chosen for lines in episode]
        for language in names[0].rpartition(".")[2].split("-"):
            with archive.open(f"{names[0]}.{language}") as text:
                count = _write(text, drawn, folder, language)
            if count != total:
                counts = f"{count} lines, and {names[0]}.ids has {total}"
                raise UserError(f"{names[0]}.{language} has {counts}; they must be equal")
    for split in _splits(drawn):
        write_sizes(folder, split, (sum(map(len, episode)) for episode, other in chosen if other == split))


def _episodes(ids: Iterable[bytes], source: str) -> tuple[list[Episode], int]:
    """Return the lines of each episode's first subtitle, and the number of all lines."""
    episodes, known, start = list[Episode](), set(), 0
    current: list[bytes] | None = None  # the names of the last subtitle, if it is used
    with Skipping(source, "lines") as counted:
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


def _draw(episodes: list[Episode], entry: CorpusEntry) -> list[tuple[Episode, str]]:
    counts = entry.held_out_documents or {}
    held_out = sum(counts.values())
    training = len(episodes) - held_out if entry.documents is None else entry.documents
    if not 1 <= training <= len(episodes) - held_out:
        raise UserError(f"documents is {entry.documents}, held out are {held_out}; there are {len(episodes)} episodes")
    splits = [split for split, count in (counts | {"train": training}).items() for _ in range(count)]
    chosen = Random(entry.seed).sample(episodes, len(splits))
    return sorted(zip(chosen, splits, strict=True), key=lambda item: item[0][0].start)


def _splits(drawn: Drawn) -> list[str]:
    return list(dict.fromkeys(split for _, split in drawn))


def _write(text: Iterable[bytes], drawn: Drawn, folder: Path, language: str) -> int:
    """Write the drawn lines of a text, and return the number of all its lines."""
    count = 0
    with ExitStack() as stack:
        files = {split: stack.enter_context((folder / f"{split}.{language}").open("wb")) for split in _splits(drawn)}
        waiting = iter([*drawn, (range(0), "")])
        lines, split = next(waiting)
        for count, line in enumerate(text, start=1):
            number = count - 1
            if number in lines:
                files[split].write(line.removesuffix(b"\n") + b"\n")
                if number == lines[-1]:
                    lines, split = next(waiting)
    return count
