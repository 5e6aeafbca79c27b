"""ContraWSD (Rios et al., WMT 2017): ambiguous German nouns, to English or French, as sets of `corpus.contrastive`.

    SOURCE-TARGET.final.json    [{"source", "reference", "errors": [{"contrastive"}, …], "ambig word", "sense",
                                "frequency of sense/ambig word in …": "12/3456"}, …]

A wrong translation has a word for another sense of the noun. The category of an item is the frequency class of its
sense in the text that the set names, as in the authors' script: `seen_0_20` … `seen_5001_10000`, `seen_10001`.
"""

import json
import re
from bisect import bisect_right
from pathlib import Path
from typing import Any

from context_nmt.corpus.catalogue import CorpusEntry, DownloadFile
from context_nmt.corpus.skipping import Skipping, one_line
from context_nmt.files import read_json, write_lines

FREQUENCY = "frequency of sense/ambig word in "  # prefix of the key
FIRST = (0, 21, 51, 101, 201, 501, 1001, 2001, 5001, 10001)  # the smallest count of each class

Item = dict[str, Any]


def unpack(paths: dict[str, Path], folder: Path, file: DownloadFile, _: CorpusEntry) -> None:
    """Write `NAME.SOURCE-TARGET.jsonl` without bad items.

    Raise UserError for too many of them, and ValueError for a name without languages.
    """
    languages = file.name.partition(".")[0]
    if re.fullmatch(r"[a-z]+-[a-z]+", languages) is None:
        raise ValueError(f"the name must start with the languages, like de-en.final.json, not {file.name!r}")
    lines = []
    with Skipping(file.name, "items") as counted:
        for number, entry in enumerate(read_json(paths[file.name]), start=1):
            with counted.trying(f"item {number}"):
                lines.append(json.dumps(_item(entry), ensure_ascii=False))
    write_lines(folder / f"{file.to}.{languages}.jsonl", lines)


def _item(entry: Item) -> Item:
    counts = [value for key, value in entry.items() if key.startswith(FREQUENCY)]
    return {
        "source": one_line(entry["source"]),
        "right": one_line(entry["reference"]),
        "wrong": list(dict.fromkeys(one_line(error["contrastive"]) for error in entry["errors"])),
        "categories": [_class(int(count.partition("/")[0])) for count in counts],
    }


def _class(count: int) -> str:
    index = bisect_right(FIRST, count)
    upper_end = f"_{FIRST[index] - 1}" if index < len(FIRST) else ""
    return f"seen_{FIRST[index - 1]}{upper_end}"
