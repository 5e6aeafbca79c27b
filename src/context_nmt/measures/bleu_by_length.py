"""BLEU of sentences of a length: in classes of source units (Ampomah et al. 2021, figure 5), and in tenths.

Yang et al. (2019, figure 5) have ten groups without saying where they end: here all have as many sentences.
"""

from collections.abc import Iterator, Sequence
from statistics import fmean

from context_nmt.measures.bleu import bleu_metric
from context_nmt.measures.rows import TEXT, Row, row

FIRST = (0, 10, 20, 30, 40, 50)  # source units, from which each class reaches to the next
TENTHS = 10


def bleu_by_length(
    test_set: str,
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    units: Sequence[int],
    words: Sequence[int],
) -> Iterator[Row]:
    """Score raw text by the lengths of its sources: sacrebleu, `bleu_of_units` and `bleu_of_tenth`.

    Of the test set, how many sentences a class has, `sentences_of_units`, and how many source words those of a tenth
    have on average, `words_of_tenth`. What has no sentence is left out.
    """
    for kind, groups in (("units", length_classes(units)), ("tenth", equal_groups(words))):
        for number, lines in groups.items():
            chosen = [[text[line] for line in lines] for text in (hypotheses, *references)]
            bleu = bleu_metric("sacrebleu").corpus_score(chosen[0], chosen[1:]).score
            yield row(test_set, f"bleu_of_{kind}", round(float(bleu), 4), tag=str(number))
            if kind == "units":
                yield row(test_set, "sentences_of_units", len(lines), tag=str(number), of=TEXT)
            else:
                mean = round(fmean(words[line] for line in lines), 2)
                yield row(test_set, "words_of_tenth", mean, tag=str(number), of=TEXT)


def length_classes(lengths: Sequence[int]) -> dict[int, list[int]]:
    """By the first length of a class, the lines that are in it."""
    found = {
        first: [line for line, length in enumerate(lengths) if first <= length < last]
        for first, last in zip(FIRST, (*FIRST[1:], float("inf")), strict=True)
    }
    return {first: lines for first, lines in found.items() if lines}


def equal_groups(lengths: Sequence[int]) -> dict[int, list[int]]:
    """By the number of a tenth, from 1, its lines: the shortest first, of equal ones those that stand first."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    ends = [len(order) * number // TENTHS for number in range(TENTHS + 1)]
    found = {number: order[ends[number - 1] : ends[number]] for number in range(1, TENTHS + 1)}
    return {number: lines for number, lines in found.items() if lines}
