"""The sizes of an experiment's text, which belong to the text and not to a system."""

from collections.abc import Iterator

from context_nmt.corpus.documents import read_documents
from context_nmt.files import iterate_lines
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.rows import TEXT, Row, row
from context_nmt.measures.scores import as_tokens


def size_rows(experiment: EvaluationFolder) -> Iterator[Row]:
    """Yield the numbers of sentences, documents and words of the training set, the validation set and all test sets.

    Words are the Moses tokens of a language, its tag. Training pairs that cleaning leaves out do not count. Raise
    UserError for missing files.
    """
    corpus, folder = experiment.settings.corpus, experiment.tokenized
    for split in dict.fromkeys((corpus.train, corpus.validation, *corpus.tests)):
        sentences = 0
        for language in (corpus.source, corpus.target):
            lines = iterate_lines(folder / f"{split}.{language}")
            lengths = [len(line.split()) for line in as_tokens(experiment.settings, language, lines)]
            sentences = len(lengths)
            yield row(split, "words_of_text", sum(lengths), tag=language, subject=TEXT)
        yield row(split, "sentences_of_text", sentences, subject=TEXT)
        if documents := read_documents(folder, split, sentences):
            yield row(split, "documents_of_text", len(documents), subject=TEXT)
