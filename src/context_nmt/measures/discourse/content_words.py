"""Which words of a text carry its content, and which of them are forms of one word."""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from importlib.metadata import version

from nltk.stem.snowball import SnowballStemmer
from stop_words import LANGUAGE_MAPPING, get_stop_words


class ContentWords:
    """Words with a letter that are no stop words, in lower case; where a language has no list, all words."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._name = LANGUAGE_MAPPING.get(language)  # such as "german"
        self._stem = lru_cache(maxsize=None)(self._stemmer.stem) if self._stemmer else str

    @property
    def name(self) -> str:
        """What was used, for signatures."""
        stops = f"stop-words-{version('stop-words')}-{self.language}" if self._name else "none"
        return f"stop-words:{stops}|stems:{f'snowball-{self._name}' if self._stemmer else 'none'}"

    def of(self, sentence: str) -> list[str]:
        """The content words of a sentence, whose tokens stand between spaces, in their order."""
        words = (word for word in sentence.lower().split() if any(character.isalpha() for character in word))
        return [word for word in words if word not in self._stops]

    def stems(self, words: Sequence[str]) -> list[str]:
        """What the forms of a word share; the words themselves where a language has no stemmer."""
        return [self._stem(word) for word in words]

    @cached_property
    def _stops(self) -> set[str]:
        words = get_stop_words(self.language) if self._name else []
        # Moses splits "it's" into "it" and "'s"
        parts = [(word.partition("'")[0], "'" + word.partition("'")[2]) for word in words if "'" in word]
        return {*words, *(part for pair in parts for part in pair)}

    @cached_property
    def _stemmer(self) -> SnowballStemmer | None:
        return SnowballStemmer(self._name) if self._name in SnowballStemmer.languages else None
