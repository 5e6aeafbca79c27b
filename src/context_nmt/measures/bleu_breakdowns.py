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
from context_nmt.measures.bleu import Texts, bleu_metric, score_sacrebleu
from context_nmt.measures.rows import TEXT, Row, row
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.progress import tracked

CLASSES = (0, 10, 20, 30, 40, 50)  # minimum number of source units in each length class
WORDS = tuple(range(0, 50, 5))  # each class of source words has more than this
TENTHS = 10
LONGEST_NGRAM = 10
ITERATIONS = (1, 4, 10)


def bleu_by_length(
    test_set: str,
    hypotheses: Sequence[str],
    references: Texts,
    units: Sequence[int],
    words: Sequence[int],
    *,
    tokenizer: str,
) -> Iterator[Row]:
    """Score raw text by source length with sacrebleu: `bleu_of_units` and `bleu_of_tenth`.

    The classes of source units are those of Ampomah et al. (2021, figure 5); `sentences_of_units` is the number of
    sentences in each. Tenths have equal numbers of sentences, and `words_of_tenth` is the mean number of source words
    in each. Empty groups are left out.
    """
    metric = bleu_metric("sacrebleu", tokenizer)
    for number, lines in length_classes(units).items():
        yield row(test_set, "bleu_of_units", _bleu_of(lines, hypotheses, references, metric), tag=str(number))
        yield row(test_set, "sentences_of_units", len(lines), tag=str(number), subject=TEXT)
    for number, lines in equal_groups(words).items():
        yield row(test_set, "bleu_of_tenth", _bleu_of(lines, hypotheses, references, metric), tag=str(number))
        mean_words = round(fmean(words[line] for line in lines), 2)
        yield row(test_set, "words_of_tenth", mean_words, tag=str(number), subject=TEXT)


def tokenized_bleu_by_length(
    test_set: str, hypotheses: Sequence[str], references: Texts, words: Sequence[int]
) -> Iterator[Row]:
    """Score tokens with tokenized BLEU, by source words: `bleu_of_words`, and `sentences_of_words`, their number.

    Yang et al. (2019, figure 5) have ten groups, and name a limit of 20 words: here, ten of 1 to 5 words (tag 0), 6 to
    10 (tag 5), … more than 45 (tag 45). Empty ones are left out.
    """
    metric = bleu_metric("bleu_tokenized", "none")
    for number, lines in length_classes([max(0, count - 1) for count in words], WORDS).items():
        score = _bleu_of(lines, hypotheses, references, metric)
        yield row(test_set, "bleu_of_words", score, tag=str(number))
        yield row(test_set, "sentences_of_words", len(lines), tag=str(number), subject=TEXT)


def _bleu_of(lines: list[int], hypotheses: Sequence[str], references: Texts, metric: sacrebleu.BLEU) -> float:
    hypothesis, *selected = ([side[line] for line in lines] for side in (hypotheses, *references))
    return round(metric.corpus_score(hypothesis, selected).score, 4)


def length_classes(lengths: Sequence[int], classes: Sequence[int] = CLASSES) -> dict[int, list[int]]:
    """Return the lines of each non-empty length class, by its minimum length."""
    found: dict[int, list[int]] = {}
    for line, length in enumerate(lengths):
        found.setdefault(max(least for least in classes if least <= length), []).append(line)
    return dict(sorted(found.items()))


def equal_groups(lengths: Sequence[int]) -> dict[int, list[int]]:
    """Return the lines of each tenth, by number from 1, sorted by length; lines of equal length keep their order."""
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
    """Measure the n-gram precisions of BLEU, in per cent, by n from 1 (Ding et al. 2020, figure 2b).

    Tokens are separated by spaces; an n is left out if no line has n tokens.
    """
    metric = sacrebleu.BLEU(tokenize="none", max_ngram_order=longest, smooth_method="none", force=True)
    score = metric.corpus_score(hypotheses, [references])
    for n, (matches, total) in enumerate(zip(score.counts, score.totals, strict=True), start=1):
        if total:
            yield row(test_set, "ngram_accuracy", round(100 * matches / total, 6), tag=str(n))


def bleu_by_iterations(
    analysed: Analysed, text: Path, hypotheses: Sequence[str], references: Texts, *, tokenizer: str
) -> Iterator[Row]:
    """Translate with 1, 4 and 10 iterations of mask-predict (Ghazvininejad et al. 2019): `bleu_of_iterations`.

    `hypotheses`, raw text like the references, are the translations with the number of iterations in the settings;
    `text` is the run's folder for `TextChain`. Yield nothing for an autoregressive model.
    """
    model, corpus, settings = analysed.model, analysed.corpus, analysed.settings
    if not isinstance(model, MaskedLanguageModel):
        return
    chain = TextChain(text)
    source, device = corpus.side(analysed.test, corpus.source), next(model.parameters()).device
    numbers = sorted({*ITERATIONS, settings.iterations})
    for iterations in tracked(numbers, "iterations", sizes=numbers):
        raw = hypotheses
        if iterations != settings.iterations:
            translations = translate_ids(model, source, replace(settings, iterations=iterations), device=device)
            units = (corpus.target_vocabulary.text(candidates[0].tokens) for candidates in translations)
            raw = list(chain.target_text(chain.target_tokens(units)))
        score = score_sacrebleu(raw, references, tokenizer=tokenizer)["score"]
        yield row(analysed.test, "bleu_of_iterations", score, tag=str(iterations))
