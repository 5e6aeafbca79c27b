"""A corpus of OPUS (Tiedemann 2012) with its documents: texts as XML, and the alignment of their sentences.

    LANGUAGE.zip    CORPUS/raw/LANGUAGE/NAME.xml: one document, with <s id="ID">…</s> for each sentence
    A-B.xml.gz      <linkGrp fromDoc="A/NAME.xml.gz" toDoc="B/NAME.xml.gz"> for each document, and in it
                    <link xtargets="IDS;IDS"/> for each group of sentences that are translations of each other

As in OPUS' plain texts, a group becomes one line, and a group without text in one of the languages is left out.
"""

import gzip
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from xml.etree import ElementTree

from context_nmt.corpus.catalogue import CorpusEntry, DownloadFile
from context_nmt.corpus.documents import write_sizes
from context_nmt.files import write_lines

Pair = tuple[str, ...]  # of sentences, in both languages


def unpack(path: Path, folder: Path, file: DownloadFile, _: CorpusEntry) -> None:
    """Write train with its documents from the alignment, which comes after the archives of both languages.

    Raise KeyError for a missing document or sentence, and ValueError for what is not such XML.
    """
    if file.name.endswith(".zip"):
        return
    languages = file.name.partition(".")[0].split("-")
    with ExitStack() as stack:
        archives = [stack.enter_context(zipfile.ZipFile(path.with_name(f"{language}.zip"))) for language in languages]
        try:
            documents = list(filter(None, _documents(path, archives)))
        except ElementTree.ParseError as error:
            raise ValueError(str(error)) from None
    for side, language in enumerate(languages):
        write_lines(folder / f"train.{language}", (pair[side] for document in documents for pair in document))
    write_sizes(folder, "train", map(len, documents))


def _documents(alignment: Path, archives: list[zipfile.ZipFile]) -> Iterator[list[Pair]]:
    members = [{name.partition("/raw/")[2]: name for name in archive.namelist()} for archive in archives]
    with gzip.open(alignment) as file:
        for _, element in ElementTree.iterparse(file):  # noqa: S314 (as in _sentences)
            if element.tag != "linkGrp":
                continue
            groups = [link.attrib["xtargets"].split(";") for link in element.iter("link")]
            sides: list[list[str]] = []
            for side, name in enumerate((element.attrib["fromDoc"], element.attrib["toDoc"])):
                sentences = _sentences(archives[side].read(_existing(members[side], name.removesuffix(".gz"))))
                sides.append([_joined(_existing(sentences, number) for number in ids[side].split()) for ids in groups])
            yield [pair for pair in zip(*sides, strict=True) if all(pair)]
            element.clear()


def _sentences(document: bytes) -> dict[str, str]:
    root = ElementTree.fromstring(document)  # noqa: S314 (expat loads no external entity and limits expansion)
    return {sentence.attrib["id"]: _joined(sentence.itertext()) for sentence in root.iter("s")}


def _joined(parts: Iterator[str]) -> str:
    return " ".join(" ".join(parts).split())


def _existing(values: dict[str, str], name: str) -> str:
    if name not in values:
        raise KeyError(f"the alignment names {name!r}, which is not there")
    return values[name]
