"""Analyses of one run's model and translations."""

from collections.abc import Iterator
from itertools import chain

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.decoding.in_batches import gathered
from context_nmt.files import read_lines, read_parallel
from context_nmt.measures.attention.divergence import divergence
from context_nmt.measures.attention.gates import gates
from context_nmt.measures.attention.locality import locality
from context_nmt.measures.attention.recording import Analysed
from context_nmt.measures.bleu_breakdowns import (
    bleu_by_iterations,
    bleu_by_length,
    ngram_accuracy,
    tokenized_bleu_by_length,
)
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.parts_of_speech import find_tags, tagged_words
from context_nmt.measures.rows import Row, write_rows
from context_nmt.measures.scores import read_test
from context_nmt.models.checkpoints import load_run
from context_nmt.models.devices import device_named, processes
from context_nmt.progress import tracked
from context_nmt.settings import read_plan
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.run_layout import run_name


def analyse_run(experiment: EvaluationFolder, variant: str, seed: int, *, device: str) -> None:
    """Write the analyses of a run's model and translations for each test set.

    If torchrun has started several processes, they share the test sets, and the first one writes the file. Raise
    UserError for missing files, unequal line counts, and sentences longer than the model's learned positions.
    """
    corpus, run = BinarizedCorpus(experiment.binarized), run_name(variant, seed)
    torch_device = device_named(device)
    model = load_run(experiment.model(run), torch_device, corpus)
    settings = read_plan(DecodingSettings, experiment.plan(variant, "decoding"))
    with processes(torch_device) as group:
        tests = group.share(list(corpus.tests))
        rows = {
            test: list(_rows(experiment, run, Analysed(model, corpus, test, settings)))
            for test in tracked(tests, run, len(tests), "test sets")
        }
        gathered_rows = gathered(rows, group)
    if group.first:
        write_rows(experiment.analyses(run), run, (row for test in corpus.tests for row in gathered_rows[test]))


def _rows(experiment: EvaluationFolder, run: str, analysed: Analysed) -> Iterator[Row]:
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
    translated, references = read_test(experiment, run, test, tokenized=True)
    hypotheses, raw_references = read_test(experiment, run, test, tokenized=False)
    (sources,) = read_parallel(experiment.tokenized / f"{test}.{corpus.source}.cased")
    unit_counts = corpus.side(test, corpus.source).lengths.tolist()
    words = [len(line.split()) for line in sources]
    tokenizer = experiment.settings.chosen_tokenizer
    analyses = (
        locality(analysed),
        divergence(analysed),
        gates(analysed, tagged),
        ngram_accuracy(test, translated, references[0]),
        bleu_by_length(test, hypotheses, raw_references, unit_counts, words, tokenizer=tokenizer),
        tokenized_bleu_by_length(test, translated, references, words),
        bleu_by_iterations(analysed, experiment.model(run) / "text", hypotheses, raw_references, tokenizer=tokenizer),
    )
    yield from chain.from_iterable(tracked(analyses, test, len(analyses), "analyses"))
