"""Translate and score the test sets with a masked run and a teacher that chooses among its candidates."""

from pathlib import Path
from tempfile import TemporaryDirectory

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.text_chain import write_tokens
from context_nmt.decoding.in_batches import usable
from context_nmt.decoding.rescoring import rescore_ids
from context_nmt.files import write_lines
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.rows import write_rows
from context_nmt.measures.scores import score_rows
from context_nmt.models.checkpoints import load_run
from context_nmt.models.devices import device_named, processes
from context_nmt.progress import tracked
from context_nmt.settings import read_plan
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.layout import rescored_name
from context_nmt.settings.run_layout import run_name


def rescore_run(experiment: EvaluationFolder, variant: str, seed: int, judge: str, *, device: str) -> None:
    """Write the translations that `judge`, the teacher's run, chooses for every test set, and their scores.

    The names of their files are those of `rescored_name`. If torchrun has started several processes, they share the
    work, and the first one writes the files. Raise UserError for unknown names, missing files, vocabularies that
    differ, and models of the wrong kind.
    """
    run = run_name(variant, seed)
    settings = read_plan(DecodingSettings, experiment.plan(variant, "decoding"))
    corpus, torch_device = BinarizedCorpus(experiment.binarized), device_named(device)
    model, teacher = (load_run(experiment.model(name), torch_device, corpus) for name in (run, judge))
    results = {}
    with processes(torch_device) as group:
        sizes = [len(corpus.side(test, corpus.source)) for test in corpus.tests]
        for test in tracked(corpus.tests, run, unit="sentences", sizes=sizes):
            results[test] = rescore_ids(
                model,
                teacher,
                corpus.side(test, corpus.source),
                settings,
                device=torch_device,
                progress=f"{run} {test}",
                workers=usable(torch_device),
                processes=group,
            )
    if not group.first:
        return
    name, vocabulary = rescored_name(run), corpus.target_vocabulary
    with TemporaryDirectory() as decoded:
        for test, translations in results.items():
            write_lines(
                Path(decoded) / f"{test}.subwords.txt",
                (vocabulary.text(translation.tokens) for translation in translations),
            )
        write_tokens(experiment.model(run) / "text", corpus.folder, Path(decoded), experiment.hypotheses(name))
    write_rows(experiment.scores(name), name, score_rows(experiment, name))
