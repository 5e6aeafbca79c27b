"""The content words of a text, and their stems."""

from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version

from nltk.stem.snowball import SnowballStemmer
from stop_words import LANGUAGE_MAPPING, get_stop_words


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
