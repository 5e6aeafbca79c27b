"""Translate the test sets of an experiment with a trained run."""

import json
from collections.abc import Iterator

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.hypotheses import write_hypotheses
from context_nmt.corpus.vocabulary import Vocabulary
from context_nmt.decoding.in_batches import join_processes_with_workers
from context_nmt.decoding.search import Hypothesis
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import UserError, replacing_folder, write_lines
from context_nmt.models.checkpoints import load_run
from context_nmt.models.devices import device_named
from context_nmt.progress import tracked
from context_nmt.settings import read_plan
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.run_layout import RunLayout, run_name


def decode_run(experiment: RunLayout, variant: str, seed: int, *, device: str) -> None:
    """Translate every test set of the binarized corpus with a run; write units, and tokens in the zip of hypotheses.

    If torchrun started several processes, they share the work, and the first process writes.
    """
    try:
        from context_nmt.corpus.text_chain import TextChain  # here, because translate_ids needs no text tools
    except ModuleNotFoundError as error:
        raise UserError(f"the package {error.name} is missing; decoding needs it to turn units into text") from None
    settings = read_plan(DecodingSettings, experiment.plan(variant, "decoding"))
    corpus = BinarizedCorpus(experiment.binarized)
    run = run_name(variant, seed)
    model = load_run(experiment.model(run), device_named(device), corpus)
    chain = TextChain(experiment.model(run) / "text")
    results = {}
    with join_processes_with_workers(model.device) as group:
        sizes = [len(corpus.side(test, corpus.source)) for test in corpus.tests]
        for test in tracked(corpus.tests, run, unit="sentences", sizes=sizes):
            results[test] = translate_ids(
                model,
                corpus.side(test, corpus.source),
                settings,
                documents=corpus.documents(test),
                references=corpus.side(test, corpus.target) if settings.reference_context else None,
                progress=f"{run} {test}",
                processes=group,
            )
    if not group.is_first:
        return
    vocabulary = corpus.target_vocabulary
    units = {test: [vocabulary.text(best.tokens) for best, *_ in sentences] for test, sentences in results.items()}
    with replacing_folder(experiment.decoded(run)) as folder:
        for test, sentences in results.items():
            write_lines(folder / f"{test}.subwords.txt", units[test])
            if settings.n_best > 1:
                write_lines(folder / f"{test}.nbest.jsonl", n_best_lines(sentences, vocabulary))
    write_hypotheses(experiment.hypotheses(run), {test: chain.target_tokens(lines) for test, lines in units.items()})


def n_best_lines(results: list[list[Hypothesis]], units: Vocabulary) -> Iterator[str]:
    """Yield one JSON object per hypothesis; input lines and ranks count from 1."""
    for line, hypotheses in enumerate(results, start=1):
        for rank, hypothesis in enumerate(hypotheses, start=1):
            values = {"line": line, "rank": rank, "units": units.text(hypothesis.tokens)}
            scores = {"log_probability": hypothesis.log_probability, "score": hypothesis.score}
            yield json.dumps(values | scores, ensure_ascii=False)
