"""How units are put into groups: by how often their type stands in training text, and by the tag of their word."""

import numpy as np
from numpy.typing import NDArray

from context_nmt.corpus.binarized import TokenFile
from context_nmt.corpus.vocabulary import JOINER, Vocabulary

BINS = 10


def frequency_bins(training: TokenFile, vocabulary: int) -> NDArray[np.int64]:
    """The bin of every id [V], from 1 for the rarest: as many types in each, as far as they can be shared evenly.

    Types of equal frequency are in the order of the vocabulary, the later ones rarer. What training text does not have
    is in bin 0.
    """
    counts = np.bincount(np.concatenate([training[number] for number in range(len(training))]), minlength=vocabulary)
    seen = np.flatnonzero(counts)
    rarest_first = seen[np.lexsort((-seen, counts[seen]))]
    bins = np.zeros(vocabulary, dtype=np.int64)
    for number, types in enumerate(np.array_split(rarest_first, BINS), start=1):
        bins[types] = number
    return bins


def unit_tags(side: TokenFile, vocabulary: Vocabulary, tags: list[list[str]]) -> list[list[str | None]]:
    """The tag of each unit's word, by sentence; None in a sentence whose words are not as many as its tags."""
    tagged: list[list[str | None]] = []
    for number, own in enumerate(tags):
        units = [vocabulary.units[one] for one in side[number]]
        words = np.cumsum([0, *(not unit.endswith(JOINER) for unit in units)])
        fits = words[-1] == len(own)
        tagged.append([own[word] if fits else None for word in words[:-1]])
    return tagged
