"""Noisy parallel decoding (Gu et al. 2018): a masked run proposes a candidate per length, and a teacher chooses one.

The teacher's log-probability of a candidate is averaged over its units and END, since the sum prefers short candidates.
"""

import dataclasses

import numpy as np

from context_nmt.corpus.batching import Sentences
from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.hypotheses import write_hypotheses
from context_nmt.corpus.text_chain import TextChain
from context_nmt.decoding.forced_scoring import score_pairs
from context_nmt.decoding.in_batches import join_processes_with_workers
from context_nmt.decoding.search import Hypothesis
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import UserError
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.rows import write_rows
from context_nmt.measures.scores import score_rows
from context_nmt.models.checkpoints import load_run
from context_nmt.models.devices import Processes, device_named
from context_nmt.models.kinds.autoregressive import TranslationModel
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.models.model import Model
from context_nmt.progress import tracked
from context_nmt.settings import read_plan
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.layout import RESCORED
from context_nmt.settings.run_layout import run_name


def rescore_run(experiment: EvaluationFolder, variant: str, seed: int, teacher_run: str, *, device: str) -> None:
    """Write the translations that the teacher's run chooses for every test set, and their scores.

    The files are named VARIANT.rescored-SEED. Processes that torchrun has started share the work, and the first one
    writes the files. Raise UserError for unknown names, missing files, and vocabularies that differ.
    """
    run = run_name(variant, seed)
    settings = read_plan(DecodingSettings, experiment.plan(variant, "decoding"))
    corpus, torch_device = BinarizedCorpus(experiment.binarized), device_named(device)
    model, teacher = (load_run(experiment.model(name), torch_device, corpus) for name in (run, teacher_run))
    results = {}
    with join_processes_with_workers(torch_device) as group:
        sizes = [len(corpus.side(test, corpus.source)) for test in corpus.tests]
        for test in tracked(corpus.tests, run, unit="sentences", sizes=sizes):
            sentences = corpus.side(test, corpus.source)
            results[test] = rescore_ids(model, teacher, sentences, settings, progress=f"{run} {test}", processes=group)
    if not group.is_first:
        return
    name, chain = run_name(variant + RESCORED, seed), TextChain(experiment.model(run) / "text")
    vocabulary = corpus.target_vocabulary
    units = {test: [vocabulary.text(best.tokens) for best in hypotheses] for test, hypotheses in results.items()}
    write_hypotheses(experiment.hypotheses(name), {test: chain.target_tokens(lines) for test, lines in units.items()})
    write_rows(experiment.scores(name), name, score_rows(experiment, name))


def rescore_ids(
    model: Model,
    teacher: Model,
    sentences: Sentences,
    settings: DecodingSettings,
    *,
    progress: str | None = None,
    processes: Processes | None = None,
) -> list[Hypothesis]:
    """Return the teacher's choice for every sentence; a tie goes to the candidate that the model ranks higher.

    Raise UserError unless the model is masked and the teacher autoregressive, and for sentences or candidates that are
    too long for one of them.
    """
    if not isinstance(model, MaskedLanguageModel):
        raise UserError("the model is autoregressive; only a masked model has one candidate per length to choose from")
    if not isinstance(teacher, TranslationModel):
        raise UserError("the teacher is a masked model; only an autoregressive one can score a translation")
    all_lengths = dataclasses.replace(settings, n_best=settings.length_beam)
    candidates = translate_ids(model, sentences, all_lengths, progress=progress, processes=processes)
    numbers = [number for number, hypotheses in enumerate(candidates) for _ in hypotheses]
    translations = [hypothesis.tokens for hypotheses in candidates for hypothesis in hypotheses]
    sums = score_pairs(
        teacher,
        [sentences[number] for number in numbers],
        [np.array(tokens, dtype=np.int64) for tokens in translations],
        progress=progress and f"{progress}, teacher",
        processes=processes,
    )
    rescored: list[list[Hypothesis]] = [[] for _ in candidates]
    for number, tokens, total in zip(numbers, translations, sums, strict=True):
        rescored[number].append(Hypothesis(tokens, total, total / (len(tokens) + 1)))
    return [max(hypotheses, key=lambda hypothesis: hypothesis.score) for hypotheses in rescored]
