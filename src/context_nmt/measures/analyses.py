"""The analyses of one run."""

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.decoding.running import read_settings
from context_nmt.decoding.workers import gathered
from context_nmt.files import read_lines, read_parallel, write_json
from context_nmt.measures.attention.divergence import divergence
from context_nmt.measures.attention.gates import Tagged, gates
from context_nmt.measures.attention.locality import locality
from context_nmt.measures.attention.tagged_words import tagged_words
from context_nmt.measures.bleu_by_iterations import bleu_by_iterations
from context_nmt.measures.bleu_by_length import bleu_by_length
from context_nmt.measures.evaluated import Evaluated
from context_nmt.measures.ngram_accuracy import ngram_accuracy
from context_nmt.measures.parts_of_speech import find_tags
from context_nmt.measures.scores import read_test
from context_nmt.models.checkpoints import load_run
from context_nmt.models.devices import device_named
from context_nmt.models.model import Model
from context_nmt.models.processes import processes
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.layout import run_name


def analyse_run(experiment: Evaluated, variant: str, seed: int, *, device: str) -> None:
    """Write {test_set: {measure: value}} of one run: what is read off the model, and off its translations.

    Where torchrun started several processes, they share the test sets and the first writes. Raises UserError for
    missing files, line counts that differ and sentences longer than the model's learned positions.
    """
    corpus, run = BinarizedCorpus(experiment.binarized), run_name(variant, seed)
    where = device_named(device)
    model = load_run(experiment.model(run), where, corpus)
    settings = read_settings(experiment.plan(variant, "decoding"))
    found = {}
    with processes(where) as group:
        for test in group.share(list(corpus.tests)):
            hypotheses, references = read_test(experiment, run, test, tokenized=False)
            found[test] = (
                _of_model(experiment, corpus, model, test, settings)
                | _of_output(experiment, corpus, run, test)
                | bleu_by_iterations(
                    model,
                    corpus,
                    test,
                    settings,
                    text=experiment.model(run) / "text",
                    hypotheses=hypotheses,
                    references=references,
                )
            )
        found = gathered(found, group)
    if group.first:
        write_json(experiment.analyses(run), found)


def _of_model(
    experiment: Evaluated, corpus: BinarizedCorpus, model: Model, test: str, settings: DecodingSettings
) -> dict[str, float]:
    tagged = {
        side: words
        for side, language in (("source", corpus.source), ("target", corpus.target))
        if (words := _tagged(experiment, test, language)) is not None
    }
    return (
        locality(model, corpus, test, settings)
        | divergence(model, corpus, test, settings)
        | gates(model, corpus, test, settings, tagged)
    )


def _tagged(experiment: Evaluated, test: str, language: str) -> Tagged | None:
    tags = find_tags(experiment, test, language)
    if tags is None:
        return None
    lines = read_lines(experiment.subwords / f"{test}.{language}")
    return [tagged_words(line.split(), own) for line, own in zip(lines, tags.universal(), strict=True)]


def _of_output(experiment: Evaluated, corpus: BinarizedCorpus, run: str, test: str) -> dict[str, float]:
    hypotheses, references = read_test(experiment, run, test, tokenized=True)
    accuracies = {f"ngram_accuracy_{n}": value for n, value in ngram_accuracy(hypotheses, references[0]).items()}
    raw, raw_references = read_test(experiment, run, test, tokenized=False)
    (sources,) = read_parallel(experiment.tokenized / f"{test}.{corpus.source}")
    units = corpus.side(test, corpus.source).lengths.tolist()
    return accuracies | bleu_by_length(raw, raw_references, units, [len(line.split()) for line in sources])
