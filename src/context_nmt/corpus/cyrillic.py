"""Russian letters as Latin ones and back (ISO 9:1995), to learn merges of byte pair encoding for both scripts at once.

As in Sennrich et al. (2016, "Neural Machine Translation of Rare Words with Subword Units"), only the merges are learned
from Latin letters; the text stays Cyrillic.
"""

HARD_SIGN, SOFT_SIGN = "\u02ba", "\u02b9"  # as Latin characters
_LATIN = f"abvgdeëžzijklmnoprstufhcčšŝ{HARD_SIGN}y{SOFT_SIGN}èûâ"
_PAIRS = tuple(zip("абвгдеёжзийклмнопрстуфхцчшщъыьэюя", _LATIN, strict=True))
# ISO 9 writes a capital sign (ЪЬ) like a small one. Capital signs stay as they are, so that every word comes back.
_CAPITALS = tuple((cyrillic.upper(), latin.upper()) for cyrillic, latin in _PAIRS if latin.islower())
_TO_LATIN = str.maketrans(dict(_PAIRS + _CAPITALS))
_TO_CYRILLIC = str.maketrans({latin: cyrillic for cyrillic, latin in _PAIRS + _CAPITALS})


def to_latin(text: str) -> str:
    """Return a text with a Latin letter for each Russian one; other characters stay as they are."""
    return text.translate(_TO_LATIN)


def to_cyrillic(text: str) -> str:
    """Return a text with a Russian letter for each Latin one that stands for one; other characters stay as they are."""
    return text.translate(_TO_CYRILLIC)
