"""BLEU by sentence length and by iterations of mask-predict, and n-gram accuracy by n."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
import sacrebleu

from context_nmt.corpus.text_chain import TextChain
from context_nmt.decoding.translating import translate_ids
from context_nmt.measures.attention.recording import Analysed
from context_nmt.measures.bleu import Texts, score_sacrebleu
from context_nmt.measures.rows import TEXT, Row, row
from context_nmt.models.kinds.masked import MaskedLanguageModel

CLASSES = (0, 10, 20, 30, 40, 50)  # the least number of source units in each class of lengths
TENTHS = 10
LONGEST_NGRAM = 10
ITERATIONS = (1, 4, 10)


def bleu_by_length(
    test_set: str, hypotheses: Sequence[str], references: Texts, units: Sequence[int], words: Sequence[int]
) -> Iterator[Row]:
    """Score raw text by the lengths of its sources: sacrebleu, `bleu_of_units` and `bleu_of_tenth`.

    Classes of source units are those of Ampomah et al. (2021, figure 5); `sentences_of_units` is the number of
    sentences in each. Yang et al. (2019, figure 5) have ten groups without saying where they end: here all have as many
    sentences, and `words_of_tenth` is the mean number of source words in each. Empty groups are left out.
    """
    for number, lines in length_classes(units).items():
        yield row(test_set, "bleu_of_units", _bleu_of(lines, hypotheses, references), tag=str(number))
        yield row(test_set, "sentences_of_units", len(lines), tag=str(number), subject=TEXT)
    for number, lines in equal_groups(words).items():
        yield row(test_set, "bleu_of_tenth", _bleu_of(lines, hypotheses, references), tag=str(number))
        mean = round(fmean(words[line] for line in lines), 2)
        yield row(test_set, "words_of_tenth", mean, tag=str(number), subject=TEXT)


def _bleu_of(lines: list[int], hypotheses: Sequence[str], references: Texts) -> float:
    hypothesis, *others = ([text[line] for line in lines] for text in (hypotheses, *references))
    score: float = score_sacrebleu(hypothesis, others)["score"]
    return score


def length_classes(lengths: Sequence[int]) -> dict[int, list[int]]:
    """Return the lines of each class that has any, by its least length."""
    found: dict[int, list[int]] = {}
    for line, length in enumerate(lengths):
        found.setdefault(max(first for first in CLASSES if first <= length), []).append(line)
    return dict(sorted(found.items()))


def equal_groups(lengths: Sequence[int]) -> dict[int, list[int]]:
    """Return the lines of each tenth, by its number from 1: the shortest first, equal lengths in their order."""
    order = np.argsort(lengths, kind="stable").tolist()
    ends = [len(order) * number // TENTHS for number in range(TENTHS + 1)]
    return {
        number: order[ends[number - 1] : ends[number]]
        for number in range(1, TENTHS + 1)
        if ends[number - 1] < ends[number]
    }


def ngram_accuracy(
    test_set: str, hypotheses: Sequence[str], references: Sequence[str], longest: int = LONGEST_NGRAM
) -> Iterator[Row]:
    """Measure the per cent of n-grams that the reference of their line has, each as often as there, by n from 1.

    These are BLEU's precisions (Ding et al. 2020, figure 2b), of tokens between spaces; an n is left out if no line has
    n tokens.
    """
    metric = sacrebleu.BLEU(tokenize="none", max_ngram_order=longest, smooth_method="none", force=True)
    found = metric.corpus_score(hypotheses, [references])
    for n, (right, count) in enumerate(zip(found.counts, found.totals, strict=True), start=1):
        if count:
            yield row(test_set, "ngram_accuracy", round(100 * right / count, 6), tag=str(n))


def bleu_by_iterations(analysed: Analysed, text: Path, hypotheses: Sequence[str], references: Texts) -> Iterator[Row]:
    """Translate with 1, 4 and 10 iterations of mask-predict (Ghazvininejad et al. 2019): `bleu_of_iterations`.

    `hypotheses`, raw text like the references, are the translations with the number of the settings; `text` is the
    run's folder for `TextChain`. Yields nothing for an autoregressive model.
    """
    model, corpus, settings = analysed.model, analysed.corpus, analysed.settings
    if not isinstance(model, MaskedLanguageModel):
        return
    chain = TextChain(text)
    source, device = corpus.side(analysed.test, corpus.source), next(model.parameters()).device
    for number in sorted({*ITERATIONS, settings.iterations}):
        raw = hypotheses
        if number != settings.iterations:
            translations = translate_ids(model, source, replace(settings, iterations=number), device=device)
            units = (corpus.target_vocabulary.text(found[0].tokens) for found in translations)
            raw = list(chain.target_text(chain.target_tokens(units)))
        yield row(analysed.test, "bleu_of_iterations", score_sacrebleu(raw, references)["score"], tag=str(number))
