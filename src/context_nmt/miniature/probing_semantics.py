"""Probing tasks about tense, number and clauses that belong together: Tense, SubjNum, ObjNum and CoordInv."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from random import Random

from context_nmt.miniature.probing_samples import (
    Example,
    ParsedSentence,
    Row,
    Task,
    deal,
    deal_forms,
    too_few,
)
from context_nmt.miniature.probing_trees import Tree, coordinated_clauses, main_verb, object_noun, subject_noun
from context_nmt.settings.miniature import ProbingSettings

TENSES = {"VBZ": "PRES", "VBP": "PRES", "VBD": "PAST"}


def past_present(sentences: Sequence[ParsedSentence], settings: ProbingSettings, random: Random) -> Task:
    """The tense of the main verb."""
    return _by_target(sentences, lambda sentence: main_verb(sentence.tree), settings, random)


def subj_number(sentences: Sequence[ParsedSentence], settings: ProbingSettings, random: Random) -> Task:
    """The number of the main clause's subject."""
    return _by_target(sentences, lambda sentence: subject_noun(sentence.tree), settings, random)


def obj_number(sentences: Sequence[ParsedSentence], settings: ProbingSettings, random: Random) -> Task:
    """The number of the main clause's direct object."""
    return _by_target(sentences, lambda sentence: object_noun(sentence.tree, sentence.tokens), settings, random)


def _by_target(
    sentences: Sequence[ParsedSentence],
    find: Callable[[ParsedSentence], Tree | None],
    settings: ProbingSettings,
    random: Random,
) -> Task:
    """Label sentences by the tag of one word in them; no form of that word occurs in two splits."""
    texts: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for sentence in sentences:
        target = find(sentence)
        if target is not None:
            label = TENSES.get(target.label, target.label)
            texts[label][sentence.tokens[target.first].lower()].append(sentence.text)
    if len(texts) < 2:
        raise too_few(settings, f"fewer than two classes ({', '.join(texts) or 'none'})")
    return deal_forms(texts, settings, random)


def coordination_inversion(sentences: Sequence[ParsedSentence], settings: ProbingSettings, random: Random) -> Task:
    """Whether the order of two coordinated clauses is inverted (I) or not (O).

    Which of the clauses is longer as it stands in the task says nothing: original and inverted sentences are paired.
    """
    taken = {sentence.text for sentence in sentences}
    pairs: dict[int, list[tuple[str, str]]] = {-1: [], 0: [], 1: []}  # by which clause is longer: original, inverted
    for sentence in sentences:
        clauses = coordinated_clauses(sentence.tree)
        if clauses is None or sentence.tags.count("CC") != 1:
            continue
        first, second = clauses
        inverted = _inverted(sentence, first, second)
        if inverted not in taken:
            taken.add(inverted)
            longer = (second.end - second.first) - (first.end - first.first)
            pairs[(longer > 0) - (longer < 0)].append((sentence.text, inverted))
    for found in pairs.values():
        random.shuffle(found)
    opposite = list(zip(pairs[-1], pairs[1], strict=False))
    opposite = [pair if place % 2 else pair[::-1] for place, pair in enumerate(opposite)]
    equal = list(zip(pairs[0][::2], pairs[0][1::2], strict=False))
    rows: list[Row] = [(Example("O", kept[0]), Example("I", turned[1])) for kept, turned in opposite + equal]
    return deal(rows, settings, random)


def _inverted(sentence: ParsedSentence, first: Tree, second: Tree) -> str:
    """The sentence with its clauses in the other order, and the capital at its new start."""
    tokens = list(sentence.tokens)
    if not sentence.tags[first.first].startswith("NNP") and tokens[first.first] != "I":
        tokens[first.first] = tokens[first.first][:1].lower() + tokens[first.first][1:]
    tokens[second.first] = tokens[second.first][:1].upper() + tokens[second.first][1:]
    parts = [
        tokens[: first.first],
        tokens[second.first : second.end],
        tokens[first.end : second.first],
        tokens[first.first : first.end],
        tokens[second.end :],
    ]
    return " ".join(token for part in parts for token in part)
