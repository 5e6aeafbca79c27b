"""Analyse one run: its attention, and its translations by source length, n-gram and number of iterations."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from statistics import fmean

import numpy as np
import sacrebleu

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.text_chain import TextChain
from context_nmt.decoding.in_batches import gather_results
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import read_lines, read_parallel
from context_nmt.measures.attention import attention_measures
from context_nmt.measures.bleu import Texts, bleu_metric, score_sacrebleu
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.parts_of_speech import find_tags, tagged_words
from context_nmt.measures.recording import AnalysisInput
from context_nmt.measures.rows import TEXT, Row, row, write_rows
from context_nmt.measures.scores import read_scoring_inputs
from context_nmt.models.checkpoints import load_run
from context_nmt.models.devices import device_named, join_processes
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.progress import tracked
from context_nmt.settings import read_plan
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.run_layout import run_name

MINIMUM_UNITS = (0, 10, 20, 30, 40, 50)  # minimum number of source units in each length class
WORD_LIMITS = tuple(range(0, 50, 5))  # a length class has more source words than its limit
TENTHS = 10
LONGEST_NGRAM = 10
ITERATION_COUNTS = (1, 4, 10)


def analyse_run(experiment: EvaluationFolder, variant: str, seed: int, *, device: str) -> None:
    """Write the analyses of a run's model and translations for each test set.

    Processes that torchrun has started share the test sets, and the first one writes the file. Raise UserError for
    missing files, unequal line counts, and sentences longer than the model's learned positions.
    """
    corpus, run = BinarizedCorpus(experiment.binarized), run_name(variant, seed)
    torch_device = device_named(device)
    model = load_run(experiment.model(run), torch_device, corpus)
    settings = read_plan(DecodingSettings, experiment.plan(variant, "decoding"))
    with join_processes(torch_device) as group:
        tests = group.share(list(corpus.tests))
        rows = {
            test: list(_analysis_rows(experiment, run, AnalysisInput(model, corpus, test, settings)))
            for test in tracked(tests, run, len(tests), "test sets")
        }
        gathered_rows = gather_results(rows, group)
    if group.is_first:
        write_rows(experiment.analyses(run), run, (row for test in corpus.tests for row in gathered_rows[test]))


def _analysis_rows(experiment: EvaluationFolder, run: str, analysed: AnalysisInput) -> Iterator[Row]:
    corpus, test = analysed.corpus, analysed.test
    tagged = {}
    vocabularies = {"source": corpus.source_vocabulary, "target": corpus.target_vocabulary}
    for side, language in (("source", corpus.source), ("target", corpus.target)):
        if tags := find_tags(experiment, test, language):
            lines = read_lines(experiment.subwords / f"{test}.{language}")
            tagged[side] = [
                tagged_words(vocabularies[side], line.split(), tokens, word_tags)
                for line, tokens, word_tags in zip(lines, tags.tokens, tags.universal(), strict=True)
            ]
    translated, references = read_scoring_inputs(experiment, run, test, tokenized=True)
    hypotheses, raw_references = read_scoring_inputs(experiment, run, test, tokenized=False)
    (sources,) = read_parallel(experiment.tokenized / f"{test}.{corpus.source}.cased")
    unit_counts = corpus.side(test, corpus.source).lengths.tolist()
    words = [len(line.split()) for line in sources]
    tokenizer = experiment.settings.chosen_tokenizer
    analyses = (
        attention_measures(analysed, tagged),
        ngram_accuracy(test, translated, references[0]),
        bleu_by_length(test, hypotheses, raw_references, unit_counts, words, tokenizer=tokenizer),
        tokenized_bleu_by_length(test, translated, references, words),
        bleu_by_iterations(analysed, experiment.model(run) / "text", hypotheses, raw_references, tokenizer=tokenizer),
    )
    yield from chain.from_iterable(tracked(analyses, test, len(analyses), "analyses"))


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

    Sentences are grouped by source units as in Ampomah et al. (2021, figure 5), with the size of each group in
    `sentences_of_units`, and into tenths of equal size, with their mean number of source words in `words_of_tenth`.
    Empty groups are left out.
    """
    metric = bleu_metric("sacrebleu", tokenizer)
    for number, lines in length_classes(units).items():
        yield row(test_set, "bleu_of_units", _score_lines(lines, hypotheses, references, metric), tag=str(number))
        yield row(test_set, "sentences_of_units", len(lines), tag=str(number), subject=TEXT)
    for number, lines in equal_groups(words).items():
        yield row(test_set, "bleu_of_tenth", _score_lines(lines, hypotheses, references, metric), tag=str(number))
        mean_words = round(fmean(words[line] for line in lines), 2)
        yield row(test_set, "words_of_tenth", mean_words, tag=str(number), subject=TEXT)


def tokenized_bleu_by_length(
    test_set: str, hypotheses: Sequence[str], references: Texts, words: Sequence[int]
) -> Iterator[Row]:
    """Score tokens with tokenized BLEU by number of source words: `bleu_of_words` and `sentences_of_words`.

    Yang et al. (2019, figure 5) have ten groups and name a limit of 20 words. The groups here have 1 to 5 words (tag
    0), 6 to 10 (tag 5), … and more than 45 (tag 45). Empty groups are left out.
    """
    metric = bleu_metric("bleu_tokenized", "none")
    for number, lines in length_classes([max(0, count - 1) for count in words], WORD_LIMITS).items():
        score = _score_lines(lines, hypotheses, references, metric)
        yield row(test_set, "bleu_of_words", score, tag=str(number))
        yield row(test_set, "sentences_of_words", len(lines), tag=str(number), subject=TEXT)


def _score_lines(lines: list[int], hypotheses: Sequence[str], references: Texts, metric: sacrebleu.BLEU) -> float:
    hypothesis, *selected = ([text[line] for line in lines] for text in (hypotheses, *references))
    return round(metric.corpus_score(hypothesis, selected).score, 4)


def length_classes(lengths: Sequence[int], minimums: Sequence[int] = MINIMUM_UNITS) -> dict[int, list[int]]:
    """Return the lines of each non-empty length class, by its minimum length."""
    lines_by_minimum: dict[int, list[int]] = {}
    for line, length in enumerate(lengths):
        lines_by_minimum.setdefault(max(minimum for minimum in minimums if minimum <= length), []).append(line)
    return dict(sorted(lines_by_minimum.items()))


def equal_groups(lengths: Sequence[int]) -> dict[int, list[int]]:
    """Return the lines of each tenth, numbered from 1 and sorted by length; lines of equal length keep their order."""
    order = np.argsort(lengths, kind="stable").tolist()
    ends = [len(order) * number // TENTHS for number in range(TENTHS + 1)]
    spans = enumerate(pairwise(ends), start=1)
    return {number: order[first:end] for number, (first, end) in spans if first < end}


def ngram_accuracy(
    test_set: str, hypotheses: Sequence[str], references: Sequence[str], longest: int = LONGEST_NGRAM
) -> Iterator[Row]:
    """Measure BLEU's n-gram precisions in per cent, for each n from 1 (Ding et al. 2020, figure 2b).

    Tokens are separated by spaces; an n is left out if no line has n tokens.
    """
    metric = sacrebleu.BLEU(tokenize="none", max_ngram_order=longest, smooth_method="none", force=True)
    score = metric.corpus_score(hypotheses, [references])
    for n, (matches, total) in enumerate(zip(score.counts, score.totals, strict=True), start=1):
        if total:
            yield row(test_set, "ngram_accuracy", round(100 * matches / total, 6), tag=str(n))


def bleu_by_iterations(
    analysed: AnalysisInput, text: Path, hypotheses: Sequence[str], references: Texts, *, tokenizer: str
) -> Iterator[Row]:
    """Translate with 1, 4 and 10 iterations of mask-predict (Ghazvininejad et al. 2019): `bleu_of_iterations`.

    `hypotheses` are the raw translations that were decoded with the settings' number of iterations; `text` is the
    run's folder for `TextChain`. Yield nothing for an autoregressive model.
    """
    model, corpus, settings = analysed.model, analysed.corpus, analysed.settings
    if not isinstance(model, MaskedLanguageModel):
        return
    text_chain = TextChain(text)
    source = corpus.side(analysed.test, corpus.source)
    iteration_counts = sorted({*ITERATION_COUNTS, settings.iterations})
    for iterations in tracked(iteration_counts, "iterations", sizes=iteration_counts):
        raw = hypotheses
        if iterations != settings.iterations:
            translations = translate_ids(model, source, replace(settings, iterations=iterations))
            units = (corpus.target_vocabulary.text(candidates[0].tokens) for candidates in translations)
            raw = list(text_chain.target_text(text_chain.target_tokens(units)))
        score = score_sacrebleu(raw, references, tokenizer=tokenizer)["score"]
        yield row(analysed.test, "bleu_of_iterations", score, tag=str(iterations))
