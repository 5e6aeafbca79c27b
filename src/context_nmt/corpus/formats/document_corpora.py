"""Corpora whose downloads show where documents begin: TED talks, commentaries, episodes, chats.

iwslt: TED talks of WIT3 (Cettolo et al. 2012), the corpora of IWSLT: an archive of one pair of languages, here de-en.

    train.tags.de-en.de                 lines of text, parallel to those in English; around those of a talk,
                                        lines of tags: <url>, <keywords>, <speaker>, <talkid>, <title>, <description>, …
                                        (see TAG; a line that starts with another, like <applause>, is text)
    IWSLT14.TED.tst2010.de-en.de.xml    <doc docid="ID" …> per talk, tags, and <seg id="1"> TEXT </seg>

Each talk is a document. In a training text it starts at <title>, as in Miculicich et al. (2018); the order of the other
tags depends on the year. Titles and descriptions are not text of a talk and are left out. Files with the same
SPLIT.LANGUAGE are concatenated, and so are their talks: archives in the order of the entry, the files of one in that of
their names.

opus_xml: a corpus of OPUS (Tiedemann 2012): texts as XML, and the alignment of their sentences.

    LANGUAGE.zip    CORPUS/raw/LANGUAGE/NAME.xml or .xml.gz: one document, with <s id="ID">…</s> for each sentence
    A-B.xml.gz      <linkGrp fromDoc="A/NAME.xml.gz" toDoc="B/NAME.xml.gz"> for each document, and in it
                    <link xtargets="IDS;IDS"/> for each group of sentences that are translations of each other

As in OPUS' plain texts, a group becomes one line, and a group without text in one of the languages is left out. Bad
documents and groups are skipped, as OpusTools does.

tvsub: Chinese-English subtitles of television episodes (Wang et al. 2018), from an archive of their repository.

    data/orignal/train/separated/N.zh, N.en   training: raw text, one episode per file
    data/orignal/SPLIT/SPLIT.orignal.zh, .en  dev and test: raw Chinese, tokenized English with capitals
    data/processed/SPLIT/SPLIT_trg.sgm        episode boundaries; lower-cased English, three versions for test

English contractions and hyphenated words are rejoined; punctuation stays separate, as Moses does not split a full stop
from its word before a lower-case letter. The first reference of test has capitals; the second and third, test.en.1 and
test.en.2, have none: score in lower case.

bcontrast: BConTrasT (WMT 2020 chat translation task), chats of English agents with German customers.

    {CHAT: [{"utteranceID": 0, "speaker": "agent", "source": the utterance, "target": its translation}, …]}

The source of an agent is English, that of a customer German. `SPLIT.en` and `SPLIT.de` have the utterances of both
speakers in the order of the chats, so that each chat is a document in both languages. The task translates each speaker
in one direction and scores them separately: `SPLIT_agent` and `SPLIT_customer` have the utterances of one speaker.
"""

import gzip
import html
import re
import tarfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from context_nmt.corpus.catalogue import HELD_OUT, TRAIN, CorpusEntry, DownloadFile
from context_nmt.corpus.documents import read_documents, write_sizes
from context_nmt.corpus.formats import Counted, one_line, parsed_json, skipping
from context_nmt.files import UserError, decoded_lines, read_lines, write_lines

Documents = list[list[str]]  # lines of each, in one language
Key = tuple[str, int]  # the number of a talk, and which of those with this number

TALK = re.compile(r'<doc .*?docid="([^"]*)".*>', re.IGNORECASE)
NUMBER = re.compile(r"<talkid>(.*)</talkid>")
TAG = re.compile(r"</?(?:url|keywords|speaker|talkid|title|description|reviewer|translator|doc)[ >]")
ELEMENT = re.compile(TAG.pattern.replace("doc", "doc|seg"), re.IGNORECASE)
SEGMENT = re.compile(r"<seg id=[^>]*>((?:(?!</?seg\b).)*)</seg>", re.IGNORECASE)  # one, not two of one line
SPANNING = {True: re.compile("<(seg) ", re.IGNORECASE), False: re.compile("<(title|description)>")}  # by "is XML"

EPISODES = r"orignal/train/separated/\d+\.(?:zh|en)"
EVALUATED = r"(?:orignal|processed)/(?:dev|test)/(?:dev|test)(?:\.orignal\.(?:zh|en)|_trg\.sgm)"
SUBTITLES = re.compile(f"[^/]*/data/(?:{EPISODES}|{EVALUATED})")
VERSION = re.compile(r'<DOC docid="[^"]*" sysid="([^"]*)">(.*?)</DOC>', re.DOTALL)
REFERENCE = re.compile(r"<seg id=\d+>(.*?)</seg>")

SPEAKERS = {"agent": ("en", "de"), "customer": ("de", "en")}  # languages of the source and the translation


def _append(folder: Path, split: str, languages: dict[str, Documents]) -> None:
    """Append documents, parallel in all languages, to the files of a split; leave out empty ones."""
    sizes: list[int] = []
    for language, documents in languages.items():
        path = folder / f"{split}.{language}"
        earlier = read_lines(path) if path.exists() else []
        sizes = [len(document) for document in read_documents(folder, split, len(earlier)) or []]
        sizes += [len(document) for document in documents if document]
        write_lines(path, chain(earlier, *documents))
    write_sizes(folder, split, sizes)


def _tar_members(path: Path, name_of: Callable[[str], str | None]) -> dict[str, list[bytes]]:
    """Return the lines of the members to which `name_of` gives a name."""
    found: dict[str, list[bytes]] = {}
    with tarfile.open(path) as archive:
        for member in archive:  # in the order of the archive, as seeking back is slow
            if (name := name_of(member.name)) and member.isreg() and (content := archive.extractfile(member)):
                found[name] = content.readlines()
    return found


class Talk(NamedTuple):
    """A talk in one language."""

    number: str  # WIT3's, the same in all languages; in a training text, the last one up to the title
    place: str
    lines: list[str]
    wrong: list[str]  # what cannot be read


def unpack_iwslt(paths: dict[str, Path], folder: Path, file: DownloadFile, entry: CorpusEntry) -> None:
    """Append the talks of an archive to `SPLIT.LANGUAGE` and `SPLIT.documents`, as `members` of the file says.

    Talks that cannot be read or differ between the languages are skipped. Raise UserError for a file that the archive
    lacks, text outside of a talk, and too many bad talks.
    """
    members = _tar_members(paths[file.name], lambda name: name if name in file.members else None)
    splits: dict[str, dict[str, list[Talk]]] = defaultdict(lambda: defaultdict(list))
    for name, output in sorted(file.members.items()):
        if name not in members:
            raise UserError(f"{name!r} is not a plain file of the archive")
        split, _, language = output.partition(".")
        splits[split][language] += _talks(name, members[name])
    for split, languages in splits.items():
        talks = _parallel(split, languages)
        if split == TRAIN and entry.held_out_every:
            kept, held_out = dict[str, Documents](), dict[str, Documents]()
            for language, documents in talks.items():
                kept[language], held_out[language] = _without_every(entry.held_out_every, documents)
            _append(folder, HELD_OUT, held_out)
            talks = kept
        _append(folder, split, talks)


def _talks(name: str, content: Iterable[bytes]) -> list[Talk]:
    is_xml, talk_number, talks = name.endswith(".xml"), "", list[Talk]()
    is_head = True  # of the next talk, after the text of one
    lines = [line.decode("utf-8", "surrogateescape").strip() for line in content]
    lines[:1] = [line.removeprefix("\ufeff") for line in lines[:1]]
    for number, line in _whole(lines, SPANNING[is_xml]):
        if match := (TALK if is_xml else NUMBER).match(line):
            talk_number = match[1]
        if line.lower().startswith("<doc ") if is_xml else line.startswith("<title>"):
            talks.append(Talk(talk_number, f"{name} from line {number}", [], []))
            is_head = False
        elif is_xml and line.lower().startswith("<seg"):
            segment = SEGMENT.fullmatch(line)
            _add(talks, f"{name}: line {number}", html.unescape(segment[1]).strip() if segment else None)
        elif not is_xml and TAG.match(line):
            is_head = is_head or bool(talks[-1].lines)
        elif not is_xml and not (is_head and (not line or line.startswith("<"))):  # a blank line or an unknown tag
            _add(talks, f"{name}: line {number}", html.unescape(line))
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


def _add(talks: list[Talk], place: str, text: str | None) -> None:
    if not talks:
        raise UserError(f"{place} is text before the first talk")
    if text is None or "\n" in text:
        talks[-1].wrong.append(f"{place} is no whole segment")
    elif not text.isascii() and re.search("[\udc80-\udcff]", text):
        talks[-1].wrong.append(f"{place} is not UTF-8")
    else:
        talks[-1].lines.append(text)


def _parallel(split: str, languages: dict[str, list[Talk]]) -> dict[str, Documents]:
    """Return the talks that all languages have, with the same number of lines, in the order of the first language."""
    sides = {language: _by_number(talks) for language, talks in languages.items()}
    kept: dict[str, Documents] = {language: [] for language in languages}
    with skipping(split, "talks") as counted:
        for key in dict.fromkeys(key for side in sides.values() for key in side):
            with counted.trying(f"talk {key[0]}"):
                talks = [side[key] for side in sides.values() if key in side]
                if missing := [language for language, side in sides.items() if key not in side]:
                    raise ValueError(f"{talks[0].place}; not in {', '.join(missing)}")
                if wrong := [reason for talk in talks for reason in talk.wrong]:
                    raise ValueError(wrong[0])
                if len({len(talk.lines) for talk in talks}) > 1:
                    raise ValueError(", ".join(f"{len(talk.lines)} lines in {talk.place}" for talk in talks))
                for language, talk in zip(kept, talks, strict=True):
                    kept[language].append(talk.lines)
    return kept


def _by_number(talks: list[Talk]) -> dict[Key, Talk]:
    seen: Counter[str] = Counter()
    numbered = {}
    for talk in talks:
        seen[talk.number] += 1
        numbered[talk.number, seen[talk.number]] = talk
    return numbered


def _without_every(step: int, documents: Documents) -> tuple[Documents, Documents]:
    """Return documents without each `step`-th line, counted over all of them, and documents of those lines alone."""
    kept, held_out, count = Documents(), Documents(), 0
    for lines in documents:
        numbered = list(enumerate(lines, start=count + 1))
        kept.append([line for number, line in numbered if number % step])
        held_out.append([line for number, line in numbered if number % step == 0])
        count += len(lines)
    return kept, held_out


def unpack_opus_xml(paths: dict[str, Path], folder: Path, file: DownloadFile, entry: CorpusEntry) -> None:
    """Write train with its documents from the alignment, which comes after the archives of both languages.

    A document that is missing or not XML is skipped, and a group with a missing sentence. Raise UserError for too many
    of them, and SyntaxError for an alignment that is not XML.
    """
    if file.name.endswith(".zip"):
        return
    languages = file.name.partition(".")[0].split("-")
    documents: list[list[tuple[str, ...]]] = []  # groups in both languages
    with ExitStack() as opened:
        archives = [opened.enter_context(zipfile.ZipFile(paths[f"{language}.zip"])) for language in languages]
        members = [
            {name.partition("/raw/")[2].removesuffix(".gz"): name for name in archive.namelist()}
            for archive in archives
        ]
        alignment = opened.enter_context(gzip.open(paths[file.name]))
        counted = opened.enter_context(skipping(file.name, "documents"))
        counted_groups = opened.enter_context(skipping(file.name, "groups of sentences"))
        for _, element in ElementTree.iterparse(alignment):  # noqa: S314 (as in _sentences)
            if element.tag == "linkGrp":
                names = [element.attrib[side].removesuffix(".gz") for side in ("fromDoc", "toDoc")]
                with counted.trying(names[0]):
                    found = [known[name] for known, name in zip(members, names, strict=True)]
                    sides = [_sentences(archive, name) for archive, name in zip(archives, found, strict=True)]
                    documents.append(list(_groups(element, sides, counted_groups, names[0])))
                element.clear()
    _append(
        folder,
        "train",
        {language: [[group[n] for group in one] for one in documents] for n, language in enumerate(languages)},
    )


def _sentences(archive: zipfile.ZipFile, member: str) -> dict[str, str]:
    content = archive.read(member)
    try:
        # expat loads no external entity and limits expansion
        root = ElementTree.fromstring(gzip.decompress(content) if member.endswith(".gz") else content)  # noqa: S314
    except ElementTree.ParseError as error:
        raise ValueError(f"{member} is not XML: {error}") from None
    return {sentence.attrib["id"]: _joined(sentence.itertext()) for sentence in root.iter("s")}


def _groups(
    alignment: ElementTree.Element, sides: list[dict[str, str]], counted: Counted, document: str
) -> Iterator[tuple[str, ...]]:
    for link in alignment.iter("link"):
        ids = link.attrib["xtargets"]
        with counted.trying(f"{document}, {ids}"):
            parts = zip(sides, ids.split(";"), strict=True)
            group = tuple(_joined(side[number] for number in part.split()) for side, part in parts)
            if all(group):
                yield group


def _joined(parts: Iterable[str]) -> str:
    return " ".join(" ".join(parts).split())


def unpack_tvsub(paths: dict[str, Path], folder: Path, file: DownloadFile, entry: CorpusEntry) -> None:
    """Write train, dev and test with their documents; limit train to the first `documents` episodes of the entry.

    Episodes that lack a side, have sides of unequal length, or are not UTF-8, are skipped. Raise UserError for too many
    of them, for too few episodes, and for other files that are missing or do not fit.
    """
    files = _tar_members(paths[file.name], lambda name: name.rpartition("/")[2] if SUBTITLES.fullmatch(name) else None)

    def lines_of(name: str) -> list[str]:
        if name not in files:
            raise UserError(f"{name!r} is not in the archive")
        return list(decoded_lines(files[name], name))

    numbers = sorted({int(name.partition(".")[0]) for name in files if name[0].isdecimal()})
    if not 1 <= (entry.documents or len(numbers)) <= len(numbers):
        raise UserError(f"documents is {entry.documents}; there are {len(numbers)} episodes")
    training: dict[str, Documents] = {"zh": [], "en": []}
    with skipping(file.name, "episodes") as counted:
        for number in numbers[: entry.documents]:
            with counted.trying(f"episode {number}"):
                chinese, english = lines_of(f"{number}.zh"), lines_of(f"{number}.en")
                if len(chinese) != len(english):
                    raise ValueError(f"{len(chinese)} Chinese lines and {len(english)} English ones")
                training["zh"].append(chinese)
                training["en"].append(english)
    _append(folder, TRAIN, training)
    for split in ("dev", "test"):
        versions: dict[str, Documents] = defaultdict(list)
        for version, document in VERSION.findall("\n".join(lines_of(f"{split}_trg.sgm"))):
            versions[version].append(REFERENCE.findall(document))
        first, *further = versions.values()
        english, sizes = lines_of(f"{split}.orignal.en"), list(map(len, first))
        if sum(sizes) != len(english):
            raise UserError(f"{split}_trg.sgm has {sum(sizes)} segments, {split}.orignal.en {len(english)} lines")
        write_lines(folder / f"{split}.zh", map(str.strip, lines_of(f"{split}.orignal.zh")))
        write_lines(folder / f"{split}.en", map(_rejoined, english))
        for place, documents in enumerate(further, start=1):
            write_lines(folder / f"{split}.en.{place}", map(_rejoined, chain.from_iterable(documents)))
        write_sizes(folder, split, sizes)


def _rejoined(tokens: str) -> str:
    text = re.sub(r"(?<=\w) (?='\w)", "", html.unescape(tokens))
    return " ".join(re.sub(r"(?<=\w) @-@ (?=\w)", "-", text).replace("@-@", "-").split())


def unpack_bcontrast(paths: dict[str, Path], folder: Path, file: DownloadFile, _: CorpusEntry) -> None:
    """Append to SPLIT, SPLIT_agent and SPLIT_customer with their documents; raise UserError for too many bad chats."""
    chats = parsed_json(paths[file.name], file.name, "chat", lambda chat: list(map(_utterance, chat)))
    for ending, speakers in (("", {*SPEAKERS}), ("_agent", {"agent"}), ("_customer", {"customer"})):
        said = [[utterance for utterance in chat if utterance["speaker"] in speakers] for chat in chats]
        sides = {language: [[utterance[language] for utterance in chat] for chat in said] for language in ("en", "de")}
        _append(folder, f"{file.to}{ending}", sides)


def _utterance(values: dict[str, Any]) -> dict[str, str]:
    source, target = SPEAKERS[values["speaker"]]
    return {"speaker": values["speaker"], source: one_line(values["source"]), target: one_line(values["target"])}
