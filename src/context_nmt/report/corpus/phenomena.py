"""Count the phenomena that make a corpus hard, from its gold records."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from context_nmt.files import UserError
from context_nmt.miniature.probing import Tree, parse_tree

SYNTAX = (
    "relative_clauses",
    "subordinate_clauses",
    "coordinated_clauses",
    "coordinated_phrases",
    "questions",
    "direct_speech",
    "negations",
    "modals",
)


def count_phenomena(records: Iterable[dict[str, Any]], *, where: Path) -> dict[str, float]:
    """Return the occurrences of each phenomenon per 100 sentences; raise UserError for a record without its keys."""
    counts: Counter[str] = Counter()
    sentences = 0
    for sentences, record in enumerate(records, start=1):
        try:
            counts.update(_context(record))
            counts.update(_syntax(parse_tree(record["tree"]), record["en"]["tokens"]))
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{where}: line {sentences} is not gold data ({type(error).__name__}: {error})") from None
    names = [*sorted(name for name in counts if name not in SYNTAX), *SYNTAX]
    return {name: round(100 * counts[name] / sentences, 2) for name in names}


def _context(record: dict[str, Any]) -> Iterator[str]:
    for pronoun in record["pronouns"]:
        category = "it" if record["en"]["tokens"][pronoun["en"]].lower() == "it" else "other_pronouns"
        yield f"{category}_within" if pronoun["within"] else f"{category}_distance_{pronoun['distance']}"
    for sense in record["senses"]:
        yield f"senses_{sense['side']}_{sense['cue']}"
    for synonym in record["synonyms"]:
        yield f"synonyms_{synonym['side']}_{'first' if synonym['distance'] is None else 'again'}"


def _syntax(tree: Tree, tokens: Sequence[str]) -> Iterator[str]:
    for node in tree.nodes():
        categories = [child.category for child in node.children]
        if node.category == "SBAR":
            yield "relative_clauses" if categories[:1] == ["WHNP"] else "subordinate_clauses"
        elif node.category in ("SQ", "SBARQ"):
            yield "questions"
        elif node.category == "``":
            yield "direct_speech"
        elif node.category == "MD":
            yield "modals"
        elif node.category == "RB" and tokens[node.first].lower() in ("not", "n't", "'t"):
            yield "negations"
        if "CC" in categories[1:]:
            yield "coordinated_clauses" if "S" in categories else "coordinated_phrases"
