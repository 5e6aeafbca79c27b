"""TED talks of WIT3 (Cettolo et al. 2012), the corpora of IWSLT: an archive of one pair of languages, here de-en.

    train.tags.de-en.de                 lines of text, parallel to those in English; around those of a talk,
                                        lines of tags: <url>, <keywords>, <speaker>, <talkid>, <title>, <description>, …
                                        (see TAG; a line that starts with another, like <applause>, is text)
    IWSLT14.TED.tst2010.de-en.de.xml    <doc docid="ID" …> per talk, tags, and <seg id="1"> TEXT </seg>

Each talk is a document. In a training text it starts at <title>, as in Miculicich et al. (2018); the order of the other
tags depends on the year. Titles and descriptions are not text of a talk and are left out. Files with the same
SPLIT.LANGUAGE are concatenated, and so are their talks: archives in the order of the entry, the files of one in that of
their names.
"""

import html
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from context_nmt.corpus.catalogue import HELD_OUT, TRAIN, CorpusEntry, DownloadFile
from context_nmt.corpus.documents import read_documents, write_sizes
from context_nmt.files import UserError, decoded_lines, read_lines, write_lines

DOCUMENT = re.compile(r'<doc .*?docid="([^"]*)".*>')
NUMBER = re.compile(r"<talkid>(.*)</talkid>")
TAG = re.compile(r"</?(?:url|keywords|speaker|talkid|title|description|reviewer|translator|doc)[ >]")
SEGMENT = re.compile(r"<seg id=[^>]*>(.*)</seg>")


class Talk(NamedTuple):
    """A talk in one language."""

    number: str  # WIT3's, the same in all languages; in a training text, the last one up to the title
    file: str
    first_line: int  # of the file, from 1
    lines: list[str]


def unpack(path: Path, folder: Path, file: DownloadFile, entry: CorpusEntry) -> None:
    """Append the talks of an archive to `SPLIT.LANGUAGE` and `SPLIT.documents`, as `members` of the file says.

    Raise KeyError for a file that the archive lacks, and UserError for text outside of a talk and for languages that
    differ in talks or in the number of a talk's lines.
    """
    found: dict[str, list[Talk]] = {}
    with tarfile.open(path) as archive:
        for member in archive:  # in the order of the archive, as seeking back is slow
            if member.name in file.members and member.isreg() and (content := archive.extractfile(member)):
                found[member.name] = _talks(member.name, decoded_lines(content, member.name))
    splits: dict[str, dict[str, list[Talk]]] = defaultdict(lambda: defaultdict(list))
    for name, output in sorted(file.members.items()):
        if name not in found:
            raise KeyError(f"{name!r} is not a plain file of the archive")
        split, _, language = output.partition(".")
        splits[split][language] += found[name]
    for split, talks in splits.items():
        _check_parallel(split, talks)
        if split == TRAIN and entry.held_out_every:
            _append(folder, HELD_OUT, _every(talks, entry.held_out_every, held_out=True))
            talks = _every(talks, entry.held_out_every, held_out=False)
        _append(folder, split, talks)


def _talks(name: str, lines: Iterable[str]) -> list[Talk]:
    is_xml, talk_number, talks = name.endswith(".xml"), "", list[Talk]()
    for number, line in enumerate(map(str.strip, lines), start=1):
        if match := (DOCUMENT if is_xml else NUMBER).match(line):
            talk_number = match[1]
        if line.startswith("<doc " if is_xml else "<title>"):
            talks.append(Talk(talk_number, name, number, []))
        elif segment := SEGMENT.fullmatch(line) if is_xml else None:
            _last(talks, name, number).lines.append(html.unescape(segment[1]).strip())
        elif is_xml and line.startswith("<seg"):
            raise UserError(f"{name}: line {number} is no whole segment: {line[:80]!r}")
        elif not is_xml and not TAG.match(line):
            _last(talks, name, number).lines.append(html.unescape(line))
    if not talks:
        raise UserError(f"{name}: no talk; each starts with {'<doc docid=…>' if is_xml else '<title>'}")
    return talks


def _last(talks: list[Talk], name: str, number: int) -> Talk:
    if not talks:
        raise UserError(f"{name}: line {number} is text before the first talk")
    return talks[-1]


def _check_parallel(split: str, languages: dict[str, list[Talk]]) -> None:
    first, *others = languages.values()
    for other in others:
        for one, two in zip(first, other, strict=False):
            if one.number != two.number:
                raise UserError(f"{_place(one)} is talk {one.number}, {_place(two)} talk {two.number}")
            if len(one.lines) != len(two.lines):
                raise UserError(
                    f"talk {one.number} has {len(one.lines)} lines in {_place(one)}, {len(two.lines)} in {_place(two)}"
                )
        if len(first) != len(other):
            counts = ", ".join(f"{len(talks)} in {language}" for language, talks in languages.items())
            raise UserError(f"{split} has different numbers of talks: {counts}")


def _place(talk: Talk) -> str:
    return f"{talk.file} from line {talk.first_line}"


def _every(languages: dict[str, list[Talk]], step: int, *, held_out: bool) -> dict[str, list[Talk]]:
    """Keep only each `step`-th line, counted over all talks, or only the others."""
    kept = {}
    for language, talks in languages.items():
        kept[language], count = list[Talk](), 0
        for talk in talks:
            lines = [line for place, line in enumerate(talk.lines, start=count + 1) if (place % step == 0) == held_out]
            kept[language].append(talk._replace(lines=lines))
            count += len(talk.lines)
    return kept


def _append(folder: Path, split: str, languages: dict[str, list[Talk]]) -> None:
    sizes: list[int] = []
    for language, talks in languages.items():
        path = folder / f"{split}.{language}"
        earlier = read_lines(path) if path.exists() else []
        sizes = [len(document) for document in read_documents(folder, split, len(earlier)) or []]
        sizes += [len(talk.lines) for talk in talks if talk.lines]
        write_lines(path, chain(earlier, *(talk.lines for talk in talks)))
    write_sizes(folder, split, sizes)
