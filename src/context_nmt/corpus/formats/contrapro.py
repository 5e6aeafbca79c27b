"""ContraPro (Müller et al., WMT 2018): German pronouns for English "it", as a set of `corpus.contrastive`.

    *.json    [{"src segment", "ref segment": its translation, "ref pronoun": "es", "errors": [{"contrastive": a
              translation with another pronoun}, …], "ante distance": sentences back to the antecedent,
              "document id": "1921_12806_3712161.de", "segment id": its line in that document, from 1}, …]
    *.zip     OpenSubtitles2018 German-English in Moses format, for the sentences before an item:
              OpenSubtitles.de-en.de, .en and .ids; a line of .ids starts with de/1921/12806/3712161.xml.gz

As in the authors' scripts, the lines of one German file are a document. An item's categories are its pronoun and the
distance: `within` (0), `distance_1`, `distance_2`, `distance_3` or `distance_over_3`. Its context is up to SENTENCES
sentences of its document; an entry without the zip has items without context.
"""

import io
import json
import re
import zipfile
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from context_nmt.corpus.catalogue import CorpusEntry, DownloadFile
from context_nmt.corpus.skipping import Skipping, one_line
from context_nmt.files import read_json, write_lines
from context_nmt.progress import tracked

SENTENCES = 10  # more than the systems here look back
FAR = 3  # the largest distance with a category of its own
DOCUMENT = re.compile(r"(\d{4}/\d+/\d+)\.xml")  # the first in a line of .ids is the German file
DIFFERING = 0.01  # the largest share of items that may differ from their documents; those have no context

Item = dict[str, Any]
Place = tuple[str, int]  # a document, and the number of a line in it, from 1
Pairs = dict[Place, tuple[str, str]]  # English and German


def unpack(paths: dict[str, Path], folder: Path, file: DownloadFile, entry: CorpusEntry) -> None:
    """Write `NAME.en-de.jsonl` when all files of this format are there.

    Bad items are skipped. Raise UserError for too many of them, and KeyError, TypeError or ValueError for JSON of
    another structure and for documents of another corpus.
    """
    files = entry.of_format("contrapro")
    if file != files[-1]:
        return
    names = {Path(one.name).suffix: one.name for one in files}
    written, places = list[Item](), list[Place]()
    with Skipping(names[".json"], "items") as counted:
        for number, item in enumerate(read_json(paths[names[".json"]]), start=1):
            with counted.trying(f"item {number}"):
                place = item["document id"].removesuffix(".de"), int(item["segment id"])
                written.append(_item(item))
                places.append(place)
    if ".zip" in names:
        pairs = _read_pairs(paths[names[".zip"]], {before for place in places for before in [*_before(place), place]})
        for item, place in zip(written, places, strict=True):
            if place in pairs and _letters(pairs[place][0]) == _letters(item["source"]):
                context = [pairs[before] for before in _before(place)]
                item["context"] = {side: [pair[n] for pair in context] for n, side in enumerate(("source", "target"))}
        differing = sum("context" not in item for item in written)
        finding = f"{differing} of {len(written)} items are not in the documents of {names['.zip']}"
        if differing > DIFFERING * len(written):
            raise ValueError(f"{finding}; it must be OpenSubtitles2018, German-English")
        if differing:
            print(f"note: {finding}; they have no context")
    write_lines(folder / f"{file.to}.en-de.jsonl", (json.dumps(item, ensure_ascii=False) for item in written))


def _item(item: Item) -> Item:
    distance = int(item["ante distance"])
    far = f"distance_{distance}" if distance <= FAR else f"distance_over_{FAR}"
    return {
        "source": one_line(item["src segment"]),
        "right": one_line(item["ref segment"]),
        "wrong": list(dict.fromkeys(one_line(error["contrastive"]) for error in item["errors"])),
        "categories": [item["ref pronoun"].lower(), far if distance else "within"],
    }


def _before(place: Place) -> list[Place]:
    """Return the places of the sentences before an item, oldest first."""
    document, line = place
    return [(document, number) for number in range(max(1, line - SENTENCES), line)]


def _letters(text: str) -> str:
    """Return a text without what differs between releases of the corpus: spaces and quotation marks."""
    return re.sub(r"[\W_]", "", text)


def _read_pairs(path: Path, wanted: set[Place]) -> Pairs:
    """Read these places of the documents; the members of the archive may be larger than the memory."""
    pairs: Pairs = {}
    documents = {document for document, _ in wanted}
    read: dict[str, int] = defaultdict(int)  # lines of each document
    with ExitStack() as opened:
        archive = opened.enter_context(zipfile.ZipFile(path))
        names = {Path(name).suffix: name for name in archive.namelist()}
        members = [opened.enter_context(archive.open(names[suffix])) for suffix in (".en", ".de", ".ids")]
        lines = zip(*(io.TextIOWrapper(member, "utf-8", newline="\n") for member in members), strict=True)
        for english, german, ids in tracked(lines, "documents", unit="lines"):
            found = DOCUMENT.search(ids)
            document = found[1].replace("/", "_") if found else ""
            if document in documents:
                read[document] += 1
                if (place := (document, read[document])) in wanted:
                    pairs[place] = english.removesuffix("\n"), german.removesuffix("\n")
    return pairs
