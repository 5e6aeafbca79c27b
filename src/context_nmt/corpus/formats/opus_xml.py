"""A corpus of OPUS (Tiedemann 2012) with its documents: texts as XML, and the alignment of their sentences.

    LANGUAGE.zip    CORPUS/raw/LANGUAGE/NAME.xml or .xml.gz: one document, with <s id="ID">…</s> for each sentence
    A-B.xml.gz      <linkGrp fromDoc="A/NAME.xml.gz" toDoc="B/NAME.xml.gz"> for each document, and in it
                    <link xtargets="IDS;IDS"/> for each group of sentences that are translations of each other

As in OPUS' plain texts, a group becomes one line, and a group without text in one of the languages is left out. Bad
documents and groups are skipped, as OpusTools does.
"""

import gzip
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from xml.etree import ElementTree

from context_nmt.corpus.catalogue import CorpusEntry, DownloadFile
from context_nmt.corpus.documents import write_sizes
from context_nmt.corpus.skipping import Skipping
from context_nmt.files import write_lines

Pair = tuple[str, ...]  # of sentences, in both languages


def unpack(paths: dict[str, Path], folder: Path, file: DownloadFile, _: CorpusEntry) -> None:
    """Write train with its documents from the alignment, which comes after the archives of both languages.

    A document that is missing or not XML is skipped, and a group with a missing sentence. Raise UserError for too many
    of them, and ValueError for an alignment that is not such XML.
    """
    if file.name.endswith(".zip"):
        return
    languages = file.name.partition(".")[0].split("-")
    with ExitStack() as stack:
        archives = [stack.enter_context(zipfile.ZipFile(paths[f"{language}.zip"])) for language in languages]
        try:
            documents = list(filter(None, _documents(paths[file.name], archives, file.name)))
        except ElementTree.ParseError as error:
            raise ValueError(str(error)) from None
    for side, language in enumerate(languages):
        write_lines(folder / f"train.{language}", (pair[side] for document in documents for pair in document))
    write_sizes(folder, "train", map(len, documents))


def _documents(alignment: Path, archives: list[zipfile.ZipFile], source: str) -> Iterator[list[Pair]]:
    members = [
        {name.partition("/raw/")[2].removesuffix(".gz"): name for name in archive.namelist()} for archive in archives
    ]
    with (
        gzip.open(alignment) as file,
        Skipping(source, "documents") as documents,
        Skipping(source, "groups of sentences") as groups,
    ):
        for _, element in ElementTree.iterparse(file):  # noqa: S314 (as in _sentences)
            if element.tag != "linkGrp":
                continue
            names = [element.attrib[side].removesuffix(".gz") for side in ("fromDoc", "toDoc")]
            with documents.trying(names[0]):
                sides = [
                    _sentences(archive, _existing(known, name))
                    for archive, known, name in zip(archives, members, names, strict=True)
                ]
                yield list(_pairs(element, sides, groups, names[0]))
            element.clear()


def _pairs(group: ElementTree.Element, sides: list[dict[str, str]], counted: Skipping, document: str) -> Iterator[Pair]:
    for link in group.iter("link"):
        ids = link.attrib["xtargets"]
        with counted.trying(f"{document}, {ids}"):
            pair = tuple(
                _joined(_existing(side, number) for number in part.split())
                for side, part in zip(sides, ids.split(";"), strict=True)
            )
            if all(pair):
                yield pair


def _sentences(archive: zipfile.ZipFile, member: str) -> dict[str, str]:
    content = archive.read(member)
    document = gzip.decompress(content) if member.endswith(".gz") else content
    try:
        root = ElementTree.fromstring(document)  # noqa: S314 (expat loads no external entity and limits expansion)
    except ElementTree.ParseError as error:
        raise ValueError(f"{member} is not XML: {error}") from None
    return {sentence.attrib["id"]: _joined(sentence.itertext()) for sentence in root.iter("s")}


def _joined(parts: Iterable[str]) -> str:
    return " ".join(" ".join(parts).split())


def _existing(values: dict[str, str], name: str) -> str:
    if name not in values:
        raise ValueError(f"{name!r} is not there")
    return values[name]
