"""The base of both grammars: trees whose leaves are linked to the parts of the meaning that they express."""

from collections.abc import Hashable, Iterator
from typing import NamedTuple

from context_nmt.miniature.meaning import Clause, NounPhrase, Part, Wording, Wordings


class Leaf(NamedTuple):
    """A word with its tag and the parts of the meaning that it expresses, by which the languages are aligned."""

    tag: str
    word: str
    parts: tuple[Part, ...] = ()


class Node(NamedTuple):
    """A constituent."""

    label: str
    children: "tuple[Node | Leaf, ...]"


def leaf(tag: str, word: str, meaning: Hashable, role: str) -> Leaf:
    """Return a leaf that expresses one part of the meaning."""
    return Leaf(tag, word, ((meaning, role),))


def node(label: str, *children: Node | Leaf) -> Node:
    """Return a constituent with the given children."""
    return Node(label, children)


def leaves(tree: Node | Leaf) -> Iterator[Leaf]:
    """Yield the leaves of a tree from left to right."""
    if isinstance(tree, Leaf):
        yield tree
    else:
        for child in tree.children:
            yield from leaves(child)


def bracketed(tree: Node | Leaf, words: Iterator[str]) -> str:
    """Return the tree in the Penn Treebank's brackets, its leaves spelled as `words`."""
    if isinstance(tree, Leaf):
        return f"({tree.tag} {next(words)})"
    return f"({tree.label} {' '.join([bracketed(child, words) for child in tree.children])})"


def predicate_words(clause: Clause, side: str, conjunction: str, tags: tuple[str, str, str]) -> list[Leaf]:
    """Return "very old and heavy"; the tags are those of the degree, the conjunction and the adjectives."""
    degree_tag, conjunction_tag, adjective_tag = tags
    words = [leaf(degree_tag, getattr(clause.degree, side), clause, "degree")] if clause.degree else []
    for index, entry in enumerate(clause.adjectives):
        if index:
            words.append(leaf(conjunction_tag, conjunction, clause, "and"))
        words.append(leaf(adjective_tag, getattr(entry, side), clause, f"adjective {index}"))
    return words


class Grammar:
    """Puts sentences into words; `wordings` replaces the wordings of some entities or mentions."""

    def __init__(self, wordings: Wordings):
        self._wordings = wordings

    def _wording(self, phrase: NounPhrase) -> Wording:
        return self._wordings.get(phrase) or self._wordings.get(phrase.entity) or phrase.entity.wording

    def _number(self, phrase: NounPhrase) -> str:
        return "plural" if phrase.other else self._wording(phrase).number
