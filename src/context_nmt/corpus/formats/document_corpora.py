"""Corpora whose downloads have document boundaries: TED talks, commentaries, episodes, chats.

iwslt: TED talks of WIT3 (Cettolo et al. 2012), the corpora of IWSLT: an archive per language pair, here de-en.

    train.tags.de-en.de                 lines of text, parallel to the English ones; before and after the text of a
                                        talk, lines of tags: <url>, <keywords>, <speaker>, <talkid>, <title>, …
                                        (see TAG; a line that starts with another tag, like <applause>, is text)
    IWSLT14.TED.tst2010.de-en.de.xml    <doc docid="ID" …> per talk, tags, and <seg id="1"> TEXT </seg>

Each talk is a document. In a training text it starts at <title>, as in Miculicich et al. (2018); the order of the other
tags depends on the year. Titles and descriptions are not part of a talk's text and are left out. Files with the same
SPLIT.LANGUAGE are concatenated: archives in the order of the entry, files of an archive in the order of their names.

opus_xml: a corpus of OPUS (Tiedemann 2012): texts as XML, and the alignment of their sentences.

    LANGUAGE.zip    CORPUS/raw/LANGUAGE/NAME.xml or .xml.gz: one document, with <s id="ID">…</s> for each sentence
    A-B.xml.gz      <linkGrp fromDoc="A/NAME.xml.gz" toDoc="B/NAME.xml.gz"> for each document, and in it
                    <link xtargets="IDS;IDS"/> for each group of sentences that are translations of each other

As in OPUS' plain texts, a group becomes one line, and a group without text in one of the languages is left out. Bad
documents and groups are skipped, as by OpusTools.

tvsub: Chinese-English subtitles of television episodes (Wang et al. 2018), from an archive of their repository.

    data/orignal/train/separated/N.zh, N.en   training: raw text, one episode per file
    data/orignal/SPLIT/SPLIT.orignal.zh, .en  dev and test: raw Chinese, tokenized English with capitals
    data/processed/SPLIT/SPLIT_trg.sgm        episode boundaries; lower-cased English, three versions for test

English contractions and hyphenated words are rejoined; punctuation stays separate, because Moses does not split a full
stop from its word before a lower-case letter. The first reference of test has capitals; the second and third, test.en.1
and test.en.2, have none: score in lower case.

bcontrast: BConTrasT (WMT 2020 chat translation task), chats of English agents with German customers.

    {CHAT: [{"utteranceID": 0, "speaker": "agent", "source": the utterance, "target": its translation}, …]}

The source of an agent is English, the source of a customer German. `SPLIT.en` and `SPLIT.de` have the utterances of
both speakers in the order of the chats, so that each chat is a document in both languages. The task translates each
speaker in one direction and scores them separately: `SPLIT_agent` and `SPLIT_customer` have the utterances of one
speaker.
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
from context_nmt.corpus.formats import Format, SkipCounts, parse_json, require_one_line, skipping
from context_nmt.files import UserError, decoded_lines, read_lines, write_lines

FORMATS = {
    "iwslt": Format(("members",), options={"held_out_every": False}),
    "bcontrast": Format(("to",), "SPLIT"),
    "tvsub": Format(options={"documents": False}),
    "opus_xml": Format(),
}

Documents = list[list[str]]  # the lines of each document, in one language
TalkKey = tuple[str, int]  # the number of a talk, and its rank, from 1, among the talks with this number

TALK = re.compile(r'<doc .*?docid="([^"]*)".*>', re.IGNORECASE)
NUMBER = re.compile(r"<talkid>(.*)</talkid>")
TAG = re.compile(r"</?(?:url|keywords|speaker|talkid|title|description|reviewer|translator|doc)[ >]")
ELEMENT = re.compile(TAG.pattern.replace("doc", "doc|seg"), re.IGNORECASE)
SEGMENT = re.compile(r"<seg id=[^>]*>((?:(?!</?seg\b).)*)</seg>", re.IGNORECASE)  # not two segments in one line
MULTILINE_START = {True: re.compile("<(seg) ", re.IGNORECASE), False: re.compile("<(title|description)>")}  # by is_xml

EPISODES = r"orignal/train/separated/\d+\.(?:zh|en)"
EVALUATED = r"(?:orignal|processed)/(?:dev|test)/(?:dev|test)(?:\.orignal\.(?:zh|en)|_trg\.sgm)"
SUBTITLES = re.compile(f"[^/]*/data/(?:{EPISODES}|{EVALUATED})")
VERSION = re.compile(r'<DOC docid="[^"]*" sysid="([^"]*)">(.*?)</DOC>', re.DOTALL)
REFERENCE = re.compile(r"<seg id=\d+>(.*?)</seg>")

SPEAKERS = {"agent": ("en", "de"), "customer": ("de", "en")}  # languages of the source and the translation


def _append(folder: Path, split: str, languages: dict[str, Documents]) -> None:
    """Append documents, parallel in all languages, to the files of a split; leave out empty documents."""
    sizes: list[int] = []
    for language, documents in languages.items():
        path = folder / f"{split}.{language}"
        earlier = read_lines(path) if path.exists() else []
        sizes = [len(document) for document in read_documents(folder, split, len(earlier)) or []]
        sizes += [len(document) for document in documents if document]
        write_lines(path, chain(earlier, *documents))
    write_sizes(folder, split, sizes)


def _tar_members(path: Path, name_of: Callable[[str], str | None]) -> dict[str, list[bytes]]:
    """Read the lines of the members to which `name_of` gives a name, by that name."""
    members: dict[str, list[bytes]] = {}
    with tarfile.open(path) as archive:
        for member in archive:  # in the order of the archive, as seeking back is slow
            if (name := name_of(member.name)) and member.isreg() and (content := archive.extractfile(member)):
                members[name] = content.readlines()
    return members


class Talk(NamedTuple):
    """A talk in one language."""

    number: str  # WIT3's, the same in all languages; in a training text, the last one before the title
    location: str  # for messages
    lines: list[str]
    problems: list[str]


def unpack_iwslt(paths: dict[str, Path], folder: Path, file: DownloadFile, entry: CorpusEntry) -> None:
    """Append the talks of an archive to the splits that `members` of the file names, with their documents.

    Skip talks that cannot be read or differ between the languages. Raise UserError for a file that the archive lacks,
    text outside of a talk, and too many bad talks.
    """
    members = _tar_members(paths[file.name], lambda name: name if name in file.members else None)
    splits: dict[str, dict[str, list[Talk]]] = defaultdict(lambda: defaultdict(list))
    for name, output in sorted(file.members.items()):
        if name not in members:
            raise UserError(f"{name!r} is not a plain file of the archive")
        split, _, language = output.partition(".")
        splits[split][language] += _read_talks(name, members[name])
    for split, languages in splits.items():
        talks = _parallel_talks(split, languages)
        if split == TRAIN and entry.held_out_every:
            kept, held_out = dict[str, Documents](), dict[str, Documents]()
            for language, documents in talks.items():
                kept[language], held_out[language] = _hold_out_every(entry.held_out_every, documents)
            _append(folder, HELD_OUT, held_out)
            talks = kept
        _append(folder, split, talks)


def _read_talks(name: str, content: Iterable[bytes]) -> list[Talk]:
    is_xml, talk_number, talks = name.endswith(".xml"), "", list[Talk]()
    is_head = True  # before the text of a talk
    lines = [line.decode("utf-8", "surrogateescape").strip() for line in content]
    lines[:1] = [line.removeprefix("\ufeff") for line in lines[:1]]
    for number, line in _join_elements(lines, MULTILINE_START[is_xml]):
        if match := (TALK if is_xml else NUMBER).match(line):
            talk_number = match[1]
        if line.lower().startswith("<doc ") if is_xml else line.startswith("<title>"):
            talks.append(Talk(talk_number, f"{name} from line {number}", [], []))
            is_head = False
        elif is_xml and line.lower().startswith("<seg"):
            segment = SEGMENT.fullmatch(line)
            _add_text(talks, f"{name}: line {number}", html.unescape(segment[1]).strip() if segment else None)
        elif not is_xml and TAG.match(line):
            is_head = is_head or bool(talks[-1].lines)
        elif not is_xml and not (is_head and (not line or line.startswith("<"))):  # a blank line or an unknown tag
            _add_text(talks, f"{name}: line {number}", html.unescape(line))
            is_head = False
    if not talks:
        raise UserError(f"{name}: no talk; each starts with {'<doc docid=…>' if is_xml else '<title>'}")
    return talks


def _join_elements(lines: list[str], start_pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yield numbered lines; join the lines of an element that starts with the pattern and ends before the next one."""
    start = 0
    while start < len(lines):
        stop = start + 1
        if match := start_pattern.match(lines[start]):
            stop = _element_end(lines, start, f"</{match[1].lower()}>") or stop
        yield start + 1, " ".join(lines[start:stop])
        start = stop


def _element_end(lines: list[str], start: int, closing: str) -> int | None:
    for index in range(start, len(lines)):
        if closing in lines[index].lower():
            return index + 1
        if index > start and ELEMENT.match(lines[index]):
            return None
    return None


def _add_text(talks: list[Talk], location: str, text: str | None) -> None:
    if not talks:
        raise UserError(f"{location} is text before the first talk")
    if text is None or "\n" in text:
        talks[-1].problems.append(f"{location} is not a whole segment")
    elif not text.isascii() and re.search("[\udc80-\udcff]", text):
        talks[-1].problems.append(f"{location} is not UTF-8")
    else:
        talks[-1].lines.append(text)


def _parallel_talks(split: str, languages: dict[str, list[Talk]]) -> dict[str, Documents]:
    """Return the talks that have the same number of lines in all languages, in the order of the first language."""
    sides = {language: _by_key(talks) for language, talks in languages.items()}
    kept: dict[str, Documents] = {language: [] for language in languages}
    with skipping(split, "talks") as counts:
        for key in dict.fromkeys(key for side in sides.values() for key in side):
            with counts.skip_on_error(f"talk {key[0]}"):
                talks = [side[key] for side in sides.values() if key in side]
                if missing := [language for language, side in sides.items() if key not in side]:
                    raise ValueError(f"{talks[0].location}; not in {', '.join(missing)}")
                if problems := [problem for talk in talks for problem in talk.problems]:
                    raise ValueError(problems[0])
                if len({len(talk.lines) for talk in talks}) > 1:
                    raise ValueError(", ".join(f"{len(talk.lines)} lines in {talk.location}" for talk in talks))
                for language, talk in zip(kept, talks, strict=True):
                    kept[language].append(talk.lines)
    return kept


def _by_key(talks: list[Talk]) -> dict[TalkKey, Talk]:
    ranks: Counter[str] = Counter()
    by_key = {}
    for talk in talks:
        ranks[talk.number] += 1
        by_key[talk.number, ranks[talk.number]] = talk
    return by_key


def _hold_out_every(step: int, documents: Documents) -> tuple[Documents, Documents]:
    """Return documents without every `step`-th line, counted over all of them, and documents of only these lines."""
    kept, held_out, count = Documents(), Documents(), 0
    for lines in documents:
        numbered = list(enumerate(lines, start=count + 1))
        kept.append([line for number, line in numbered if number % step])
        held_out.append([line for number, line in numbered if number % step == 0])
        count += len(lines)
    return kept, held_out


def unpack_opus_xml(paths: dict[str, Path], folder: Path, file: DownloadFile, entry: CorpusEntry) -> None:
    """Write train with its documents from the alignment; the entry must list it after the archives of both languages.

    Skip documents that are missing or not XML, and groups with a missing sentence. Raise UserError for too many of
    them, and SyntaxError for an alignment that is not XML.
    """
    if file.name.endswith(".zip"):
        return
    languages = file.name.partition(".")[0].split("-")
    documents: list[list[tuple[str, ...]]] = []  # groups in both languages
    with ExitStack() as stack:
        archives = [stack.enter_context(zipfile.ZipFile(paths[f"{language}.zip"])) for language in languages]
        members = [
            {name.partition("/raw/")[2].removesuffix(".gz"): name for name in archive.namelist()}
            for archive in archives
        ]
        alignment = stack.enter_context(gzip.open(paths[file.name]))
        document_counts = stack.enter_context(skipping(file.name, "documents"))
        group_counts = stack.enter_context(skipping(file.name, "groups of sentences"))
        for _, element in ElementTree.iterparse(alignment):  # noqa: S314 (as in _sentences)
            if element.tag == "linkGrp":
                names = [element.attrib[side].removesuffix(".gz") for side in ("fromDoc", "toDoc")]
                with document_counts.skip_on_error(names[0]):
                    sides = [
                        _sentences(archive, members_by_name[name])
                        for archive, members_by_name, name in zip(archives, members, names, strict=True)
                    ]
                    documents.append(list(_groups(element, sides, group_counts, names[0])))
                element.clear()
    texts = {language: [[group[n] for group in groups] for groups in documents] for n, language in enumerate(languages)}
    _append(folder, TRAIN, texts)


def _sentences(archive: zipfile.ZipFile, member: str) -> dict[str, str]:
    content = archive.read(member)
    try:
        # expat loads no external entity and limits expansion
        root = ElementTree.fromstring(gzip.decompress(content) if member.endswith(".gz") else content)  # noqa: S314
    except ElementTree.ParseError as error:
        raise ValueError(f"{member} is not XML: {error}") from None
    return {sentence.attrib["id"]: _join_words(sentence.itertext()) for sentence in root.iter("s")}


def _groups(
    alignment: ElementTree.Element, sides: list[dict[str, str]], counts: SkipCounts, document: str
) -> Iterator[tuple[str, ...]]:
    for link in alignment.iter("link"):
        ids = link.attrib["xtargets"]
        with counts.skip_on_error(f"{document}, {ids}"):
            parts = zip(sides, ids.split(";"), strict=True)
            group = tuple(_join_words(side[number] for number in part.split()) for side, part in parts)
            if all(group):
                yield group


def _join_words(parts: Iterable[str]) -> str:
    return " ".join(" ".join(parts).split())


def unpack_tvsub(paths: dict[str, Path], folder: Path, file: DownloadFile, entry: CorpusEntry) -> None:
    """Write train, dev and test with their documents; train has only the first `documents` episodes of the entry.

    Skip episodes that lack a side, have sides of unequal length, or are not UTF-8. Raise UserError for too many of
    them, for too few episodes, and for other files that are missing or do not fit.
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
    with skipping(file.name, "episodes") as counts:
        for number in numbers[: entry.documents]:
            with counts.skip_on_error(f"episode {number}"):
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
        first, *further_references = versions.values()
        english, sizes = lines_of(f"{split}.orignal.en"), list(map(len, first))
        if sum(sizes) != len(english):
            raise UserError(f"{split}_trg.sgm has {sum(sizes)} segments, {split}.orignal.en {len(english)} lines")
        write_lines(folder / f"{split}.zh", map(str.strip, lines_of(f"{split}.orignal.zh")))
        write_lines(folder / f"{split}.en", map(_rejoin, english))
        for number, documents in enumerate(further_references, start=1):
            write_lines(folder / f"{split}.en.{number}", map(_rejoin, chain.from_iterable(documents)))
        write_sizes(folder, split, sizes)


def _rejoin(tokens: str) -> str:
    text = re.sub(r"(?<=\w) (?='\w)", "", html.unescape(tokens))
    return " ".join(re.sub(r"(?<=\w) @-@ (?=\w)", "-", text).replace("@-@", "-").split())


def unpack_bcontrast(paths: dict[str, Path], folder: Path, file: DownloadFile, _: CorpusEntry) -> None:
    """Append to SPLIT, SPLIT_agent and SPLIT_customer with their documents; raise UserError for too many bad chats."""
    chats = parse_json(paths[file.name], file.name, "chat", lambda chat: list(map(_utterance, chat)))
    for ending, speakers in (("", {*SPEAKERS}), ("_agent", {"agent"}), ("_customer", {"customer"})):
        selected = [[utterance for utterance in chat if utterance["speaker"] in speakers] for chat in chats]
        sides = {
            language: [[utterance[language] for utterance in chat] for chat in selected] for language in ("en", "de")
        }
        _append(folder, f"{file.to}{ending}", sides)


def _utterance(values: dict[str, Any]) -> dict[str, str]:
    source, target = SPEAKERS[values["speaker"]]
    texts = {source: require_one_line(values["source"]), target: require_one_line(values["target"])}
    return {"speaker": values["speaker"], **texts}
