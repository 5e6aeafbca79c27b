"""Made-up files of every format of data/params.yaml, for a mirror: a few sentences, parallel in all languages."""

import gzip
import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import made_up_iwslt
from made_up_wmt import sentence, tarred, text, zipped
from test_formats import FILMS, opus_archive, pronoun_item, said, sense, sgm, subtitles

from context_nmt.corpus.catalogue import CorpusEntry, read_catalogue
from context_nmt.settings.checking import check

Files = dict[str, bytes]  # by the name that a file has in the mirror

LINES, FEW = 200, 12  # of training sets and of all others
DOCUMENT = 5  # sentences
TASK = ".txt"  # the ending of probing tasks, which are no text of a language
SMALLER: dict[str, Any] = {"documents": 30}  # of downloaded entries that have the key
SMALLER_MINIATURE = {
    "train": LINES,
    "valid": FEW,
    "test": FEW,
    "contrastive": {"within": 6, "cross_pairs": 6, "beside": 6, "far": 6, "previous_pairs": 6},
    "probing": {"documents": 800, "training": 20, "validation": 10, "test": 10, "words": 4},
}


def write_catalogue(source: Path, destination: Path) -> None:
    """Copy a data/params.yaml with small sizes and without checksums, as JSON, which is YAML."""
    catalogue = read_catalogue(source)
    for entry in catalogue["generated"].values():
        entry |= SMALLER_MINIATURE
    for entry in catalogue["corpora"].values():
        entry |= {key: value for key, value in SMALLER.items() if entry.get(key) is not None}
        for file in entry.get("files", ()):
            file |= {"sha256": None, "md5": None, "git_blob": None, "mirrors": []}
    destination.write_text(json.dumps(catalogue), encoding="utf-8")


def write_mirror(mirror: Path, catalogue: Path) -> None:
    """Write all files of all entries under corpora into MIRROR/CORPUS/FILE."""
    for corpus, values in read_catalogue(catalogue)["corpora"].items():
        entry = check(CorpusEntry, values, where=corpus)
        by_format = defaultdict(list)
        for file in entry.files:
            by_format[file.format or entry.format].append(replace(file, format=None))
        put(mirror / corpus, test_sets(entry))
        for form, files in by_format.items():
            FORMATS[form](mirror / corpus, replace(entry, format=form, files=tuple(files), sacrebleu=()))


def put(folder: Path, files: Files) -> None:
    """Write files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def size(output: str) -> int:
    """The number of lines of a split, given its file."""
    return LINES if output.startswith("train") else FEW


def lines(split: str, language: str) -> list[str]:
    """The sentences of a split."""
    return [sentence(language, number) for number in range(size(split))]


def packed(written: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in written).encode()


def cut(sentences: list[str]) -> list[list[str]]:
    """The documents of a split."""
    return [sentences[first : first + DOCUMENT] for first in range(0, len(sentences), DOCUMENT)]


def test_sets(entry: CorpusEntry) -> Files:
    """The sets of sacrebleu, with documents."""
    files = {}
    for one in entry.sacrebleu:
        files |= {f"{one.split}.{language}": packed(lines(one.split, language)) for language in one.pair.split("-")}
        files[f"{one.split}.documents"] = packed([str(first) for first in range(0, FEW, DOCUMENT)])
    return files


def write_texts(folder: Path, entry: CorpusEntry) -> None:
    """Write texts and archives of texts; archives that are joined share the lines of the training set."""
    outputs = [output for file in entry.files for output in file.outputs]
    task = packed(
        [f"{part}\t{number % 2}\t{sentence('en', number)}" for part in ("tr", "va", "te") for number in range(9)]
    )

    def content(layout: str) -> bytes:
        if layout.endswith(TASK):
            return task
        name = next(output for output in outputs if output in layout)
        return text(layout, size(name) // outputs.count(name))

    for file in entry.files:
        if file.to is not None:
            put(folder, {file.name: gzip.compress(content(file.to)) if file.name.endswith(".gz") else content(file.to)})
        else:
            pack = zipped if file.name.endswith(".zip") else tarred
            put(folder, {file.name: pack({member: content(layout) for member, layout in file.members.items()})})


def write_chats(folder: Path, entry: CorpusEntry) -> None:
    for file in entry.files:
        pairs = zip(lines(str(file.to), "en"), lines(str(file.to), "de"), strict=True)
        utterances = [
            said("agent", english, german) if number % 2 else said("customer", german, english)
            for number, (english, german) in enumerate(pairs)
        ]
        put(folder, {file.name: json.dumps(dict(enumerate(cut(utterances)))).encode()})


def write_pronouns(folder: Path, entry: CorpusEntry) -> None:
    items = [pronoun_item(3, 2, right="Er"), pronoun_item(2, 0, document="2016_5_77.de")]
    for file in entry.files:
        put(folder, {file.name: opus_archive(*FILMS) if file.name.endswith(".zip") else json.dumps(items).encode()})


def write_senses(folder: Path, entry: CorpusEntry) -> None:
    for file in entry.files:
        source, target = file.name.partition(".")[0].split("-")
        items = [
            sense(number, sentence(target, number + 1))
            | {"source": sentence(source, number), "reference": sentence(target, number)}
            for number in range(FEW)
        ]
        put(folder, {file.name: json.dumps(items).encode()})


def write_discourse(folder: Path, entry: CorpusEntry) -> None:
    source, right, wrong = (
        [sentence(language, 0), sentence(language, number)] for language, number in (("en", 1), ("fr", 1), ("fr", 2))
    )
    candidates = {"correct": right, "incorrect": wrong}
    blocks = {
        "anaphora": {"src": source, "trg": [{"type": "m.sg", **candidates}]},
        "lexical_choice": {"type": "repet", "examples": [{"src": source, "trg": candidates}]},
    }
    put(folder, {file.name: json.dumps({"1": blocks[str(file.to)]}).encode() for file in entry.files})


def write_episodes(folder: Path, entry: CorpusEntry) -> None:
    files = {}
    for language in ("zh", "en"):
        for number, document in enumerate(cut(lines("train", language))):
            files[f"orignal/train/separated/{number}.{language}"] = packed(document).decode()
        for split in ("dev", "test"):
            files[f"orignal/{split}/{split}.orignal.{language}"] = packed(lines(split, language)).decode()
    for split, references in {"dev": 1, "test": 3}.items():
        files[f"processed/{split}/{split}_trg.sgm"] = sgm(*[cut(lines(split, "en"))] * references)
    put(folder, {entry.files[0].name: subtitles(**files)})


def write_aligned(folder: Path, entry: CorpusEntry) -> None:
    *_, alignment = (file.name for file in entry.files)
    languages = alignment.partition(".")[0].split("-")
    for language in languages:
        documents = {
            f"Made-up/raw/{language}/{number}.xml": "\n".join(
                ["<text>", *(f'<s id="{place}">{line}</s>' for place, line in enumerate(document)), "</text>"]
            ).encode()
            for number, document in enumerate(cut(lines("train", language)))
        }
        put(folder, {f"{language}.zip": zipped(documents)})
    groups = []
    for number in range(LINES // DOCUMENT):
        one, other = (f"{language}/{number}.xml.gz" for language in languages)
        links = "".join(f'<link xtargets="{place};{place}"/>' for place in range(DOCUMENT))
        groups.append(f'<linkGrp fromDoc="{one}" toDoc="{other}">{links}</linkGrp>')
    put(folder, {alignment: gzip.compress(f"<cesAlign>{''.join(groups)}</cesAlign>".encode())})


def write_drawn(folder: Path, entry: CorpusEntry) -> None:
    (name,) = (file.name for file in entry.files)
    one, other = languages = name.partition(".")[0].split("-")
    members = {f"Made-up.{one}-{other}.{language}": packed(lines("train", language)) for language in languages}
    names = (f"2000/{number // DOCUMENT}/1.xml.gz" for number in range(LINES))
    members[f"Made-up.{one}-{other}.ids"] = packed([f"{one}/{path}\t{other}/{path}\t1\t1" for path in names])
    put(folder, {name: zipped(members)})


# What writes the files of an entry into a folder of a mirror, by their format.
FORMATS: dict[str, Callable[[Path, CorpusEntry], None]] = {
    "text": write_texts,
    "bcontrast": write_chats,
    "contrapro": write_pronouns,
    "contrawsd": write_senses,
    "discourse_mt": write_discourse,
    "iwslt": partial(made_up_iwslt.write, sentence=sentence),
    "opus_moses": write_drawn,
    "opus_xml": write_aligned,
    "tvsub": write_episodes,
}
