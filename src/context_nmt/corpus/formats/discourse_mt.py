"""Contrastive sets of Bawden et al. (NAACL 2018), English to French, as sets of `corpus.contrastive`.

    anaphora.json         {BLOCK: {"src": PAIR, "trg": [{"correct" or "semi-correct": PAIR, "incorrect": PAIR,
                          "type": "m.pl"}, …]}}, a PAIR being [the previous sentence, the current one]
    lexical-choice.json   {BLOCK: {"type": "repet, disambig", "examples": [{"src": PAIR, "trg": {"correct": PAIR,
                          "incorrect": PAIR}}, …]}}

The previous sentence is the context of an item in both languages, and is the same for the right and the wrong
translation. A "semi-correct" pronoun agrees with an oddly translated antecedent. Categories are the types and, in
`anaphora`, correct or semi-correct. Two items with the same candidates, but different right ones, are mirrors.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from context_nmt.corpus.catalogue import CorpusEntry, DownloadFile
from context_nmt.corpus.skipping import Skipping
from context_nmt.files import read_json, write_lines

Item = dict[str, Any]


def unpack(paths: dict[str, Path], folder: Path, file: DownloadFile, _: CorpusEntry) -> None:
    """Write `NAME.en-fr.jsonl` without bad blocks.

    Raise UserError for too many of them, and AttributeError for JSON of another structure.
    """
    items: list[Item] = []
    with Skipping(file.name, "blocks") as counted:
        for name, block in read_json(paths[file.name]).items():
            with counted.trying(f"block {name}"):
                items += list(_items(block))
    without_mirror: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for number, item in enumerate(items):
        source, right, (wrong,) = item["source"], item["right"], item["wrong"]
        if mirrors := without_mirror[source, wrong, right]:
            item["mirror"] = mirrors.pop(0)
            items[item["mirror"]]["mirror"] = number
        else:
            without_mirror[source, right, wrong].append(number)
    write_lines(folder / f"{file.to}.en-fr.jsonl", (json.dumps(item, ensure_ascii=False) for item in items))


def _items(block: Item) -> Iterator[Item]:
    if "examples" in block:
        for example in block["examples"]:
            target = example["trg"]
            yield _item(example["src"], target["correct"], target["incorrect"], block["type"].split(", "))
    else:
        for target in block["trg"]:
            correctness = "correct" if "correct" in target else "semi-correct"
            yield _item(block["src"], target[correctness], target["incorrect"], [target["type"], correctness])


def _item(source: list[str], right: list[str], wrong: list[str], categories: list[str]) -> Item:
    (source_before, source_now), (right_before, right_now), (wrong_before, wrong_now) = source, right, wrong
    if right_before != wrong_before:
        raise ValueError(f"two contexts for one item: {right_before!r}, {wrong_before!r}")
    context = {"source": [source_before], "target": [right_before]}
    item = {"source": source_now, "right": right_now, "wrong": [wrong_now]}
    return item | {"categories": categories, "context": context}
