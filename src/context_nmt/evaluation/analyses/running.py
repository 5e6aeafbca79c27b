"""The analyses of one run."""

from typing import Any

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.decoding.running import read_settings
from context_nmt.evaluation.analyses.locality import locality
from context_nmt.evaluation.analyses.ngrams import ngram_accuracy
from context_nmt.experiment import Experiment, run_name
from context_nmt.files import iterate_lines, write_json
from context_nmt.models.checkpoints import load_run
from context_nmt.models.devices import device_named


def analyse_run(experiment: Experiment, variant: str, seed: int, *, device: str) -> None:
    """Write what is read off a run and its translations of every test set; raises UserError for missing files."""
    corpus, run = BinarizedCorpus(experiment.binarized), run_name(variant, seed)
    model = load_run(experiment.model(run), device_named(device), corpus)
    settings = read_settings(experiment.plan(variant, "decoding"))
    found: dict[str, Any] = {}
    for test in corpus.tests:
        hypotheses = iterate_lines(experiment.hypotheses(run) / f"{test}.tokenized.txt")
        references = iterate_lines(experiment.tokenized / f"{test}.{corpus.target}.cased")
        found[test] = {
            "locality": locality(model, corpus, test, settings),
            "ngrams": ngram_accuracy(hypotheses, references),
        }
    write_json(experiment.analyses(run), found)
