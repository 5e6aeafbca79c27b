"""Print the source words that a target word looks at most, by run."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.files import UserError
from context_nmt.measures.attention.attended_words import attended_words
from context_nmt.measures.attention.recording import Analysed
from context_nmt.models.checkpoints import load_run, weights_of_run
from context_nmt.models.devices import device_named
from context_nmt.report.cells import DASH
from context_nmt.settings import read_settings
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.layout import Layout

COLUMNS = 3  # as many words as the paper's table has


def print_attended_words(
    experiment: Layout, runs: Sequence[str], *, test: str, word: str, sentence: int | None, device: str
) -> None:
    """Print a row per run, named VARIANT-SEED, for a word of one sentence of a test set.

    The sentence is numbered from 1; the default is the first whose reference has the word. Raise UserError for unknown
    runs, test sets, sentences and words, and for a word that neither the reference nor a translation has.
    """
    for run in runs:
        weights_of_run(experiment.model(run))  # first: without a run, the other files are missing, too
    corpus = BinarizedCorpus(experiment.binarized)
    number = _number(corpus, test, word, sentence)
    sources, references = corpus.parallel(test)
    reference = corpus.target_vocabulary.words(references[number].tolist())
    lines = {"source": corpus.source_vocabulary.words(sources[number].tolist()), "reference": reference}
    has_word = word.lower() in map(str.lower, reference)
    without_context = []
    table = Table(title=f"{test}, sentence {number + 1}: {word}", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("run", no_wrap=True)
    for rank in range(1, COLUMNS + 1):
        table.add_column(f"source word {rank}")
    for run in runs:
        variant = run.rpartition("-")[0]
        settings = read_settings(DecodingSettings, experiment.with_plan_of(variant).plan(variant, "decoding"))
        model = load_run(experiment.model(run), device_named(device), corpus)
        attended = attended_words(Analysed(model, corpus, test, settings), number, word)
        cells = [f"{text} {weight:.2f}" for text, weight in attended.words[:COLUMNS]]
        table.add_row(run, *cells, *[DASH] * (COLUMNS - len(cells)))
        has_word = has_word or bool(cells)
        if attended.translation != reference:
            lines[run] = attended.translation
        if model.previous_sources:
            without_context.append(run)
    if not has_word:
        raise UserError(
            f"--word is {word}, which sentence {number + 1} of {test} has neither in its reference"
            f" ({' '.join(reference)}) nor in a translation"
        )
    console = Console(markup=False, highlight=False)
    console.print(table)
    for name, words in lines.items():
        console.print(f"{name}: {' '.join(words)}", soft_wrap=True)
    if without_context:
        console.print(f"analysed without the previous sentences: {', '.join(without_context)}", soft_wrap=True)


def _number(corpus: BinarizedCorpus, test: str, word: str, sentence: int | None) -> int:
    """Return the number of the sentence, from 0."""
    if not word:
        raise UserError("--word is empty; give a word of the translation")
    if test not in corpus.tests:
        raise UserError(f"--test is {test}; the test sets are {', '.join(corpus.tests)} (corpus.tests)")
    _, references = corpus.parallel(test)
    if sentence is not None:
        if not 1 <= sentence <= len(references):
            raise UserError(f"--sentence is {sentence}; {test} has the sentences 1 to {len(references)}")
        return sentence - 1
    for number in range(len(references)):
        words = corpus.target_vocabulary.words(references[number].tolist())
        if word.lower() in (one.lower() for one in words):
            return number
    raise UserError(f"--word is {word}, which no reference of {test} has; choose another, or a --sentence")
