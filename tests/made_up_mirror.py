"""Made-up files of every format of data/params.yaml, for a mirror: each a few lines of a language that can be learned.

A sentence is a list of numbers, and a language has a word for each number, so languages translate word by word.
"""

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from test_formats import said, sense, sgm, subtitles

from context_nmt.corpus.catalogue import CorpusEntry, read_catalogue
from context_nmt.settings.checking import check

Files = dict[str, bytes]  # by the name that a file has in the mirror

LINES, FEW = 200, 12  # of training sets and of all others
DOCUMENT = 5  # sentences
WORDS = 24
SYLLABLES = {"ru": "жи дю ля ши фы цу", "ja": "か こ み の せ ら", "": "ba ko ti nu se lo"}  # "": any other language
# What a segmenter must find has to be in its dictionary.
OWN_WORDS = {
    "zh": "老师 今天 图书馆 学生 北京 朋友 电影 音乐 医生 苹果 汽车 飞机"
    " 火车 天气 春天 问题 时间 世界 城市 工作 公司 学校 孩子 妈妈"
}
WITHOUT_SPACES = ("zh",)
TASK = "txt"  # the ending of probing tasks, which are no text of a language
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
            file["sha256"] = None
    destination.write_text(json.dumps(catalogue), encoding="utf-8")


def write_mirror(mirror: Path, catalogue: Path) -> None:
    """Write all files of all entries under corpora into MIRROR/CORPUS/FILE."""
    for corpus, values in read_catalogue(catalogue)["corpora"].items():
        entry = check(CorpusEntry, values, where=corpus)
        (mirror / corpus).mkdir(parents=True)
        for name, content in (FORMATS[entry.format](entry) | test_sets(entry)).items():
            (mirror / corpus / name).write_bytes(content)


def lines(split: str, language: str) -> list[str]:
    """The sentences of a split; its languages are parallel."""
    choices = Random(split)
    count = LINES if split.startswith("train") else FEW
    return [sentence(choices.choices(range(WORDS), k=choices.randint(2, 7)), language) for _ in range(count)]


def sentence(numbers: list[int], language: str) -> str:
    """The words of a language for these numbers."""
    syllables = SYLLABLES.get(language, SYLLABLES[""]).split()
    naming = Random(language)
    made_up = ["".join(naming.choices(syllables, k=3)) for _ in range(WORDS)]
    words = OWN_WORDS[language].split() if language in OWN_WORDS else made_up
    text = ("" if language in WITHOUT_SPACES else " ").join(words[number] for number in numbers)
    return f"{text[:1].upper()}{text[1:]}."


def tasks() -> list[str]:
    """A probing task: part of the data, label and sentence."""
    return [
        f"{part}\t{number % 2}\t{line}" for part in ("tr", "va", "te") for number, line in enumerate(lines(part, "en"))
    ]


def packed(text: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in text).encode()


def cut(text: list[str]) -> list[list[str]]:
    """The documents of a split."""
    return [text[first : first + DOCUMENT] for first in range(0, len(text), DOCUMENT)]


def archive(name: str, members: Files) -> bytes:
    """A zip archive or, by its name, a tar archive."""
    content = io.BytesIO()
    if name.endswith(".zip"):
        with zipfile.ZipFile(content, "w") as zipped:
            for member, data in members.items():
                zipped.writestr(member, data)
        return content.getvalue()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        for member, data in members.items():
            info = tarfile.TarInfo(member)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return content.getvalue()


def test_sets(entry: CorpusEntry) -> Files:
    """The sets of sacrebleu, with documents."""
    files = {}
    for one in entry.sacrebleu:
        files |= {f"{one.split}.{language}": packed(lines(one.split, language)) for language in one.pair.split("-")}
        files[f"{one.split}.documents"] = packed([str(first) for first in range(0, FEW, DOCUMENT)])
    return files


def texts(entry: CorpusEntry) -> Files:
    """Texts and archives of texts; archives that are joined share the lines of the training set."""
    outputs = [output for file in entry.files for output in file.outputs]

    def text(output: str) -> bytes:
        split, language = output.split(".")
        return packed(tasks() if language == TASK else lines(split, language)[: LINES // outputs.count(output)])

    files = {}
    for file in entry.files:
        if file.to is not None:
            files[file.name] = gzip.compress(text(file.to)) if file.name.endswith(".gz") else text(file.to)
        else:
            files[file.name] = archive(file.name, {member: text(output) for member, output in file.members.items()})
    return files


def chats(entry: CorpusEntry) -> Files:
    files = {}
    for file in entry.files:
        pairs = list(zip(lines(str(file.to), "en"), lines(str(file.to), "de"), strict=True))
        chats = {
            str(first): [
                said("agent", english, german) if number % 2 else said("customer", german, english)
                for number, (english, german) in enumerate(pairs[first : first + DOCUMENT])
            ]
            for first in range(0, len(pairs), DOCUMENT)
        }
        files[file.name] = json.dumps(chats).encode()
    return files


def senses(entry: CorpusEntry) -> Files:
    files = {}
    for file in entry.files:
        source, target = file.name.partition(".")[0].split("-")
        right, wrong = lines("right", target), lines("wrong", target)
        items = [
            sense(number, other) | {"source": german, "reference": one}
            for number, (german, one, other) in enumerate(zip(lines("right", source), right, wrong, strict=True))
        ]
        files[file.name] = json.dumps(items).encode()
    return files


def discourse(entry: CorpusEntry) -> Files:
    (before, now, *_), (before_fr, right, wrong, *_) = lines("set", "en"), lines("set", "fr")
    pairs = {"correct": [before_fr, right], "incorrect": [before_fr, wrong]}
    blocks = {
        "anaphora": {"src": [before, now], "trg": [{"type": "m.sg", **pairs}]},
        "lexical_choice": {"type": "repet", "examples": [{"src": [before, now], "trg": pairs}]},
    }
    return {file.name: json.dumps({"1": blocks[str(file.to)]}).encode() for file in entry.files}


def episodes(entry: CorpusEntry) -> Files:
    files = {}
    for language in ("zh", "en"):
        for number, document in enumerate(cut(lines("train", language))):
            files[f"orignal/train/separated/{number}.{language}"] = packed(document).decode()
        for split in ("dev", "test"):
            files[f"orignal/{split}/{split}.orignal.{language}"] = packed(lines(split, language)).decode()
    for split, references in {"dev": 1, "test": 3}.items():
        files[f"processed/{split}/{split}_trg.sgm"] = sgm(*[cut(lines(split, "en"))] * references)
    return {entry.files[0].name: subtitles(**files)}


def commentaries(entry: CorpusEntry) -> Files:
    *_, alignment = (file.name for file in entry.files)
    languages = alignment.partition(".")[0].split("-")
    files, groups = {}, []
    for language in languages:
        documents = {
            f"Made-up/raw/{language}/{number}.xml": "\n".join(
                ["<text>", *(f'<s id="{place}">{line}</s>' for place, line in enumerate(document)), "</text>"]
            ).encode()
            for number, document in enumerate(cut(lines("train", language)))
        }
        files[f"{language}.zip"] = archive(".zip", documents)
    for number in range(LINES // DOCUMENT):
        one, other = (f"{language}/{number}.xml.gz" for language in languages)
        links = "".join(f'<link xtargets="{place};{place}"/>' for place in range(DOCUMENT))
        groups.append(f'<linkGrp fromDoc="{one}" toDoc="{other}">{links}</linkGrp>')
    return files | {alignment: gzip.compress(f"<cesAlign>{''.join(groups)}</cesAlign>".encode())}


def drawn(entry: CorpusEntry) -> Files:
    (name,) = (file.name for file in entry.files)
    one, other = languages = name.partition(".")[0].split("-")
    members = {f"Made-up.{one}-{other}.{language}": packed(lines("train", language)) for language in languages}
    names = (f"{number // DOCUMENT}/1.xml.gz" for number in range(LINES))
    members[f"Made-up.{one}-{other}.ids"] = packed([f"{one}/2000/{path}\t{other}/2000/{path}\t1\t1" for path in names])
    return {name: archive(name, members)}


# By the format of an entry, what its files are.
FORMATS: dict[str, Callable[[CorpusEntry], Files]] = {
    "text": texts,
    "bcontrast": chats,
    "contrawsd": senses,
    "discourse_mt": discourse,
    "opus_moses": drawn,
    "opus_xml": commentaries,
    "tvsub": episodes,
}
