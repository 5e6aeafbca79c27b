"""Trees whose leaves say which part of the meaning they express."""

from collections.abc import Hashable, Iterator
from typing import NamedTuple

Part = tuple[Hashable, str]  # an object of the meaning and its role: (noun phrase, "determiner")


class Leaf(NamedTuple):
    """A word with its tag and the parts of the meaning that it expresses; two languages are aligned by these."""

    tag: str
    word: str
    parts: tuple[Part, ...] = ()


class Node(NamedTuple):
    """A constituent."""

    label: str
    children: "tuple[Node | Leaf, ...]"


def leaves(tree: Node | Leaf) -> Iterator[Leaf]:
    """The leaves of a tree from left to right."""
    if isinstance(tree, Leaf):
        yield tree
    else:
        for child in tree.children:
            yield from leaves(child)


def bracketed(tree: Node | Leaf, words: Iterator[str]) -> str:
    """The tree in the Penn Treebank's brackets, its leaves spelled as `words`."""
    if isinstance(tree, Leaf):
        return f"({tree.tag} {next(words)})"
    return f"({tree.label} {' '.join([bracketed(child, words) for child in tree.children])})"
