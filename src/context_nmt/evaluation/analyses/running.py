"""The analyses of one run."""

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.decoding.running import read_settings
from context_nmt.decoding.workers import gathered
from context_nmt.evaluation.analyses.locality import locality
from context_nmt.evaluation.analyses.ngrams import ngram_accuracy
from context_nmt.evaluation.parallel_text import read_parallel
from context_nmt.experiment import Experiment, run_name
from context_nmt.files import write_json
from context_nmt.models.checkpoints import load_run
from context_nmt.models.devices import device_named
from context_nmt.models.processes import processes


def analyse_run(experiment: Experiment, variant: str, seed: int, *, device: str) -> None:
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
            hypotheses, references = read_parallel(
                experiment.hypotheses(run) / f"{test}.tokenized.txt",
                experiment.tokenized / f"{test}.{corpus.target}.cased",
            )
            accuracies = {f"ngram_accuracy_{n}": value for n, value in ngram_accuracy(hypotheses, references).items()}
            found[test] = locality(model, corpus, test, settings) | accuracies
        found = gathered(found, group)
    if group.first:
        write_json(experiment.analyses(run), found)
