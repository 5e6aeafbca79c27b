"""Lexical cohesion of documents (Wong and Kit 2012): how many of their content words take up an earlier one.

A word does if one before it in its document has the same stem, or is related to it by WordNet: a synonym, right above
or below it, or beside it under the same. Where there is no WordNet, repetition counts alone.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean

from context_nmt.measures.bleu import Score
from context_nmt.measures.discourse.content_words import ContentWords
from context_nmt.measures.discourse.wordnet import WordNet


class Cohesion:
    """The share of content words, from 0 to 1, that are repeated or similar; the mean over documents."""

    def __init__(self, words: ContentWords, wordnet: WordNet | None) -> None:
        self._words, self._wordnet = words, wordnet
        self.signature = f"repetition+{wordnet.name if wordnet else 'no-wordnet'}|{words.name}"

    def score(self, sentences: Sequence[str], documents: Iterable[range]) -> Score | None:
        """Score a text; None if no document has content words."""
        shares = [self._share([sentences[line] for line in document]) for document in documents]
        found = [share for share in shares if share is not None]
        return {"score": round(fmean(found), 4), "signature": self.signature} if found else None

    def _share(self, sentences: Iterable[str]) -> float | None:
        words = [word for sentence in sentences for word in self._words.of(sentence)]
        stems: set[str] = set()
        concepts: set[tuple[str, int]] = set()
        taken_up = 0
        for word, stem in zip(words, self._words.stems(words), strict=True):
            own = self._wordnet.concepts(word) if self._wordnet else frozenset()
            taken_up += stem in stems or not concepts.isdisjoint(own)
            stems.add(stem)
            concepts |= own
        return taken_up / len(words) if words else None
