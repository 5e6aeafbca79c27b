"""Units, their ids, and the words that they form."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path

from context_nmt.files import UserError, iterate_lines, read_lines, write_lines

PADDING, BEGIN, END, UNKNOWN = range(4)
MASK = BEGIN  # for masked language models, whose targets do not start with BEGIN
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
JOINER = "@@"  # ends a BPE unit that is not the last of its word
SPACE = "\N{LOWER ONE EIGHTH BLOCK}"  # a space in a sentencepiece unit
BYTES = {f"<0x{number:02X}>": bytes([number]) for number in range(256)}  # sentencepiece units; they follow SPECIALS


@dataclass(frozen=True)
class Vocabulary:
    """All units in the order of their ids; the four special ones come first."""

    units: tuple[str, ...]

    @classmethod
    def build(cls, counts: Mapping[str, int], size: int | None = None) -> "Vocabulary":
        """Sort the units by descending count, then by name; keep only the first `size` if it is given."""
        ordered = sorted(counts.keys() - set(SPECIALS), key=lambda unit: (-counts[unit], unit))
        return cls(SPECIALS + tuple(ordered[:size]))

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """Read one unit per line; raise UserError for duplicates and for a file that lacks the special units."""
        units = tuple(read_lines(path))
        if units[: len(SPECIALS)] != SPECIALS:
            raise UserError(f"{path}: a vocabulary must start with the lines {' '.join(SPECIALS)}, not {units[:4]}")
        if len(set(units)) != len(units):
            raise UserError(f"{path}: {len(units) - len(set(units))} units occur twice")
        return cls(units)

    def save(self, path: Path) -> None:
        """Write one unit per line; its id is the number of the line, from 0."""
        write_lines(path, self.units)

    def __len__(self) -> int:
        return len(self.units)

    @cached_property
    def _ids(self) -> dict[str, int]:
        # "</s>" in a text is an unknown unit; it never ends a sentence.
        return {unit: number for number, unit in enumerate(self.units) if number >= len(SPECIALS)}

    def ids(self, line: str) -> list[int]:
        """Return the ids of a line's space-separated units, without END."""
        return [self._ids.get(unit, UNKNOWN) for unit in line.split(" ") if unit]

    def text(self, ids: Iterable[int]) -> str:
        """Return the line of units with these ids, special units included."""
        return " ".join(self.units[number] for number in ids)

    @cached_property
    def is_sentencepiece(self) -> bool:
        """Whether sentencepiece made the units."""
        return self.units[len(SPECIALS) : len(SPECIALS) + len(BYTES)] == tuple(BYTES)

    def word_spans(self, units: Sequence[str]) -> list[tuple[int, int]]:
        """Return the span of each word in units.

        With sentencepiece, a word ends at a space and between letters and other characters.
        """
        if self.is_sentencepiece:
            ends = [end for end, pair in enumerate(pairwise(units), start=1) if _starts_word(*pair)]
            ends += [len(units)] if units else []
        else:
            ends = [end for end, unit in enumerate(units, start=1) if not unit.endswith(JOINER) or end == len(units)]
        return list(zip([0, *ends], ends, strict=False))

    def words(self, ids: Iterable[int]) -> list[str]:
        """Join the units of a sentence into the words of `word_spans`."""
        units = [self.units[number] for number in ids]
        words = [units[start:end] for start, end in self.word_spans(units)]
        if self.is_sentencepiece:
            return [b"".join(map(_utf8, word)).decode(errors="replace") for word in words]
        return [join_units(" ".join(word)) for word in words]

    def token_spans(self, units: Sequence[str], tokens: Sequence[str]) -> list[tuple[int, int]]:
        """Return the span of each token of a sentence in units; an empty list if tokens and units differ in their text.

        A unit of sentencepiece belongs to the token that has its first byte, so a token may have no unit.
        """
        if not self.is_sentencepiece:
            spans = self.word_spans(units)
            return spans if len(spans) == len(tokens) else []
        contents = [_utf8(unit) for unit in units]
        if b"".join(contents) != "".join(tokens).encode():
            return []
        token_ends = list(accumulate(len(token.encode()) for token in tokens))
        unit_starts = accumulate(map(len, contents[:-1]), initial=0) if units else ()
        tokens_of_units = [min(bisect_right(token_ends, start), len(tokens) - 1) for start in unit_starts]
        bounds = [bisect_left(tokens_of_units, number) for number in range(len(tokens) + 1)]
        return list(pairwise(bounds))


def _starts_word(before: str, unit: str) -> bool:
    if unit.startswith(SPACE):
        return True
    return before != SPACE and not {before, unit} & BYTES.keys() and before[-1].isalnum() != unit[0].isalnum()


def _utf8(unit: str) -> bytes:
    """Return the bytes of a sentencepiece unit, without spaces."""
    return BYTES.get(unit) or unit.replace(SPACE, "").encode()


def join_units(line: str) -> str:
    """Join the BPE units of a line into words; a line may end within a word."""
    units = filter(None, line.split(" "))
    return "".join(unit[: -len(JOINER)] if unit.endswith(JOINER) else unit + " " for unit in units).removesuffix(" ")


def count_units(path: Path) -> Counter[str]:
    """Count the space-separated units of a file."""
    counts: Counter[str] = Counter()
    for line in iterate_lines(path):
        counts.update(filter(None, line.split(" ")))
    return counts
