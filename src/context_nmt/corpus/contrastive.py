"""Contrastive sets: for each source sentence a right translation and wrong ones, which a system should tell apart.

A set is a file `NAME.SOURCE-TARGET.jsonl` of raw text with one item per line:

    {"source": "It was old.", "right": "Er war alt.", "wrong": ["Sie war alt."], "categories": ["cross"],
     "context": {"source": ["I saw the table."], "target": ["Ich sah den Tisch."]}, "mirror": 17}

`source`, `right` and `wrong` are required. `context` has the sentences before, oldest first. `mirror` is the line, from
0, of the item with the same source and candidates of which another one is right.

The text stages process the distinct pairs of a source and a candidate, and after them the distinct pairs of all
contexts, as a parallel text of the set's name. `NAME.items.json` has each item's pairs, as line numbers from 0:

    {"sha256": of the set, "items": [{"categories": ["cross"], "right": 0, "wrong": [1], "context": [2]}]}

So each pair is scored once, and of two candidates in an item and its mirror a system without context gets exactly one
half right.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_nmt.files import UserError, read_json_lines, sha256
from context_nmt.settings import Checked, require
from context_nmt.settings.checking import check

Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Context(Checked):
    """The sentences before an item, oldest first, line by line translations of each other."""

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
        for name, given in {"wrong": self.wrong, "categories": self.categories}.items():
            require(len(set(given)) == len(given), f"{name} repeats one: {list(given)}")
        require(self.right not in self.wrong, f"right is also in wrong: {self.right!r}")
        for category in self.categories:  # it names a metric
            named = f"categories: {category!r}"
            require(re.fullmatch(r"\w[\w.-]*", category) is not None, f"{named} must be letters, digits, _, . and -")
            require(category != "all", f"{named} is reserved for all items")
            require(not category.endswith("_normalized"), f"{named} must not end in '_normalized'")

    def is_mirror_of(self, other: "ContrastiveItem") -> bool:
        """Whether another one of the same candidates for the same source is right."""
        same = self.source == other.source and {self.right, *self.wrong} == {other.right, *other.wrong}
        return same and self.right != other.right


def read_contrastive_set(path: Path) -> tuple[list[Pair], dict[str, Any]]:
    """Read a set as its distinct pairs and the content of `NAME.items.json`.

    Raises UserError, with the line's number from 1, for a line that is no item or has a wrong mirror.
    """
    lines = enumerate(read_json_lines(path), start=1)
    items = [check(ContrastiveItem, values, where=f"{path}: line {number}") for number, values in lines]
    if not items:
        raise UserError(f"{path}: the file is empty")
    for number, item in enumerate(items):
        if item.mirror is None:
            continue
        other = items[item.mirror] if item.mirror in range(len(items)) else item
        if other.mirror != number or not item.is_mirror_of(other):
            raise UserError(
                f"{path}: line {number + 1}: mirror is {item.mirror}, but line {item.mirror + 1} is no item that has"
                f" the same source and candidates, another right one, and {number} as its mirror"
            )
    numbers: dict[Pair, int] = {}
    entries: list[dict[str, Any]] = [
        {
            "right": numbers.setdefault((item.source, item.right), len(numbers)),
            "wrong": [numbers.setdefault((item.source, wrong), len(numbers)) for wrong in item.wrong],
            "categories": list(item.categories),
        }
        for item in items
    ]
    for entry, item in zip(entries, items, strict=True):
        context = zip(item.context.source, item.context.target, strict=True)
        entry["context"] = [numbers.setdefault(pair, len(numbers)) for pair in context]
    return list(numbers), {"sha256": sha256(path), "items": entries}
