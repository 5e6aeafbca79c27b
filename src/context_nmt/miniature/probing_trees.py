"""Read bracketed constituency trees (Penn Treebank style) and find the verb, subject, object and clauses in them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

FINITE = ("VBZ", "VBP", "VBD")
NOUNS = ("NN", "NNS", "NNP", "NNPS")
BE = frozenset({"be", "am", "is", "are", "was", "were", "been", "being", "'m", "'s", "'re"})


class Tree(NamedTuple):
    """A node over the tokens first to end (exclusive); a leaf is a tag over one token."""

    label: str
    children: tuple["Tree", ...]
    first: int
    end: int

    @property
    def category(self) -> str:
        """The label without function tags and indices: NP-SBJ-1 is an NP."""
        return self.label if self.label.startswith("-") else re.split("[-=]", self.label)[0]

    @property
    def depth(self) -> int:
        """The number of edges on the longest path down to a word; 1 for a tag."""
        return 1 + max((child.depth for child in self.children), default=0)

    def below(self, category: str) -> list["Tree"]:
        """Return the children of a category."""
        return [child for child in self.children if child.category == category]

    def nodes(self) -> Iterator["Tree"]:
        """Yield the node itself and all below it, from left to right, parents first."""
        yield self
        for child in self.children:
            yield from child.nodes()


def parse_tree(brackets: str) -> Tree:
    """Read one tree; raise ValueError if the brackets are not exactly one tree."""
    nodes: list[tuple[str, int, list[Tree]]] = [("", 0, [])]  # those that are open: label, first token, children
    tokens = 0
    for piece in re.findall(r"\(\s*[^\s()]*|\)|[^\s()]+", brackets):
        if piece.startswith("("):
            nodes.append((piece[1:].lstrip(), tokens, []))
        elif piece != ")":
            tokens += 1
        elif len(nodes) > 1:
            label, first, children = nodes.pop()
            nodes[-1][2].append(Tree(label, tuple(children), first, tokens))
        else:
            raise ValueError(f"a bracket too many is closed in {brackets!r}")
    if len(nodes) != 1 or len(nodes[0][2]) != 1:
        raise ValueError(f"not one tree: {brackets!r}")
    return nodes[0][2][0]


def top(tree: Tree) -> Tree:
    """Return the node below ROOT."""
    return tree.children[0] if tree.category in ("ROOT", "TOP", "") and len(tree.children) == 1 else tree


def _main_verb_phrase(tree: Tree) -> Tree | None:
    phrases = top(tree).below("VP")
    return phrases[0] if top(tree).category == "S" and len(phrases) == 1 else None


def main_verb(tree: Tree) -> Tree | None:
    """Return the finite verb of the main clause; None for a modal and for coordinated clauses or verb phrases."""
    phrase = _main_verb_phrase(tree)
    if phrase is None or phrase.below("CC"):
        return None
    verbs = [child for child in phrase.children if child.label.startswith(("VB", "MD")) and not child.children]
    return verbs[0] if verbs and verbs[0].label in FINITE else None


def subject_noun(tree: Tree) -> Tree | None:
    """Return the common noun that heads the subject of the main clause."""
    phrase = _main_verb_phrase(tree)
    noun_phrases = [child for child in top(tree).below("NP") if phrase and child.end <= phrase.first]
    return _common_noun(noun_phrases[-1]) if noun_phrases else None


def object_noun(tree: Tree, tokens: tuple[str, ...]) -> Tree | None:
    """Return the common noun that heads the direct object of the main clause: the last one of two."""
    phrase = _main_verb_phrase(tree)
    while phrase is not None and not phrase.below("CC"):
        inner = phrase.below("VP")
        if not inner:
            verbs = [child for child in phrase.children if child.label.startswith("VB")]
            objects = [child for child in phrase.children if child.label == "NP"]
            is_copula = bool(verbs) and tokens[verbs[0].first].lower() in BE
            return _common_noun(objects[-1]) if verbs and objects and not is_copula else None
        phrase = inner[0]
    return None


def coordinated_clauses(tree: Tree) -> tuple[Tree, Tree] | None:
    """Return the two clauses of a sentence that consists of them, a conjunction and punctuation."""
    constituents = [child for child in top(tree).children if child.category not in (",", ".", ":")]
    if top(tree).category != "S" or [constituent.category for constituent in constituents] != ["S", "CC", "S"]:
        return None
    return constituents[0], constituents[2]


def _common_noun(phrase: Tree) -> Tree | None:
    if phrase.below("CC"):
        return None
    nouns = [child for child in phrase.children if child.label in NOUNS]
    if nouns:
        return nouns[-1] if nouns[-1].label in ("NN", "NNS") else None
    inner = phrase.below("NP")
    return _common_noun(inner[0]) if inner else None
