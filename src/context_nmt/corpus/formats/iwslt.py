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
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from context_nmt.corpus.catalogue import HELD_OUT, TRAIN, CorpusEntry, DownloadFile
from context_nmt.corpus.documents import read_documents, write_sizes
from context_nmt.corpus.skipping import Skipping
from context_nmt.files import UserError, read_lines, write_lines

Key = tuple[str, int]  # the number of a talk, and which of those with this number

DOCUMENT = re.compile(r'<doc .*?docid="([^"]*)".*>', re.IGNORECASE)
NUMBER = re.compile(r"<talkid>(.*)</talkid>")
TAG = re.compile(r"</?(?:url|keywords|speaker|talkid|title|description|reviewer|translator|doc)[ >]")
ELEMENT = re.compile(TAG.pattern.replace("doc", "doc|seg"), re.IGNORECASE)
SEGMENT = re.compile(r"<seg id=[^>]*>((?:(?!</?seg\b).)*)</seg>", re.IGNORECASE)  # one, not two of one line
SPANNING = {True: re.compile("<(seg) ", re.IGNORECASE), False: re.compile("<(title|description)>")}  # by "is XML"


class Talk(NamedTuple):
    """A talk in one language."""

    number: str  # WIT3's, the same in all languages; in a training text, the last one up to the title
    file: str
    first_line: int  # of the file, from 1
    lines: list[str]
    wrong: list[str]  # what cannot be read


def unpack(paths: dict[str, Path], folder: Path, file: DownloadFile, entry: CorpusEntry) -> None:
    """Append the talks of an archive to `SPLIT.LANGUAGE` and `SPLIT.documents`, as `members` of the file says.

    Talks that cannot be read or differ between the languages are skipped. Raise KeyError for a file that the archive
    lacks, and UserError for text outside of a talk and for too many bad talks.
    """
    found: dict[str, list[Talk]] = {}
    with tarfile.open(paths[file.name]) as archive:
        for member in archive:  # in the order of the archive, as seeking back is slow
            if member.name in file.members and member.isreg() and (content := archive.extractfile(member)):
                found[member.name] = _talks(member.name, content)
    splits: dict[str, dict[str, list[Talk]]] = defaultdict(lambda: defaultdict(list))
    for name, output in sorted(file.members.items()):
        if name not in found:
            raise KeyError(f"{name!r} is not a plain file of the archive")
        split, _, language = output.partition(".")
        splits[split][language] += found[name]
    for split, languages in splits.items():
        talks = _parallel(split, languages)
        if split == TRAIN and entry.held_out_every:
            _append(folder, HELD_OUT, _every(talks, entry.held_out_every, held_out=True))
            talks = _every(talks, entry.held_out_every, held_out=False)
        _append(folder, split, talks)


def _talks(name: str, content: Iterable[bytes]) -> list[Talk]:
    is_xml, talk_number, talks = name.endswith(".xml"), "", list[Talk]()
    is_head = True  # of the next talk, after the text of one
    lines = [line.decode("utf-8", "surrogateescape").strip() for line in content]
    lines[:1] = [line.removeprefix("\ufeff") for line in lines[:1]]
    for number, line in _whole(lines, SPANNING[is_xml]):
        if match := (DOCUMENT if is_xml else NUMBER).match(line):
            talk_number = match[1]
        if line.lower().startswith("<doc ") if is_xml else line.startswith("<title>"):
            talks.append(Talk(talk_number, name, number, [], []))
            is_head = False
        elif is_xml and line.lower().startswith("<seg"):
            segment = SEGMENT.fullmatch(line)
            _add(talks, name, number, html.unescape(segment[1]).strip() if segment else None)
        elif not is_xml and TAG.match(line):
            is_head = is_head or bool(talks[-1].lines)
        elif not is_xml and not (is_head and (not line or line.startswith("<"))):  # a blank line or an unknown tag
            _add(talks, name, number, html.unescape(line))
            is_head = False
    if not talks:
        raise UserError(f"{name}: no talk; each starts with {'<doc docid=…>' if is_xml else '<title>'}")
    return talks


def _whole(lines: list[str], spanning: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers, and as one line those of an element that ends before the next one starts."""
    start = 0
    while start < len(lines):
        stop = start + 1
        if match := spanning.match(lines[start]):
            stop = _end(lines, start, f"</{match[1].lower()}>") or stop
        yield start + 1, " ".join(lines[start:stop])
        start = stop


def _end(lines: list[str], start: int, closing: str) -> int | None:
    for place in range(start, len(lines)):
        if closing in lines[place].lower():
            return place + 1
        if place > start and ELEMENT.match(lines[place]):
            return None
    return None


def _add(talks: list[Talk], name: str, number: int, text: str | None) -> None:
    if not talks:
        raise UserError(f"{name}: line {number} is text before the first talk")
    if text is None or "\n" in text:
        talks[-1].wrong.append(f"{name}: line {number} is no whole segment")
    elif not text.isascii() and re.search("[\udc80-\udcff]", text):
        talks[-1].wrong.append(f"{name}: line {number} is not UTF-8")
    else:
        talks[-1].lines.append(text)


def _parallel(split: str, languages: dict[str, list[Talk]]) -> dict[str, list[Talk]]:
    """Return the talks that all languages have, with the same number of lines, in the order of the first language."""
    sides = {language: _by_number(talks) for language, talks in languages.items()}
    kept: dict[str, list[Talk]] = {language: [] for language in languages}
    with Skipping(split, "talks") as counted:
        for key in dict.fromkeys(key for side in sides.values() for key in side):
            talks = [side[key] for side in sides.values() if key in side]
            counted.total += 1
            if reason := _wrong(talks, sides, key):
                counted.skip(f"talk {key[0]}", reason)
                continue
            for language, side in sides.items():
                kept[language].append(side[key])
    return kept


def _by_number(talks: list[Talk]) -> dict[Key, Talk]:
    seen: Counter[str] = Counter()
    numbered = {}
    for talk in talks:
        seen[talk.number] += 1
        numbered[talk.number, seen[talk.number]] = talk
    return numbered


def _wrong(talks: list[Talk], sides: dict[str, dict[Key, Talk]], key: Key) -> str:
    if missing := [language for language, side in sides.items() if key not in side]:
        return f"{_place(talks[0])}; not in {', '.join(missing)}"
    if wrong := [reason for talk in talks for reason in talk.wrong]:
        return wrong[0]
    if len({len(talk.lines) for talk in talks}) > 1:
        return ", ".join(f"{len(talk.lines)} lines in {_place(talk)}" for talk in talks)
    return ""


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
