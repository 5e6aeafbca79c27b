"""Accuracy of pronouns, nouns or other words of the reference, compared at aligned positions.

This is the accuracy of pronoun translation (APT, Miculicich and Popescu-Belis 2017) as the authors of HAN count it. One
word alignment links a word of the reference to the source, another links the source to the translation. The cases and
their weights:

    1    1    equal: a linked word of the translation is the same, ignoring case
    2    0.5  similar: no linked word is the same, but one is listed as similar
    3    0    different: all linked words are different
    4    0    untranslated: no word is linked
    5, 6 0    words that only the translation has, or that neither text has: they never occur here, because counting
              starts from the words of the reference

A word of the reference that is not linked to the source is not counted.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from context_nmt.files import UserError, read_lines
from context_nmt.measures.bleu import Score
from context_nmt.measures.parts_of_speech import Tags, tag_with_nltk
from context_nmt.settings.text import base_language

SIMILAR_WEIGHT = 0.5  # the weight of case 2
CASES = ("equal", "similar", "different", "untranslated")
PRONOUNS = {
    # the pronouns that the authors of HAN count
    "en": "i that we you it they me he who them us their his she her him its whose whom",
    # pronouns of the same kinds: personal, and third-person possessive; "der, die, das" are mostly articles
    "de": (
        "ich du er sie es wir ihr mich dich ihn uns euch mir dir ihm ihnen"
        " sein seine seinem seinen seiner seines ihre ihrem ihren ihrer ihres"
    ),
}
NOUN_TAGS = {
    "en": ("NN", "NNS", "NNP", "NNPS"),  # Penn Treebank
    "de": ("NN", "NE"),  # STTS
}
LINK = re.compile(r"(\d+)-(\d+)", re.ASCII)

Alignment = list[tuple[int, int]]  # pairs of a source and a target token, from 0


@dataclass(frozen=True)
class WordPositions:
    """Positions of the words to count in each sentence of a text, and the lower-cased words similar to each word."""

    name: str  # how the words were found, for signatures
    positions: list[list[int]]  # by sentence, from 0
    similar: Mapping[str, Collection[str]] = field(default_factory=dict)


def word_accuracy(
    words: WordPositions,
    references: Sequence[str],
    hypotheses: Sequence[str],
    reference_alignments: Sequence[Alignment],
    hypothesis_alignments: Sequence[Alignment],
    *,
    alignment: str,
) -> Score | None:
    """Return the accuracy of some words of the reference, from 0 to 1, with counts; return None if no word counts.

    Tokens are separated by spaces; `alignment` names the origin of the alignments in the signature.
    """
    cases: Counter[str] = Counter()
    sentences = zip(words.positions, references, hypotheses, reference_alignments, hypothesis_alignments, strict=True)
    for positions, reference, hypothesis, to_reference, to_hypothesis in sentences:
        expected, produced = reference.lower().split(), hypothesis.lower().split()
        for position in positions:
            linked = {source for source, target in to_reference if target == position}
            translated = {produced[target] for source, target in to_hypothesis if source in linked}
            cases[_classify(expected[position], linked, translated, words.similar.get(expected[position], ()))] += 1
    total = sum(cases[case] for case in CASES)
    if not total:
        return None
    return {
        "score": round((cases["equal"] + SIMILAR_WEIGHT * cases["similar"]) / total, 4),
        "signature": f"words:{words.name}|alignment:{alignment}|similar:{SIMILAR_WEIGHT}|case:lc",
        "counts": {case: cases[case] for case in (*CASES, "not_in_source")} | {"total": total},
    }


def _classify(word: str, sources: set[int], translations: set[str], similar: Collection[str]) -> str:
    if not sources:
        return "not_in_source"
    if not translations:
        return "untranslated"
    if word in translations:
        return "equal"
    return "similar" if translations & set(similar) else "different"


def find_pronouns(sentences: Sequence[str], language: str) -> WordPositions | None:
    """Find the pronouns in a text; return None if its language has no list of pronouns."""
    words = PRONOUNS.get(base_language(language), "").split()
    return WordPositions(f"{len(words)}-pronouns-{language}", _positions(sentences, set(words))) if words else None


def find_listed_words(sentences: Sequence[str], path: Path) -> WordPositions:
    """Find the words of a list in a text; a line of the list has one word or several similar words.

    Raise UserError for a list without words and for a word that occurs twice in it.
    """
    groups = [line.lower().split() for line in read_lines(path)]
    words = Counter(word for group in groups for word in group)
    if repeated := sorted(word for word, count in words.items() if count > 1):
        raise UserError(f"{path}: lists {', '.join(repeated)} twice (in lower case)")
    if not words:
        raise UserError(f"{path}: has no words")
    similar = {word: {*group} - {word} for group in groups for word in group}
    return WordPositions(f"{len(words)}-of-{path.name}", _positions(sentences, words), similar)


def _positions(sentences: Sequence[str], words: Collection[str]) -> list[list[int]]:
    return [[position for position, word in enumerate(line.lower().split()) if word in words] for line in sentences]


def find_nouns(sentences: Sequence[str], language: str) -> WordPositions | None:
    """Find the nouns in a text with NLTK's tagger; return None if it is not English or the tagger's data is missing."""
    return nouns_by_tag(tag_with_nltk([line.split() for line in sentences], language), language)


def nouns_by_tag(tags: Tags | None, language: str) -> WordPositions | None:
    """Find the nouns by their tags; return None without tags, or if the language's noun tags are not known."""
    noun_tags = NOUN_TAGS.get(base_language(language))
    if tags is None or noun_tags is None:
        return None
    positions = [[position for position, tag in enumerate(sentence) if tag in noun_tags] for sentence in tags.sentences]
    return WordPositions(f"nouns-{tags.name}", positions)


def read_alignments(path: Path, targets: Sequence[str], sources: Sequence[str] | None = None) -> list[Alignment]:
    """Read word alignments in Pharaoh format, one sentence per line: `0-0` links source token 0 to target token 0.

    Raise UserError for a wrong number of lines, a malformed link, or a link to a token that does not exist.
    """
    lines = read_lines(path)
    if len(lines) != len(targets):
        raise UserError(f"{path} has {len(lines)} lines for {len(targets)} sentences; they must be equal")
    alignments: list[Alignment] = []
    for number, line in enumerate(lines, start=1):
        alignment = []
        for link_text in line.split():
            if (link := LINK.fullmatch(link_text)) is None:
                raise UserError(
                    f"{path}: line {number} has {link_text!r}; a link is SOURCE-TARGET, two numbers from 0, such as 3-4"
                )
            alignment.append((int(link[1]), int(link[2])))
        for index, (side, sentences) in enumerate((("source", sources), ("target", targets))):
            last = max((link[index] for link in alignment), default=-1)
            if sentences and last >= (length := len(sentences[number - 1].split())):
                raise UserError(f"{path}: line {number} links {side} token {last}, from 0; there are {length}")
        alignments.append(alignment)
    return alignments
