"""Lexical cohesion of documents (Wong and Kit 2012): the share of content words that take up an earlier one.

A word takes up an earlier word of its document with the same stem, or one related to it in WordNet: a synonym, a direct
hypernym or hyponym, or a word with a common direct hypernym. Without a WordNet, only repetition counts. There is a
WordNet for English, as NLTK data or in Debian's package wordnet-base.
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
    """Words with a letter, in lower case, except stop words if there is a list of them for the language.

    `name` gives the stop words and the stemmer in signatures.
    """

    def __init__(self, language: str) -> None:
        language_name = LANGUAGE_MAPPING.get(language)  # such as "german"
        words = get_stop_words(language) if language_name else []
        # Moses splits "it's" into "it" and "'s"
        contraction_parts = [
            part for word in words if "'" in word for part in (word.partition("'")[0], "'" + word.partition("'")[2])
        ]
        self._stops = {*words, *contraction_parts}
        has_stemmer = language_name in SnowballStemmer.languages
        self._stem = lru_cache(maxsize=None)(SnowballStemmer(language_name).stem) if has_stemmer else str
        stop_list = f"stop-words-{version('stop-words')}-{language}" if language_name else "none"
        self.name = f"stop-words:{stop_list}|stems:{f'snowball-{language_name}' if has_stemmer else 'none'}"

    def of(self, sentence: str) -> list[str]:
        """Return the content words of a sentence of space-separated tokens, in order."""
        words = (word for word in sentence.lower().split() if any(character.isalpha() for character in word))
        return [word for word in words if word not in self._stops]

    def stems(self, words: Sequence[str]) -> list[str]:
        """Return the stem of each word, or the word itself if its language has no stemmer."""
        return [self._stem(word) for word in words]


class WordNet:
    """The WordNet files in one of NLTK's places or in a folder."""

    def __init__(self, root: Any) -> None:
        if isinstance(root, Path) and str(root) not in nltk.data.path:
            nltk.data.path.append(str(root))  # NLTK opens nothing outside of these folders
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of missing other languages
            self._reader = _Reader(str(root) if isinstance(root, Path) else root, None)
        self.name = f"wordnet-{self._reader.get_version()}"  # for signatures
        self.concepts = lru_cache(maxsize=None)(self._concepts)

    def _concepts(self, word: str) -> frozenset[tuple[str, int]]:
        """Return all synsets of a word and their direct hypernyms.

        Two words share one if they are synonyms, if one is a direct hypernym of the other, or if both have a common
        direct hypernym.
        """
        synsets = self._reader.synsets(word)
        hypernyms = (hypernym for synset in synsets for hypernym in (*synset.hypernyms(), *synset.instance_hypernyms()))
        return frozenset((synset.pos(), synset.offset()) for synset in (*synsets, *hypernyms))


class _Reader(WordNetCorpusReader):  # type: ignore[misc]
    """NLTK's reader without the files that Debian lacks."""

    def open(self, file: str) -> Any:
        if file == "lexnames":  # the names of WordNet's source files, by number
            return io.StringIO("".join(f"{number:02} file{number} 0\n" for number in range(45)))
        with self._root.join(file).open() as opened:  # into memory, where a byte is a character: NLTK closes no file
            return io.StringIO(opened.read().decode("latin-1"))

    def map_wn(self, version: str = "wordnet") -> None:
        """Map nothing to other versions of WordNet."""


def find_wordnet(language: str) -> WordNet | None:
    """Open the WordNet of a language; return None if it is not installed."""
    if language != "en":
        return None
    for resource in PLACES:
        try:
            return WordNet(nltk.data.find(resource))
        except LookupError:
            continue
    return WordNet(DEBIAN) if (DEBIAN / "data.noun").is_file() else None


class Cohesion:
    """The share of content words that are repeated or similar, from 0 to 1, averaged over documents."""

    def __init__(self, words: ContentWords, wordnet: WordNet | None) -> None:
        self._words, self._wordnet = words, wordnet
        self.signature = f"repetition+{wordnet.name if wordnet else 'no-wordnet'}|{words.name}"

    def score(self, sentences: Sequence[str], documents: Iterable[range]) -> Score | None:
        """Score a text; return None if no document has content words."""
        shares = [self._share([sentences[line] for line in document]) for document in documents]
        known_shares = [share for share in shares if share is not None]
        return {"score": round(fmean(known_shares), 4), "signature": self.signature} if known_shares else None

    def _share(self, sentences: Iterable[str]) -> float | None:
        words = [word for sentence in sentences for word in self._words.of(sentence)]
        stems: set[str] = set()
        concepts: set[tuple[str, int]] = set()
        taken_up = 0
        for word, stem in zip(words, self._words.stems(words), strict=True):
            word_concepts = self._wordnet.concepts(word) if self._wordnet else frozenset()
            taken_up += stem in stems or not concepts.isdisjoint(word_concepts)
            stems.add(stem)
            concepts |= word_concepts
        return taken_up / len(words) if words else None
