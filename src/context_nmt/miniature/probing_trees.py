"""Reads bracketed constituency trees (Penn Treebank style) and finds in them what clauses are made of."""

import re
from collections.abc import Iterator
from typing import NamedTuple

CATEGORY = re.compile(r"-.*|[^-=]*")
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
        found = CATEGORY.match(self.label)
        return found[0] if found else self.label

    @property
    def depth(self) -> int:
        """Edges on the longest way down to a word; 1 for a tag."""
        return 1 + max((child.depth for child in self.children), default=0)

    def nodes(self) -> Iterator["Tree"]:
        """The node itself and all below it, from left to right, parents first."""
        yield self
        for child in self.children:
            yield from child.nodes()


def parse_tree(brackets: str) -> Tree:
    """Read one tree; raises ValueError when the brackets do not make exactly one."""
    labels, starts, children = [""], [0], [list[Tree]()]  # of the nodes that are open, outermost first
    tokens = 0
    after_bracket = False
    for piece in brackets.replace("(", " ( ").replace(")", " ) ").split():
        if piece == "(":
            labels.append("")
            starts.append(tokens)
            children.append([])
        elif after_bracket and piece != ")":
            labels[-1] = piece
        elif piece != ")":
            tokens += 1
        elif len(labels) > 1:
            node = Tree(labels.pop(), tuple(children.pop()), starts.pop(), tokens)
            children[-1].append(node)
        else:
            raise ValueError(f"a bracket too many is closed in {brackets!r}")
        after_bracket = piece == "("
    if len(labels) != 1 or len(children[0]) != 1:
        raise ValueError(f"not one tree: {brackets!r}")
    return children[0][0]


def top(tree: Tree) -> Tree:
    """The node below ROOT."""
    return tree.children[0] if tree.category in ("ROOT", "TOP", "") and len(tree.children) == 1 else tree


def main_verb_phrase(tree: Tree) -> Tree | None:
    """The only verb phrase of the main clause."""
    phrases = [child for child in top(tree).children if child.category == "VP"]
    return phrases[0] if top(tree).category == "S" and len(phrases) == 1 else None


def main_verb(tree: Tree) -> Tree | None:
    """The finite verb of the main clause; none where clauses or verb phrases are coordinated, or with a modal."""
    phrase = main_verb_phrase(tree)
    if phrase is None or _is_coordinated(phrase):
        return None
    verbs = [child for child in phrase.children if child.label.startswith(("VB", "MD")) and not child.children]
    return verbs[0] if verbs and verbs[0].label in FINITE else None


def subject_noun(tree: Tree) -> Tree | None:
    """The common noun that heads the subject of the main clause."""
    phrase = main_verb_phrase(tree)
    if phrase is None:
        return None
    before = [child for child in top(tree).children if child.category == "NP" and child.end <= phrase.first]
    return _common_noun(before[-1]) if before else None


def object_noun(tree: Tree, tokens: tuple[str, ...]) -> Tree | None:
    """The common noun that heads the direct object of the main clause: the last one of two."""
    phrase = main_verb_phrase(tree)
    while phrase is not None and not _is_coordinated(phrase):
        inner = [child for child in phrase.children if child.category == "VP"]
        if not inner:
            verbs = [child for child in phrase.children if child.label.startswith("VB")]
            objects = [child for child in phrase.children if child.label == "NP"]
            is_copula = bool(verbs) and tokens[verbs[0].first].lower() in BE
            return _common_noun(objects[-1]) if verbs and objects and not is_copula else None
        phrase = inner[0]
    return None


def coordinated_clauses(tree: Tree) -> tuple[Tree, Tree] | None:
    """The two clauses of a sentence that is these, a conjunction and punctuation."""
    parts = [child for child in top(tree).children if child.category not in (",", ".", ":")]
    if top(tree).category != "S" or [part.category for part in parts] != ["S", "CC", "S"]:
        return None
    return parts[0], parts[2]


def _is_coordinated(phrase: Tree) -> bool:
    return any(child.category == "CC" for child in phrase.children)


def _common_noun(phrase: Tree) -> Tree | None:
    if _is_coordinated(phrase):
        return None
    nouns = [child for child in phrase.children if child.label in NOUNS]
    if nouns:
        return nouns[-1] if nouns[-1].label in ("NN", "NNS") else None
    inner = [child for child in phrase.children if child.category == "NP"]
    return _common_noun(inner[0]) if inner else None
