"""Contrastive sets: each source sentence has a correct translation and some wrong ones to distinguish it from.

A set is a file `NAME.SOURCE-TARGET.jsonl` of raw text with one item per line:

    {"source": "It was old.", "right": "Er war alt.", "wrong": ["Sie war alt."], "categories": ["cross"],
     "context": {"source": ["I saw the table."], "target": ["Ich sah den Tisch."]}, "mirror": 17}

`source`, `right` and `wrong` are required. `context` has the preceding sentences, oldest first. `mirror` is the line,
from 0, of the item with the same source and candidates but a different correct candidate.

The text stages process the distinct pairs of a source and a candidate, followed by the distinct pairs of all contexts,
as a parallel text with the name of the set. `NAME.items.json` has the pairs of each item, as line pair_numbers from 0:

    {"sha256": of the set, "items": [{"categories": ["cross"], "right": 0, "wrong": [1], "context": [2]}]}

Each pair is therefore scored once, and if items have two candidates, a system without context is right on exactly one
item of a mirrored pair.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_nmt.files import UserError, read_json_lines, sha256
from context_nmt.settings import Checked, check, require

Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Context(Checked):
    """The sentences before an item in both languages, oldest first."""

    source: tuple[str, ...] = ()
    target: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        lengths = len(self.source), len(self.target)
        require(lengths[0] == lengths[1], f"source has {lengths[0]} sentences and target {lengths[1]}")
        for text in (*self.source, *self.target):
            require("\n" not in text, f"{text!r} is not one line of text")


@dataclass(frozen=True, kw_only=True)
class ContrastiveItem(Checked):
    """One line of a set."""

    source: str
    right: str
    wrong: tuple[str, ...]
    categories: tuple[str, ...] = ()
    context: Context = Context()
    mirror: int | None = None

    def __post_init__(self) -> None:
        require(len(self.wrong) > 0, "wrong is empty; it needs at least one translation")
        for name, texts in {"source": (self.source,), "right": (self.right,), "wrong": self.wrong}.items():
            for text in texts:
                require(text.strip() != "" and "\n" not in text, f"{name} is {text!r}; it must be one line of text")
        for name, values in {"wrong": self.wrong, "categories": self.categories}.items():
            require(len(set(values)) == len(values), f"{name} is {list(values)}; each may be listed only once")
        require(self.right not in self.wrong, f"right is also in wrong: {self.right!r}")
        for category in self.categories:  # it becomes part of the name of a metric
            prefix = f"categories: {category!r}"
            require(re.fullmatch(r"\w[\w.-]*", category) is not None, f"{prefix} must be letters, digits, _, . and -")
            require(category != "all", f"{prefix} is reserved for all items")
            require(not category.endswith("_normalized"), f"{prefix} must not end in '_normalized'")


def read_contrastive_set(path: Path) -> tuple[list[Pair], dict[str, Any]]:
    """Read a set as its distinct pairs and the content of `NAME.items.json`.

    Raise UserError, with the line's number from 1, for an invalid item or mirror.
    """
    lines = enumerate(read_json_lines(path), start=1)
    items = [check(ContrastiveItem, values, where=f"{path}: line {number}") for number, values in lines]
    if not items:
        raise UserError(f"{path}: the file is empty")
    candidates = [(item.source, {item.right, *item.wrong}) for item in items]
    for number, item in enumerate(items):
        if item.mirror is None:
            continue
        mirror = item.mirror if item.mirror in range(len(items)) else number
        is_swapped = candidates[mirror] == candidates[number] and items[mirror].right != item.right
        if items[mirror].mirror != number or not is_swapped:
            raise UserError(
                f"{path}: line {number + 1}: mirror is {item.mirror}, but line {item.mirror + 1} must have the same"
                f" source and candidates, another right one, and {number} as its mirror"
            )
    pair_numbers: dict[Pair, int] = {}
    entries: list[dict[str, Any]] = [
        {
            "right": pair_numbers.setdefault((item.source, item.right), len(pair_numbers)),
            "wrong": [pair_numbers.setdefault((item.source, wrong), len(pair_numbers)) for wrong in item.wrong],
            "categories": list(item.categories),
        }
        for item in items
    ]
    for entry, item in zip(entries, items, strict=True):
        context_pairs = zip(item.context.source, item.context.target, strict=True)
        entry["context"] = [pair_numbers.setdefault(pair, len(pair_numbers)) for pair in context_pairs]
    return list(pair_numbers), {"sha256": sha256(path), "items": entries}
