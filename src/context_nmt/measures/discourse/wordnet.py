"""The concepts of English words, where a WordNet is installed: as data of NLTK, or as Debian's wordnet-base."""

import io
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import nltk
from nltk.corpus.reader.wordnet import WordNetCorpusReader

DEBIAN = Path("/usr/share/wordnet")
PLACES = ("corpora/wordnet", "corpora/wordnet.zip/wordnet/")  # in NLTK's data


class WordNet:
    """Looks words up in WordNet's files, in one of NLTK's places or in a folder."""

    def __init__(self, root: Any) -> None:
        if isinstance(root, Path) and str(root) not in nltk.data.path:
            nltk.data.path.append(str(root))  # NLTK opens nothing outside of these folders
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there are no other languages
            self._reader = _Reader(str(root) if isinstance(root, Path) else root, None)
        self.name = f"wordnet-{self._reader.get_version()}"  # for signatures
        self.concepts = lru_cache(maxsize=None)(self._concepts)

    def _concepts(self, word: str) -> frozenset[tuple[str, int]]:
        """The synsets of a word in any of its senses, and what stands right above them.

        Two words have one in common if they are synonyms, if one stands right above the other, or if they stand beside
        each other under the same.
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
