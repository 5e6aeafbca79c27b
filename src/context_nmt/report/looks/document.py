"""Translates one document of a test set and shows where its words looked."""

from pathlib import Path

import numpy as np

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.decoding.running import read_settings
from context_nmt.decoding.translating import translate_ids
from context_nmt.decoding.workers import usable
from context_nmt.files import UserError, write_lines
from context_nmt.measures.attention.earlier_sentences import looks, modules_that_show, words_of
from context_nmt.models.checkpoints import load_run
from context_nmt.models.devices import device_named
from context_nmt.models.kinds.document import DocumentModel
from context_nmt.report.looks.page import Sentence, page
from context_nmt.settings.layout import Layout, run_name


def show_document(
    experiment: Layout,
    variant: str,
    seed: int,
    *,
    test: str,
    document: int,
    most: int,
    output: Path,
    device: str,
) -> None:
    """Write the page of a document, counted from 1, or of its first `most` sentences; raises UserError."""
    corpus, run = BinarizedCorpus(experiment.binarized), run_name(variant, seed)
    numbers = list(_document(corpus, test, document))[:most]
    settings, where = read_settings(experiment.plan(variant, "decoding")), device_named(device)
    model = load_run(experiment.model(run), where, corpus)
    modules_that_show(model)
    assert isinstance(model, DocumentModel)
    sources, references = ([side[number] for number in numbers] for side in corpus.parallel(test))
    found = translate_ids(
        model,
        sources,
        settings,
        documents=[range(len(numbers))],
        references=references if settings.reference_context else None,
        device=where,
        workers=usable(where),
    )
    translations = [np.array(one[0].tokens, dtype=np.int64) for one in found]
    read = references if settings.reference_context else translations
    units = {"source": corpus.source_vocabulary, "target": corpus.target_vocabulary}
    sentences = [
        Sentence(
            line=number + 1,
            source=words_of(units["source"], source),
            translation=words_of(units["target"], translation),
            reference=words_of(units["target"], reference),
            seen_target=words_of(units["target"], seen),
            looks=of_sentence,
        )
        for number, source, translation, reference, seen, of_sentence in zip(
            numbers,
            sources,
            translations,
            references,
            read,
            looks(model, sources, translations, read, units),
            strict=True,
        )
    ]
    title = f"{run}, {test}, document {document}"
    languages = {"source": corpus.source, "target": corpus.target}
    write_lines(output, page(title, sentences, languages, oracle=settings.reference_context))


def _document(corpus: BinarizedCorpus, test: str, number: int) -> range:
    if test not in corpus.tests:
        raise UserError(f"--test is {test}; the test sets are {', '.join(corpus.tests)} (corpus.tests)")
    documents = corpus.documents(test)
    if documents is None:
        raise UserError(f"--test is {test}, which has no documents: data/CORPUS/{test}.documents is missing")
    if not 1 <= number <= len(documents):
        raise UserError(f"--document is {number}; {test} has the documents 1 to {len(documents)}")
    return documents[number - 1]
