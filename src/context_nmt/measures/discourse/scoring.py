"""Discourse scores of a run, for its translations of test sets with documents."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from context_nmt.corpus.documents import read_documents
from context_nmt.files import read_parallel
from context_nmt.measures.discourse.aligning import NAME, WordAligner
from context_nmt.measures.discourse.coherence import Coherence
from context_nmt.measures.discourse.cohesion import Cohesion, ContentWords, find_wordnet
from context_nmt.measures.discourse.word_accuracy import Words, nouns_among, usual_pronouns, word_accuracy
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.parts_of_speech import find_tags
from context_nmt.measures.rows import HUMAN, Row, row
from context_nmt.measures.scores import as_tokens, read_test

PAIRS = 50_000  # maximum number of training pairs that the aligner learns from


@dataclass(frozen=True)
class _Test:
    """One test set in tokens of their original case."""

    name: str
    sources: list[str]
    references: list[str]
    documents: list[range]
    words: dict[str, Words | None]  # words to measure the accuracy of, by metric


@dataclass(frozen=True)
class DocumentScorer:
    """Scorer of runs on test sets with documents; it learns from the training text once for all runs."""

    experiment: EvaluationFolder

    def rows(self, run: str) -> Iterator[Row]:
        """Yield all scores of a run, leaving out those that cannot be computed.

        All are also measured for the human translation, the first reference, whose words are all accurate. Raise
        UserError for missing files and unequal line counts.
        """
        for test in self._tests:
            hypotheses, _ = read_test(self.experiment, run, test.name, tokenized=True)
            for metric, words in test.words.items():
                if words is None:
                    continue
                to_reference = list(map(self._aligner.align, test.sources, test.references))
                for subject, text in (("", hypotheses), (HUMAN, test.references)):
                    alignments = to_reference, list(map(self._aligner.align, test.sources, text))
                    score = word_accuracy(words, test.references, text, *alignments, alignment=NAME)
                    if score is None:
                        continue
                    yield row(test.name, metric, score["score"], signature=score["signature"], subject=subject)
                    if not subject:
                        for case, count in score["counts"].items():
                            yield row(test.name, f"{metric}_words", count, tag=case)
            for metric, scorer in self._of_documents.items():
                for subject, text in (("", hypotheses), (HUMAN, test.references)):
                    if score := scorer.score(text, test.documents):
                        yield row(test.name, metric, score["score"], signature=score["signature"], subject=subject)

    @cached_property
    def _tests(self) -> list[_Test]:
        corpus, tokens = self.experiment.settings.corpus, self.experiment.tokenized
        tests = []
        for name in corpus.tests:
            paths = (tokens / f"{name}.{language}.cased" for language in (corpus.source, corpus.target))
            sources, references = read_parallel(*paths)
            if documents := read_documents(tokens, name, len(references)):
                nouns = nouns_among(find_tags(self.experiment, name, corpus.target), corpus.target)
                words = {"apt_pronouns": usual_pronouns(references, corpus.target), "apt_nouns": nouns}
                tests.append(_Test(name, sources, references, documents, words))
        return tests

    @cached_property
    def _training(self) -> tuple[list[str], list[str]]:
        settings, folder = self.experiment.settings, self.experiment.tokenized
        languages = settings.corpus.source, settings.corpus.target
        sides = read_parallel(*(folder / f"{settings.corpus.train}.{language}" for language in languages))
        sources, targets = (
            list(as_tokens(settings, language, lines)) for language, lines in zip(languages, sides, strict=True)
        )
        return sources, targets

    @cached_property
    def _aligner(self) -> WordAligner:
        """Learn from evenly spaced training pairs and from the references, so that their words are known."""
        sources, targets = self._training
        chosen = slice(None, None, 1 + (len(sources) - 1) // PAIRS)
        return WordAligner(
            [*sources[chosen], *(line for test in self._tests for line in test.sources)],
            [*targets[chosen], *(line for test in self._tests for line in test.references)],
        )

    @cached_property
    def _of_documents(self) -> dict[str, Cohesion | Coherence]:
        corpus, (_, targets) = self.experiment.settings.corpus, self._training
        words = ContentWords(corpus.target)
        documents = read_documents(self.experiment.tokenized, corpus.train, len(targets))
        return {
            "cohesion": Cohesion(words, find_wordnet(corpus.target)),
            "coherence": Coherence(words, f"{corpus.name}-{corpus.train}", targets, documents),
        }
