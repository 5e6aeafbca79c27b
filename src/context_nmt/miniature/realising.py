"""A sentence in both languages: tokens, tags, English tree, alignment and raw text."""

import re
from collections import defaultdict
from dataclasses import dataclass

from context_nmt.miniature.english_syntax import English
from context_nmt.miniature.german_syntax import German
from context_nmt.miniature.grammar import Leaf, Node, leaves
from context_nmt.miniature.meaning import AS_IT_IS, NounPhrase, Part, Sentence, Wordings


@dataclass(frozen=True, slots=True)
class Realised:
    """A sentence in words."""

    tree: Node  # English, in lower case at its start
    en: tuple[Leaf, ...]
    de: tuple[Leaf, ...]

    def side(self, language: str) -> tuple[Leaf, ...]:
        """Return the leaves in a language."""
        return self.en if language == "en" else self.de

    def tokens(self, language: str) -> list[str]:
        """Return Moses tokens, with a capital at the start."""
        return capitalized([leaf.word for leaf in self.side(language)])

    def text(self, language: str) -> str:
        """Return the raw line: punctuation and clitics join the word before them, an opening quote the one after."""
        joined = re.sub(r""" (?=[,.?]|'[st]\b)""", "", " ".join(self.tokens(language)))
        return re.sub(r'" (.*?) ?"', r'"\1"', joined)

    def position(self, language: str, part: Part) -> int:
        """Return the index of the first token that expresses a part of the meaning."""
        return next(index for index, leaf in enumerate(self.side(language)) if part in leaf.parts)

    def mentions(self) -> list[tuple[NounPhrase, Part]]:
        """Return the noun phrases in the order of the English sentence, each with the part that its head expresses."""
        parts = dict.fromkeys(part for leaf in self.en for part in leaf.parts if part[1] in ("noun", "name 0"))
        return [(part[0], part) for part in parts if isinstance(part[0], NounPhrase)]

    def alignment(self) -> list[tuple[int, int]]:
        """Return pairs of token indices (English, German) that express the same part of the meaning."""
        places: dict[Part, list[int]] = defaultdict(list)
        for index, leaf in enumerate(self.de):
            for part in leaf.parts:
                places[part].append(index)
        parts = [(english, part) for english, leaf in enumerate(self.en) for part in leaf.parts]
        return sorted({(english, german) for english, part in parts for german in places[part]})


def realise(sentence: Sentence, wordings: Wordings = AS_IT_IS) -> Realised:
    """Put a sentence into words, with other wordings for some entities."""
    tree = English(wordings).sentence(sentence)
    return Realised(tree, tuple(leaves(tree)), tuple(German(wordings).sentence(sentence)))


def capitalized(tokens: list[str]) -> list[str]:
    """Give the first word a capital; a quotation mark may precede it."""
    first = 1 if tokens[0] == '"' else 0
    word = tokens[first]
    return [*tokens[:first], word[:1].upper() + word[1:], *tokens[first + 1 :]]
