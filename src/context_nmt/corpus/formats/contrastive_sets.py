"""Published contrastive sets, as files `NAME.SOURCE-TARGET.jsonl` of `corpus.contrastive`.

contrapro: German pronouns for English "it" (Müller et al., WMT 2018).

    *.json    [{"src segment", "ref segment": its translation, "ref pronoun": "es", "errors": [{"contrastive": a
              translation with another pronoun}, …], "ante distance": sentences back to the antecedent,
              "document id": "1921_12806_3712161.de", "segment id": its line in that document, from 1}, …]
    *.zip     OpenSubtitles2018 German-English in Moses format, with the sentences before each item:
              OpenSubtitles.de-en.de, .en and .ids; a line of .ids starts with de/1921/12806/3712161.xml.gz

As in the authors' scripts, the lines of one German file are a document. An item's categories are its pronoun and the
distance: `within` (0), `distance_1`, `distance_2`, `distance_3` or `distance_over_3`. Its context is up to
CONTEXT_SENTENCES sentences of its document; if an entry lacks the zip, its items have no context.

contrawsd: ambiguous German nouns, to English or French (Rios et al., WMT 2017).

    SOURCE-TARGET.final.json    [{"source", "reference", "errors": [{"contrastive"}, …], "ambig word", "sense",
                                "frequency of sense/ambig word in …": "12/3456"}, …]

A wrong translation has a word for another sense of the noun. The category of an item is the frequency class of its
sense in the text that the set names, as in the authors' script: `seen_0_20` … `seen_5001_10000`, `seen_10001`.

discourse_mt: the sets of Bawden et al. (NAACL 2018), English to French.

    anaphora.json         {BLOCK: {"src": PAIR, "trg": [{"correct" or "semi-correct": PAIR, "incorrect": PAIR,
                          "type": "m.pl"}, …]}}, a PAIR being [the previous sentence, the current one]
    lexical-choice.json   {BLOCK: {"type": "repet, disambig", "examples": [{"src": PAIR, "trg": {"correct": PAIR,
                          "incorrect": PAIR}}, …]}}

The previous sentence is the context of an item in both languages; it is the same for the right and the wrong
translation. A "semi-correct" pronoun agrees with an oddly translated antecedent. Categories are the types and, in
`anaphora`, correct or semi-correct. Two items with the same candidates but different right ones are mirrors.
"""

import io
import json
import re
import zipfile
from bisect import bisect_right
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from context_nmt.corpus.catalogue import CorpusEntry, DownloadFile
from context_nmt.corpus.formats import Format, parse_json, require_one_line
from context_nmt.files import write_lines
from context_nmt.progress import tracked

FORMATS = dict.fromkeys(("contrapro", "contrawsd", "discourse_mt"), Format(("to",), "SET"))

CONTEXT_SENTENCES = 10  # more than the systems here look back
MAX_DISTANCE = 3  # larger ones share a category
DOCUMENT_NAME = re.compile(r"(\d{4}/\d+/\d+)\.xml")  # the first in a line of .ids is the German file
MAX_DIFFERING_SHARE = 0.01  # of items that differ from their documents, and therefore have no context
FREQUENCY_PREFIX = "frequency of sense/ambig word in "  # of a key
MIN_FREQUENCIES = (0, 21, 51, 101, 201, 501, 1001, 2001, 5001, 10001)  # of each class

Item = dict[str, Any]
Position = tuple[str, int]  # a document, and the number of a line in it, from 1


def unpack_contrapro(paths: dict[str, Path], folder: Path, file: DownloadFile, entry: CorpusEntry) -> None:
    """Write `NAME.en-de.jsonl` without bad items, at the last of the entry's files of this format.

    Raise UserError for too many bad items, and TypeError or ValueError for other JSON and documents of another corpus.
    """
    files = entry.files_of_format("contrapro")
    if file != files[-1]:
        return
    names = {Path(other.name).suffix: other.name for other in files}
    items = parse_json(paths[names[".json"]], names[".json"], "item", _pronoun_item)
    if ".zip" in names:
        needed = {before for _, position in items for before in [*_positions_before(position), position]}
        pairs = _read_pairs(paths[names[".zip"]], needed)
        for item, position in items:
            if position in pairs and _letters(pairs[position][0]) == _letters(item["source"]):
                context = [pairs[before] for before in _positions_before(position)]
                item["context"] = {side: [pair[n] for pair in context] for n, side in enumerate(("source", "target"))}
        differing = sum("context" not in item for item, _ in items)
        problem = f"{differing} of {len(items)} items are not in the documents of {names['.zip']}"
        if differing > MAX_DIFFERING_SHARE * len(items):
            raise ValueError(f"{problem}; it must be OpenSubtitles2018, German-English")
        if differing:
            print(f"note: {problem}; they have no context")
    _write(folder / f"{file.to}.en-de.jsonl", [item for item, _ in items])


def unpack_contrawsd(paths: dict[str, Path], folder: Path, file: DownloadFile, _: CorpusEntry) -> None:
    """Write `NAME.SOURCE-TARGET.jsonl` without bad items.

    Raise UserError for too many bad items, and ValueError if the file's name does not start with languages.
    """
    languages = file.name.partition(".")[0]
    if re.fullmatch(r"[a-z]+-[a-z]+", languages) is None:
        raise ValueError(f"the name must start with the languages, like de-en.final.json, not {file.name!r}")
    _write(folder / f"{file.to}.{languages}.jsonl", parse_json(paths[file.name], file.name, "item", _sense_item))


def unpack_discourse_mt(paths: dict[str, Path], folder: Path, file: DownloadFile, _: CorpusEntry) -> None:
    """Write `NAME.en-fr.jsonl` without bad blocks; raise UserError for too many of them."""
    items = [item for block in parse_json(paths[file.name], file.name, "block", _block_items) for item in block]
    without_mirror: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for number, item in enumerate(items):
        source, right, (wrong,) = item["source"], item["right"], item["wrong"]
        if mirrors := without_mirror[source, wrong, right]:
            item["mirror"] = mirrors.pop(0)
            items[item["mirror"]]["mirror"] = number
        else:
            without_mirror[source, right, wrong].append(number)
    _write(folder / f"{file.to}.en-fr.jsonl", items)


def _write(path: Path, items: list[Item]) -> None:
    write_lines(path, (json.dumps(item, ensure_ascii=False) for item in items))


def _item(source: str, right: str, errors: list[dict[str, str]], categories: list[str]) -> Item:
    wrong = dict.fromkeys(require_one_line(error["contrastive"]) for error in errors)
    item = {"source": require_one_line(source), "right": require_one_line(right)}
    return item | {"wrong": list(wrong), "categories": categories}


def _pronoun_item(entry: Item) -> tuple[Item, Position]:
    position = entry["document id"].removesuffix(".de"), int(entry["segment id"])
    distance = int(entry["ante distance"])
    category = f"distance_{distance}" if distance <= MAX_DISTANCE else f"distance_over_{MAX_DISTANCE}"
    categories = [entry["ref pronoun"].lower(), category if distance else "within"]
    return _item(entry["src segment"], entry["ref segment"], entry["errors"], categories), position


def _positions_before(position: Position) -> list[Position]:
    """Return the positions of the sentences before an item, oldest first."""
    document, line = position
    return [(document, number) for number in range(max(1, line - CONTEXT_SENTENCES), line)]


def _letters(text: str) -> str:
    """Return the letters and digits of a text; releases of the corpus differ in spaces and quotation marks."""
    return re.sub(r"[\W_]", "", text)


def _read_pairs(path: Path, needed: set[Position]) -> dict[Position, tuple[str, str]]:
    """Read the English and German lines at these positions; the archive's members may be too large for the memory."""
    pairs: dict[Position, tuple[str, str]] = {}
    line_numbers = dict.fromkeys((document for document, _ in needed), 0)  # of the last line read of each document
    with ExitStack() as opened:
        archive = opened.enter_context(zipfile.ZipFile(path))
        names = {Path(name).suffix: name for name in archive.namelist()}
        members = [opened.enter_context(archive.open(names[suffix])) for suffix in (".en", ".de", ".ids")]
        lines = zip(*(io.TextIOWrapper(member, "utf-8", newline="\n") for member in members), strict=True)
        for english, german, ids in tracked(lines, "documents", unit="lines"):
            match = DOCUMENT_NAME.search(ids)
            document = match[1].replace("/", "_") if match else ""
            if document in line_numbers:
                line_numbers[document] += 1
                if (position := (document, line_numbers[document])) in needed:
                    pairs[position] = english.removesuffix("\n"), german.removesuffix("\n")
    return pairs


def _sense_item(entry: Item) -> Item:
    counts = [int(value.partition("/")[0]) for key, value in entry.items() if key.startswith(FREQUENCY_PREFIX)]
    return _item(entry["source"], entry["reference"], entry["errors"], list(map(_frequency_class, counts)))


def _frequency_class(count: int) -> str:
    index = bisect_right(MIN_FREQUENCIES, count)
    upper_end = f"_{MIN_FREQUENCIES[index] - 1}" if index < len(MIN_FREQUENCIES) else ""
    return f"seen_{MIN_FREQUENCIES[index - 1]}{upper_end}"


def _block_items(block: Item) -> list[Item]:
    if "examples" in block:
        categories = block["type"].split(", ")
        examples = block["examples"]
        return [_discourse_item(example["src"], example["trg"], "correct", categories) for example in examples]
    items = []
    for target in block["trg"]:
        correctness = "correct" if "correct" in target else "semi-correct"
        items.append(_discourse_item(block["src"], target, correctness, [target["type"], correctness]))
    return items


def _discourse_item(source: list[str], target: Item, correctness: str, categories: list[str]) -> Item:
    (source_before, source_now), (right_before, right_now) = source, target[correctness]
    wrong_before, wrong_now = target["incorrect"]
    if right_before != wrong_before:
        raise ValueError(f"two contexts for one item: {right_before!r}, {wrong_before!r}")
    item = {"source": source_now, "right": right_now, "wrong": [wrong_now], "categories": categories}
    return item | {"context": {"source": [source_before], "target": [right_before]}}
