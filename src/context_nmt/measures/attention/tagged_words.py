"""Which units of a sentence are a word of which part of speech."""

from collections.abc import Sequence
from typing import NamedTuple

from context_nmt.corpus.vocabulary import JOINER


class TaggedWord(NamedTuple):
    """The units of a word, from `start` up to but not including `end`, counted from 0."""

    start: int
    end: int
    tag: str


def tagged_words(units: Sequence[str], tags: Sequence[str]) -> list[TaggedWord]:
    """Put a sentence's units and the tags of its words together; nothing where they are not of as many words."""
    ends = [place for place, unit in enumerate(units, start=1) if not unit.endswith(JOINER)]
    if len(ends) != len(tags):
        return []
    return [TaggedWord(*word) for word in zip([0, *ends], ends, tags, strict=False)]
