"""Punctuation and marks that Moses' rules do not know, because they are not ASCII."""
# ruff: noqa: RUF001

import re
import unicodedata
from functools import cache

INNER = "’·׳״־"  # between letters, they belong to the word
QUOTES = {"«": "»", "»": "«", "‹": "›", "›": "‹", "„": "“”", "“": "”", "”": "”", "‚": "‘’", "‘": "’", "״": "״"}
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
    tokens, words, closing, opened = text.split(" "), [""], "", True
    for number, token in enumerate(tokens):
        kept = token[0] in spaced
        closes = not kept and token[0] in closing
        may_open = token in QUOTES and not (kept or closes)
        opens = may_open and any(later[0] in QUOTES[token] for later in tokens[number + 1 :])
        if opened or closes or (token[0] in FOLLOWING and not (kept or opens)):
            words[-1] += token
        else:
            words.append(token)
        closing = QUOTES[token] if opens else "" if closes else closing
        opened = opens
    return " ".join(words)
