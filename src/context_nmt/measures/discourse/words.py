"""Which tokens of a reference are pronouns or nouns; tokens stand between spaces."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from context_nmt.files import UserError, read_lines
from context_nmt.measures.parts_of_speech import Tags, tagged_by_nltk

PRONOUNS = {
    # those that HAN's authors have counted
    "en": "i that we you it they me he who them us their his she her him its whose whom",
    # the same kinds: personal, and possessive of the third person; "der, die, das" are mostly articles
    "de": (
        "ich du er sie es wir ihr mich dich ihn uns euch mir dir ihm ihnen"
        " sein seine seinem seinen seiner seines ihre ihrem ihren ihrer ihres"
    ),
}
NOUN_TAGS = {
    "en": ("NN", "NNS", "NNP", "NNPS"),  # Penn Treebank
    "de": ("NN", "NE"),  # STTS
}


@dataclass(frozen=True)
class Words:
    """Tokens of each sentence of a text, and which other words are similar to a word, in lower case."""

    name: str  # how they were found, for signatures
    places: list[list[int]]  # by sentence, from 0
    similar: Mapping[str, Collection[str]] = field(default_factory=dict)


def usual_pronouns(sentences: Sequence[str], language: str) -> Words | None:
    """Find the pronouns of a text; None if there is no list for its language."""
    words = PRONOUNS.get(language, "").split()
    return Words(f"{len(words)}-pronouns-{language}", _places(sentences, set(words))) if words else None


def listed(sentences: Sequence[str], path: Path) -> Words:
    """Find the words of a list that has one a line; several on a line are similar to each other.

    Raises UserError for a list without words and for a word that stands there twice.
    """
    groups = [line.lower().split() for line in read_lines(path)]
    words = [word for group in groups for word in group]
    repeated = sorted({word for word in words if words.count(word) > 1})
    if repeated:
        raise UserError(f"{path}: has {', '.join(repeated)} twice, in lower case")
    if not words:
        raise UserError(f"{path}: has no words")
    similar = {word: {*group} - {word} for group in groups for word in group}
    return Words(f"{len(words)}-of-{path.name}", _places(sentences, set(words)), similar)


def tagged_nouns(sentences: Sequence[str], language: str) -> Words | None:
    """Find the nouns of an English text by NLTK's tagger; None for another language or without the tagger's data."""
    return nouns_among(tagged_by_nltk([line.split() for line in sentences], language), language)


def nouns_among(tags: Tags | None, language: str) -> Words | None:
    """Find the nouns among the tags of each sentence; None without tags, and for languages whose tags are not known."""
    if tags is None or language not in NOUN_TAGS:
        return None
    places = [[place for place, tag in enumerate(row) if tag in NOUN_TAGS[language]] for row in tags.sentences]
    return Words(f"nouns-{tags.name}", places)


def _places(sentences: Sequence[str], words: Collection[str]) -> list[list[int]]:
    return [[place for place, word in enumerate(line.lower().split()) if word in words] for line in sentences]
