"""Punctuation and marks that Moses' rules do not know, because they are not ASCII."""
# ruff: noqa: RUF001

import re
import unicodedata
from functools import cache

INNER = "’·׳״־"  # between letters, they belong to the word
QUOTES = {"«": "»", "»": "«»", "‹": "›", "›": "‹", "„": "“”", "“": "”", "”": "”", "‚": "‘’", "‘": "’", "״": "״"}
OPENING = "“„‘"  # quotes that open even where nothing closes them
BRACKETS = "([{¿¡"  # which Moses joins to the next word
ELIDED = re.compile(r"\d\ds\b|[Tt](?:was|is)\b|em\b|n ’")  # behind an apostrophe that begins a word
FOLLOWING = frozenset("»›”’…‰٪،؛؟۔।॥։․՛՜՝՞׳׃፣።។៖၊။")  # without a space before them
SPACED = re.compile(f" [{''.join({*QUOTES, *FOLLOWING})}]")
WIDE = re.compile(" ?([\u3001-\u303f\uff01-\uff65]) ?")  # have no spaces at all
CURRENCY = re.compile(r"(?<=\d )([\u20a0-\u20c0£¥])(?=[^\s\d])")  # behind its number, but joined to the next word


@cache
def marks() -> str:
    """Return all characters that combine with a letter, and the invisible joiners of letters."""
    planes = map(chr, (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)))
    return "\u200c\u200d" + "".join(mark for mark in planes if unicodedata.category(mark).startswith("M"))


def joined(text: str, language: str) -> str:
    """Join quotes and punctuation to their words in a text where only ASCII is joined; French has spaces in « »."""
    if SPACED.search(f" {text}"):
        text = _join_words(text, spaced="«»" if language == "fr" else "")
    return CURRENCY.sub(r"\1 ", WIDE.sub(r"\1", text))


def _join_words(text: str, *, spaced: str) -> str:
    tokens, words, opened = text.split(" "), [""], True
    closing: list[str] = []  # what closes each quote that is open
    for number, token in enumerate(tokens):
        mark, rest = token.lstrip(BRACKETS), tokens[number + 1 :]
        kept = token[0] in spaced
        closes = not kept and (any(token[0] in quotes for quotes in closing) or (token in OPENING and not rest))
        may_open = mark in QUOTES and not (kept or closes)
        opens = may_open and bool(rest) and (mark in OPENING or any(later[0] in QUOTES[mark] for later in rest))
        elides = mark == "’" and not closes and (number == 0 or ELIDED.match(" ".join(rest[:2])) is not None)
        if opened or closes or (token[0] in FOLLOWING and not (kept or opens or elides)):
            words[-1] += token
        else:
            words.append(token)
        if opens:
            closing.append(QUOTES[mark])
        while closes and closing and token[0] not in closing.pop():
            pass
        opened = opens or elides
    return " ".join(words)
