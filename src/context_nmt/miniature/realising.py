"""A sentence in both languages: tokens, tags, English tree, alignment and raw text."""

from dataclasses import dataclass

from context_nmt.miniature.english_syntax import English
from context_nmt.miniature.german_syntax import German
from context_nmt.miniature.meaning import AS_IT_IS, NounPhrase, Sentence, Wordings
from context_nmt.miniature.trees import Leaf, Node, Part, leaves

LANGUAGES = ("en", "de")


@dataclass(frozen=True, slots=True)
class Realised:
    """A sentence in words."""

    tree: Node  # English, in lower case at its start
    english: tuple[Leaf, ...]
    german: tuple[Leaf, ...]

    def side(self, language: str) -> tuple[Leaf, ...]:
        return self.english if language == "en" else self.german

    def tokens(self, language: str) -> list[str]:
        """Moses tokens, with a capital at the start."""
        return capitalized([leaf.word for leaf in self.side(language)])

    def text(self, language: str) -> str:
        """The raw line."""
        return spelled(self.tokens(language))

    def position(self, language: str, part: Part) -> int:
        """The index of the first token that expresses a part of the meaning."""
        return next(place for place, leaf in enumerate(self.side(language)) if part in leaf.parts)

    def mentions(self) -> list[tuple[NounPhrase, Part]]:
        """The noun phrases in the order of the English sentence, each with the part that its head expresses."""
        parts = dict.fromkeys(part for leaf in self.english for part in leaf.parts if part[1] in ("noun", "name 0"))
        return [(part[0], part) for part in parts if isinstance(part[0], NounPhrase)]

    def alignment(self) -> list[tuple[int, int]]:
        """Pairs of token indices (English, German) that express the same part of the meaning."""
        places: dict[Part, list[int]] = {}
        for place, leaf in enumerate(self.german):
            for part in leaf.parts:
                places.setdefault(part, []).append(place)
        return sorted(
            {
                (here, there)
                for here, leaf in enumerate(self.english)
                for part in leaf.parts
                for there in places.get(part, ())
            }
        )


def realise(sentence: Sentence, wordings: Wordings = AS_IT_IS) -> Realised:
    """Put a sentence into words, some entities called by another noun."""
    tree = English(wordings).sentence(sentence)
    return Realised(tree, tuple(leaves(tree)), tuple(German(wordings).sentence(sentence)))


def capitalized(tokens: list[str]) -> list[str]:
    """Give the first word a capital; a quotation mark may stand before it."""
    first = 1 if tokens[0] == '"' else 0
    word = tokens[first]
    return [*tokens[:first], word[:1].upper() + word[1:], *tokens[first + 1 :]]


def spelled(tokens: list[str]) -> str:
    """Raw text: punctuation and clitics join the word before them, an opening quotation mark the one behind."""
    text, quoted, space = "", False, ""
    for word in tokens:
        closing = word == '"' and quoted
        if word in (",", ".", "?", "'s", "'t") or closing:
            space = ""
        text += space + word
        if word == '"':
            quoted = not quoted
        space = "" if word == '"' and quoted else " "
    return text
