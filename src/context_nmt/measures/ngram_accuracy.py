"""How many n-grams of translations are right, by n (Ding et al. 2020, figure 2b)."""

from collections.abc import Iterator, Sequence

import sacrebleu

from context_nmt.measures.rows import Row, row

LONGEST = 10


def ngram_accuracy(
    test_set: str, hypotheses: Sequence[str], references: Sequence[str], longest: int = LONGEST
) -> Iterator[Row]:
    """Per cent of a test set's n-grams that are in the reference of their line, each as often as there, by n from 1.

    These are BLEU's precisions, of tokens between spaces; an n is left out if no line has n tokens.
    """
    metric = sacrebleu.BLEU(tokenize="none", max_ngram_order=longest, smooth_method="none", force=True)
    found = metric.corpus_score(hypotheses, [references])
    for n, (right, count) in enumerate(zip(found.counts, found.totals, strict=True), start=1):
        if count:
            yield row(test_set, "ngram_accuracy", round(100 * right / count, 6), tag=str(n))
