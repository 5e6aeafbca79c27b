"""Lexical cohesion of documents (Wong and Kit 2012): how many of their content words take up an earlier one.

A word does if an earlier one in its document has the same stem, or is related to it by WordNet: a synonym, directly
above or below it, or under the same. Without a WordNet, repetition counts alone. There is one for English, as data of
NLTK or as Debian's wordnet-base.
"""

import io
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import Any

import nltk
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.stem.snowball import SnowballStemmer
from stop_words import LANGUAGE_MAPPING, get_stop_words

from context_nmt.measures.bleu import Score

DEBIAN = Path("/usr/share/wordnet")
PLACES = ("corpora/wordnet", "corpora/wordnet.zip/wordnet/")  # in NLTK's data


class ContentWords:
    """Words with a letter that are no stop words, in lower case; where a language has no list, all words.

    `name` says for signatures which stop words and stemmer are used.
    """

    def __init__(self, language: str) -> None:
        name = LANGUAGE_MAPPING.get(language)  # such as "german"
        words = get_stop_words(language) if name else []
        # Moses splits "it's" into "it" and "'s"
        parts = [
            part for word in words if "'" in word for part in (word.partition("'")[0], "'" + word.partition("'")[2])
        ]
        self._stops = {*words, *parts}
        stems = name in SnowballStemmer.languages
        self._stem = lru_cache(maxsize=None)(SnowballStemmer(name).stem) if stems else str
        stops = f"stop-words-{version('stop-words')}-{language}" if name else "none"
        self.name = f"stop-words:{stops}|stems:{f'snowball-{name}' if stems else 'none'}"

    def of(self, sentence: str) -> list[str]:
        """Return the content words of a sentence, whose tokens are between spaces, in their order."""
        words = (word for word in sentence.lower().split() if any(character.isalpha() for character in word))
        return [word for word in words if word not in self._stops]

    def stems(self, words: Sequence[str]) -> list[str]:
        """Return the stem of each word; the word itself where a language has no stemmer."""
        return [self._stem(word) for word in words]


class WordNet:
    """Looks words up in WordNet's files, in one of NLTK's places or in a folder."""

    def __init__(self, root: Any) -> None:
        if isinstance(root, Path) and str(root) not in nltk.data.path:
            nltk.data.path.append(str(root))  # NLTK opens nothing outside of these folders
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of missing other languages
            self._reader = _Reader(str(root) if isinstance(root, Path) else root, None)
        self.name = f"wordnet-{self._reader.get_version()}"  # for signatures
        self.concepts = lru_cache(maxsize=None)(self._concepts)

    def _concepts(self, word: str) -> frozenset[tuple[str, int]]:
        """Return the synsets of a word in any of its senses, and those directly above them.

        Two words share one if they are synonyms, if one is directly above the other, or if both are under the same.
        """
        synsets = self._reader.synsets(word)
        above = (other for synset in synsets for other in (*synset.hypernyms(), *synset.instance_hypernyms()))
        return frozenset((synset.pos(), synset.offset()) for synset in (*synsets, *above))


class _Reader(WordNetCorpusReader):  # type: ignore[misc]
    """NLTK's reader, without what Debian's files lack and nothing here looks at."""

    def open(self, file: str) -> Any:
        if file == "lexnames":  # the names of WordNet's source files, by number
            return io.StringIO("".join(f"{number:02} file{number} 0\n" for number in range(45)))
        with self._root.join(file).open() as opened:  # into memory, where a byte is a character: NLTK closes no file
            return io.StringIO(opened.read().decode("latin-1"))

    def map_wn(self, version: str = "wordnet") -> None:
        """Map nothing to other versions of WordNet."""


def find_wordnet(language: str) -> WordNet | None:
    """Open the WordNet of a language; None if there is none here."""
    if language != "en":
        return None
    for place in PLACES:
        try:
            return WordNet(nltk.data.find(place))
        except LookupError:
            continue
    return WordNet(DEBIAN) if (DEBIAN / "data.noun").is_file() else None


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
