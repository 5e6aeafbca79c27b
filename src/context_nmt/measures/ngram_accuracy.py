"""How many n-grams of translations are right, by n (Ding et al. 2020, figure 2b)."""

from collections import Counter
from collections.abc import Iterable

LONGEST = 10


def ngram_accuracy(hypotheses: Iterable[str], references: Iterable[str], longest: int = LONGEST) -> dict[int, float]:
    """Per cent of a test set's n-grams that stand in the reference of their line, each as often as it does there.

    Clipped n-gram precision over all lines, by n from 1; an n is left out if no line has n tokens, which stand between
    spaces.
    """
    right, all_of = Counter[int](), Counter[int]()
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        given, wanted = hypothesis.split(), reference.split()
        for n in range(1, longest + 1):
            found = _ngrams(given, n)
            all_of[n] += found.total()
            right[n] += (found & _ngrams(wanted, n)).total()
    return {n: round(100 * right[n] / count, 6) for n, count in all_of.items() if count}


def _ngrams(tokens: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1))
