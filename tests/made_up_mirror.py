"""Made-up files of every format of data/params.yaml, single or as a mirror of all corpora.

The same entry always gives the same bytes, so that checksums agree. Sentences are parallel in all languages.
"""

import gzip
import io
import json
import tarfile
import zipfile
from collections import defaultdict
from dataclasses import replace
from html import escape
from random import Random
from typing import Any

from context_nmt.corpus.catalogue import SKIPPED, CorpusEntry, names_in, read_catalogue
from context_nmt.settings import check

TRAINING_LINES, TEST_LINES = 200, 12
DOCUMENT_LINES = 5
SMALLER: dict[str, Any] = {"documents": 30}  # for downloaded entries that have the key
SMALLER_MINIATURE = {
    "train": TRAINING_LINES,
    "valid": TEST_LINES,
    "test": TEST_LINES,
    "contrastive": {"within": 6, "cross_pairs": 6, "beside": 6, "far": 6, "previous_pairs": 6},
    "probing": {"documents": 800, "training": 20, "validation": 10, "test": 10, "words": 4},
}
SYLLABLES = {
    "ja": "か き く け こ さ し す せ そ",
    "ru": "ба вы го дю ёж зи йка шё щу эль",  # noqa: RUF001
    "zh": "我 你 书 看 去 来 是 人 大 小",
}
LATIN = "ba cu di fe go hal im jo ku ler"
WITHOUT_SPACES = {"ja": "。", "zh": "。"}


def write_catalogue(source, destination):
    """Copy a data/params.yaml with small sizes and without checksums, as JSON, which is YAML."""
    catalogue = read_catalogue(source)
    for entry in catalogue["generated"].values():
        entry |= SMALLER_MINIATURE
    for entry in catalogue["corpora"].values():
        entry |= {key: value for key, value in SMALLER.items() if entry.get(key) is not None}
        for file in entry.get("files", ()):
            file |= {"sha256": None, "md5": None, "git_blob": None, "mirrors": []}
    destination.write_text(json.dumps(catalogue), encoding="utf-8")


def write_mirror(mirror, catalogue):
    """Write all files of all entries under corpora into MIRROR/CORPUS/FILE."""
    for corpus, values in read_catalogue(catalogue)["corpora"].items():
        entry = check(CorpusEntry, values, where=corpus)
        files_by_format = defaultdict(list)
        for file in entry.files:
            files_by_format[file.format or entry.format].append(replace(file, format=None))
        files = test_sets(entry)
        for form, format_files in files_by_format.items():
            files |= FORMATS[form](replace(entry, format=form, files=tuple(format_files), sacrebleu=()))
        (mirror / corpus).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (mirror / corpus / name).write_bytes(content)


def sentence(language, number):
    """A sentence; sentences with the same number are parallel in all languages."""
    random = Random(number)
    syllables = SYLLABLES.get(language, LATIN).split()
    words = ["".join(random.choices(syllables, k=2)) for _ in range(random.randint(4, 9))]
    if language in WITHOUT_SPACES:
        return "".join(words) + WITHOUT_SPACES[language]
    return " ".join(words).capitalize() + "."


def lines(split, language):
    """The sentences of a split."""
    return [sentence(language, number) for number in range(TRAINING_LINES if split.startswith("train") else TEST_LINES)]


def cut(sentences):
    """The documents of a split."""
    return [sentences[first : first + DOCUMENT_LINES] for first in range(0, len(sentences), DOCUMENT_LINES)]


def encoded(lines):
    """The bytes of a text."""
    return "".join(f"{line}\n" for line in lines).encode()


def zipped(members):
    """A zip archive of {name: bytes or text}."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, member in members.items():
            archive.writestr(zipfile.ZipInfo(name), member)  # without the time
    return content.getvalue()


def tarred(members):
    """A gzipped tar archive of {name: bytes or text}."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, member in members.items():
            member = member.encode("utf-8", "surrogateescape") if isinstance(member, str) else member
            info = tarfile.TarInfo(name)
            info.size = len(member)
            archive.addfile(info, io.BytesIO(member))
    return gzip.compress(content.getvalue(), mtime=0)


def test_sets(entry):
    """The test sets of sacrebleu, with documents."""
    files = {}
    for test_set in entry.sacrebleu:
        split = test_set.split
        files |= {f"{split}.{language}": encoded(lines(split, language)) for language in test_set.pair.split("-")}
        files[f"{split}.documents"] = encoded([str(first) for first in range(0, TEST_LINES, DOCUMENT_LINES)])
    return files


def texts(entry):
    """Texts and archives of texts; if several become one file, they share its lines."""
    outputs = [output for file in entry.files for output in file.outputs]

    def content(layout):
        if layout.endswith(".txt"):  # a probing task
            return encoded(f"{p}\t{n % 2}\t{sentence('en', n)}" for p in ("tr", "va", "te") for n in range(9))
        name = next(output for output in outputs if output in layout)
        count = (TRAINING_LINES if name.startswith("train") else TEST_LINES) // outputs.count(name)
        languages = [name if name == SKIPPED else name.partition(".")[2] for name in names_in(layout)]
        separator = "\t" if "\t" in layout else " ||| "
        rows = ([str(n) if name == SKIPPED else sentence(name, n) for name in languages] for n in range(count))
        return encoded(map(separator.join, rows))

    files = {}
    for file in entry.files:
        if file.to is None:
            pack = zipped if file.name.endswith(".zip") else tarred
            files[file.name] = pack({member: content(layout) for member, layout in file.members.items()})
        else:
            text = content(file.to)
            files[file.name] = gzip.compress(text, mtime=0) if file.name.endswith(".gz") else text
    return files


def utterance(speaker, source, target):
    """An utterance of BConTrasT."""
    return {"utteranceID": 0, "speaker": speaker, "source": source, "target": target}


def chats(entry):
    files = {}
    for file in entry.files:
        pairs = zip(lines(file.to, "en"), lines(file.to, "de"), strict=True)
        utterances = [
            utterance("agent", english, german) if number % 2 else utterance("customer", german, english)
            for number, (english, german) in enumerate(pairs)
        ]
        files[file.name] = json.dumps(dict(enumerate(cut(utterances)))).encode()
    return files


def pronoun_item(line, distance, *, document="1921_12806_3712161.de", source="It was old.", right="Es"):
    """An item of ContraPro; its antecedent is `distance` sentences back."""
    wrong = [pronoun for pronoun in ("Er", "Sie", "Es") if pronoun != right]
    return {
        "ante distance": distance,
        "document id": document,
        "errors": [{"contrastive": f"{pronoun} war alt.", "replacement": pronoun} for pronoun in wrong],
        "ref pronoun": right,
        "ref segment": f"{right} war alt.",
        "segment id": line,
        "src pronoun": "It",
        "src segment": source,
    }


FILM, SERIES = "1921/12806/3712161", "2016/5/77"
FILMS = [
    (FILM, "Look, a table.", "Schau, ein Tisch."),
    (SERIES, "Good night.", "Gute Nacht."),
    (FILM, "I see.", "Ich sehe\x85 ihn."),  # U+0085 does not end a line
    (SERIES, "It was old.", "Es war alt."),
    (FILM, 'It was  "old".', "Er war alt."),
]


def films(*rows):
    """The archive of OPUS for ContraPro: (German file, English, German) per line."""
    names = [f"de/{file}.xml.gz\ten/{file[:-1]}9.xml.gz\t1\t1" for file, _, _ in rows]
    members = {"en": [row[1] for row in rows], "de": [row[2] for row in rows], "ids": names}
    return zipped({"README": "OPUS"} | {f"OpenSubtitles.de-en.{end}": encoded(text) for end, text in members.items()})


def pronouns(entry):
    items = json.dumps([pronoun_item(3, 2, right="Er"), pronoun_item(2, 0, document="2016_5_77.de")]).encode()
    return {file.name: films(*FILMS) if file.name.endswith(".zip") else items for file in entry.files}


def sense_item(frequency, *wrong, source="Am Ton liegt es.", right="It is the clay."):
    """An item of ContraWSD."""
    return {
        "source": source,
        "reference": right,
        "errors": [{"contrastive": text, "sense": "sound"} for text in wrong],
        "ambig word": "Ton",
        "sense": "clay",
        "frequency of sense/ambig word in wmt16": f"{frequency}/90000",
    }


def senses(entry):
    files = {}
    for file in entry.files:
        source, target = file.name.partition(".")[0].split("-")
        items = [
            sense_item(n, sentence(target, n + 1), source=sentence(source, n), right=sentence(target, n))
            for n in range(TEST_LINES)
        ]
        files[file.name] = json.dumps(items).encode()
    return files


def discourse(entry):
    source, right, wrong = (
        [sentence(language, 0), sentence(language, number)] for language, number in (("en", 1), ("fr", 1), ("fr", 2))
    )
    candidates = {"correct": right, "incorrect": wrong}
    blocks = {
        "anaphora": {"src": source, "trg": [{"type": "m.sg", **candidates}]},
        "lexical_choice": {"type": "repet", "examples": [{"src": source, "trg": candidates}]},
    }
    return {file.name: json.dumps({"1": blocks[file.to]}).encode() for file in entry.files}


def training_text(talks):
    """Talks of WIT3, {number: lines}, as in train.tags."""
    return "".join(
        talk_tags(number)
        + "".join(f" {escape(line, quote=False)}\n" for line in talk)
        + '<reviewer href="http://www.ted.com/profiles/1">Finch</reviewer>\n<translator></translator>\n'
        for number, talk in talks.items()
    )


def xml(talks):
    """Talks of WIT3, {number: lines}, as in the test sets."""
    documents = "".join(
        f'<doc docid="{number}" genre="lectures">\n {talk_tags(number)}'
        + "".join(f'<seg id="{segment}">  {escape(line)}  </seg>\n' for segment, line in enumerate(talk, start=1))
        + "</doc>\n"
        for number, talk in talks.items()
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n<srcset setid="iwslt2014-dev2010" srclang="german">\n'
    return f"{head}{documents}</srcset>\n</mteval>\n"


def talk_tags(number):
    title = f"<title>Wren: title {number}</title>\n<description>TED Talk {number}: &amp;</description>\n"
    return f"<url>http://www.ted.com/talks/{number}.html</url>\n<talkid>{number}</talkid>\n{title}"


def talks(entry):
    files = {}
    for file in entry.files:
        members = {}
        for name, output in file.members.items():
            split, _, language = output.partition(".")
            is_training = "train.tags" in name
            documents = cut(lines("train" if is_training else split, language))
            members[name] = (training_text if is_training else xml)(dict(enumerate(documents, start=1)))
        files[file.name] = tarred(members)
    return files


def sgm(*versions):
    """Documents of segments, in one or more versions, as in the test set of TVsub."""
    documents = [
        f'<DOC docid="SUB{number:02}" sysid="reference_{version}">\n'
        + "".join(f"<p>\n<seg id={segment}> {text}</seg>\n</p>\n" for segment, text in enumerate(document, start=1))
        + "</DOC>\n"
        for version, references in enumerate(versions, start=1)
        for number, document in enumerate(references, start=1)
    ]
    return '<refset setid="a" srclang="Chinese" trglang="English">\n' + "".join(documents) + "</refset>\n"


def subtitles(**changes):
    """An archive of TVsub like GitHub's; a change of None leaves a file out."""
    test = [["one , anna .", "two @-@ three"], ["i don &apos;t ."]], [["1 .  @-@  one", "2 @-@ 3"], ["no"]]
    files = {
        "orignal/train/separated/10.zh": "十\n",
        "orignal/train/separated/10.en": "Ten.\n",
        "orignal/train/separated/2.zh": "二\n两\n",
        "orignal/train/separated/2.en": "Two.\nA couple.\n",
        "orignal/train/separated/2.np.tk.qb.es.zh": "left out",
        "orignal/dev/dev.orignal.zh": "好 \n",
        "orignal/dev/dev.orignal.en": "Good &apos;un . \n",
        "processed/dev/dev_trg.sgm": sgm([["good &apos;un ."]]),
        "orignal/test/test.orignal.zh": "一\n二\n三\n",
        "orignal/test/test.orignal.en": "One , Anna . \ntwo-three \nI don &apos;t .\n",
        "processed/test/test_trg.sgm": sgm(*test),
    } | changes
    return tarred({f"tvsub-0123/data/{name}": text for name, text in files.items() if text is not None})


def episodes(entry):
    files = {}
    for language in ("zh", "en"):
        for number, document in enumerate(cut(lines("train", language))):
            files[f"orignal/train/separated/{number}.{language}"] = encoded(document).decode()
        for split in ("dev", "test"):
            files[f"orignal/{split}/{split}.orignal.{language}"] = encoded(lines(split, language)).decode()
    for split, references in {"dev": 1, "test": 3}.items():
        files[f"processed/{split}/{split}_trg.sgm"] = sgm(*[cut(lines(split, "en"))] * references)
    return {entry.files[0].name: subtitles(**files)}


def document(*sentences):
    """A document of OPUS, with ids from 1."""
    rows = (f'<p id="{number}"><s id="{number}">{text}</s></p>' for number, text in enumerate(sentences, start=1))
    return f'<?xml version="1.0" encoding="utf-8"?>\n<text>\n{"".join(rows)}\n</text>\n'.encode()


def alignment(groups, languages=("en", "es")):
    """The alignment of documents, {name: ids in both languages}."""
    source, target = languages
    links = (
        f'<linkGrp targType="s" toDoc="{target}/{name}.xml.gz" fromDoc="{source}/{name}.xml.gz">'
        + "".join(f'<link certainty="0.5" xtargets="{ids}" id="SL1"/>' for ids in linked)
        + "</linkGrp>\n"
        for name, linked in groups.items()
    )
    doctype = '<!DOCTYPE cesAlign PUBLIC "-//CES//DTD XML cesAlign//EN" "">'
    head = f'<?xml version="1.0" encoding="utf-8"?>\n{doctype}\n<cesAlign version="1.0">\n'
    return gzip.compress(f"{head}{''.join(links)}</cesAlign>\n".encode(), mtime=0)


def aligned(entry):
    *_, name = (file.name for file in entry.files)
    languages = name.partition(".")[0].split("-")
    files = {}
    for language in languages:
        documents = {str(number): document(*text) for number, text in enumerate(cut(lines("train", language)))}
        files[f"{language}.zip"] = zipped({f"Made-up/raw/{language}/{n}.xml": text for n, text in documents.items()})
    one_to_one = [f"{sentence};{sentence}" for sentence in range(1, DOCUMENT_LINES + 1)]
    return files | {name: alignment(dict.fromkeys(documents, one_to_one), languages)}


def moses_archive(languages, names, **changes):
    """An archive of OPUS with the name of a document for each line; a change of None leaves a file out."""
    source, target = languages
    ids = [f"{source}/{name}\t{target}/{name}\t1\t1" for name in names]
    files = {"README": "", f"Subs.{source}-{target}.ids": encoded(ids)}
    for language in languages:
        counts = defaultdict(int)
        text = []
        for name in names:
            text.append(f"{language} {name} {counts[name]}")
            counts[name] += 1
        files[f"Subs.{source}-{target}.{language}"] = encoded(text)
    return zipped({name: content for name, content in (files | changes).items() if content is not None})


def drawn(entry):
    (name,) = (file.name for file in entry.files)
    names = [f"2000/{number // DOCUMENT_LINES}/1.xml.gz" for number in range(TRAINING_LINES)]
    pair = name.partition(".")[0]
    sentences = {f"Subs.{pair}.{language}": encoded(lines("train", language)) for language in pair.split("-")}
    return {name: moses_archive(pair.split("-"), names, **sentences)}


# By format: the files of an entry, {name: content}.
FORMATS = {
    "text": texts,
    "bcontrast": chats,
    "contrapro": pronouns,
    "contrawsd": senses,
    "discourse_mt": discourse,
    "iwslt": talks,
    "opus_moses": drawn,
    "opus_xml": aligned,
    "tvsub": episodes,
}
