"""How often words of the reference, such as its pronouns, are found again in a translation.

The accuracy of pronoun translation (APT, Miculicich and Popescu-Belis 2017) as the authors of HAN have counted it: from
a word of the reference along the links of one word alignment to the source, and along those of another to the
translation. Its cases and their weights:

    1   1     the translation has the same word there, in lower case
    2   0.5   not, but one that counts as similar; without a list of these there is none
    3   0     other words
    4   0     nothing
    5,6 0     words that only the translation has, and those that neither has: none, for it starts at the reference's

A word that is linked to nothing in the source is not counted.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass

from context_nmt.measures.bleu import Score
from context_nmt.measures.discourse.alignments import Alignment
from context_nmt.measures.discourse.words import Words

SIMILAR = 0.5  # the weight of case 2


@dataclass(frozen=True)
class WordCounts:
    """How many words of the reference came out how."""

    equal: int = 0  # case 1
    similar: int = 0  # case 2
    different: int = 0  # case 3
    untranslated: int = 0  # case 4
    not_in_source: int = 0  # not counted

    @property
    def total(self) -> int:
        return self.equal + self.similar + self.different + self.untranslated

    def score(self, words: str, alignment: str) -> Score | None:
        """The accuracy, from 0 to 1, with its counts; None without a word.

        `words` and `alignment` say in the signature where they are from.
        """
        if not self.total:
            return None
        return {
            "score": round((self.equal + SIMILAR * self.similar) / self.total, 4),
            "signature": f"words:{words}|alignment:{alignment}|similar:{SIMILAR}|case:lc",
            "counts": asdict(self) | {"total": self.total},
        }


def count_words(
    words: Words,
    references: Sequence[str],
    hypotheses: Sequence[str],
    reference_alignments: Sequence[Alignment],
    hypothesis_alignments: Sequence[Alignment],
) -> WordCounts:
    """Count what became of some words of the reference."""
    cases: Counter[str] = Counter()
    sentences = zip(words.places, references, hypotheses, reference_alignments, hypothesis_alignments, strict=True)
    for chosen, reference, hypothesis, to_reference, to_hypothesis in sentences:
        wanted, given = reference.lower().split(), hypothesis.lower().split()
        for place in chosen:
            sources = {source for source, target in to_reference if target == place}
            found = {given[target] for source, target in to_hypothesis if source in sources}
            cases[_case(wanted[place], sources, found, words.similar.get(wanted[place], ()))] += 1
    return WordCounts(**cases)


def _case(word: str, sources: set[int], found: set[str], similar: Collection[str]) -> str:
    if not sources:
        return "not_in_source"
    if not found:
        return "untranslated"
    if word in found:
        return "equal"
    return "similar" if found & set(similar) else "different"
