"""The discourse scores of one run: of its translations of test sets whose documents are known."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from context_nmt.corpus.documents import read_documents
from context_nmt.files import read_parallel
from context_nmt.measures.bleu import Score
from context_nmt.measures.discourse.aligning import NAME, WordAligner
from context_nmt.measures.discourse.alignments import Alignment
from context_nmt.measures.discourse.coherence import Coherence
from context_nmt.measures.discourse.cohesion import Cohesion
from context_nmt.measures.discourse.content_words import ContentWords
from context_nmt.measures.discourse.word_accuracy import count_words
from context_nmt.measures.discourse.wordnet import find_wordnet
from context_nmt.measures.discourse.words import Words, nouns_among, usual_pronouns
from context_nmt.measures.evaluated import Evaluated
from context_nmt.measures.parts_of_speech import find_tags
from context_nmt.measures.rows import HUMAN, Row, row
from context_nmt.measures.scores import read_test

if TYPE_CHECKING:  # NLTK and scikit-learn take two seconds, which a corpus without documents does not need
    from context_nmt.measures.discourse.aligning import WordAligner
    from context_nmt.measures.discourse.coherence import Coherence
    from context_nmt.measures.discourse.cohesion import Cohesion
    from context_nmt.measures.discourse.content_words import ContentWords

PAIRS = 50_000  # training pairs that the aligner learns from, at most


@dataclass(frozen=True)
class _Test:
    """One test set in tokens of their original case."""

    name: str
    sources: list[str]
    references: list[str]
    documents: list[range]


def _read_test(experiment: Evaluated, name: str) -> _Test | None:
    corpus, tokens = experiment.settings.corpus, experiment.tokenized
    sources, references = read_parallel(
        tokens / f"{name}.{corpus.source}.cased", tokens / f"{name}.{corpus.target}.cased"
    )
    documents = read_documents(tokens, name, len(references))
    return None if documents is None else _Test(name, sources, references, documents)


@dataclass(frozen=True)
class DocumentScorer:
    """Scores runs on test sets with documents; learns from the training text what it needs, once for all runs."""

    experiment: Evaluated

    def rows(self, run: str) -> Iterator[Row]:
        """Yield all scores of a run; those that cannot be computed are left out.

        Cohesion and coherence are also those of the human translation, the first reference. Raises UserError for
        missing files and line counts that differ.
        """
        for test in self._tests:
            hypotheses, _ = read_test(self.experiment, run, test.name, tokenized=True)
            words = {"apt_pronouns": usual_pronouns(test.references, self._target), "apt_nouns": self._nouns(test)}
            for name, chosen in words.items():
                if score := self._accuracy(test, hypotheses, chosen):
                    yield row(test.name, name, score["score"], signature=score["signature"])
                    for case, count in score["counts"].items():
                        yield row(test.name, f"{name}_words", count, tag=case)
            for name, scorer in (("cohesion", self._cohesion), ("coherence", self._coherence)):
                for of, sentences in (("", hypotheses), (HUMAN, test.references)):
                    if score := scorer.score(sentences, test.documents):
                        yield row(test.name, name, score["score"], signature=score["signature"], of=of)

    def _accuracy(self, test: _Test, hypotheses: list[str], words: Words | None) -> Score | None:
        if words is None:
            return None

        links = [self._links(test.sources, targets) for targets in (test.references, hypotheses)]
        return count_words(words, test.references, hypotheses, *links).score(words.name, NAME)

    def _links(self, sources: Sequence[str], targets: Sequence[str]) -> list[Alignment]:
        """Align lines; each pair once, whatever is counted with it."""
        return [self._align(*pair) for pair in zip(sources, targets, strict=True)]

    @cached_property
    def _align(self) -> Callable[[str, str], Alignment]:
        return cache(self._aligner.align)

    def _nouns(self, test: _Test) -> Words | None:
        return nouns_among(find_tags(self.experiment, test.name, self._target), self._target)

    @cached_property
    def _tests(self) -> list[_Test]:
        names = self.experiment.settings.corpus.tests
        return [test for name in names if (test := _read_test(self.experiment, name))]

    @property
    def _target(self) -> str:
        return self.experiment.settings.corpus.target

    @cached_property
    def _training(self) -> tuple[list[str], list[str]]:
        corpus, tokens = self.experiment.settings.corpus, self.experiment.tokenized
        names = (f"{corpus.train}.{language}" for language in (corpus.source, corpus.target))
        sources, targets = read_parallel(*(tokens / name for name in names))
        return sources, targets

    @cached_property
    def _aligner(self) -> "WordAligner":
        """Of training pairs, evenly spread, and the references, so that their words are known."""
        from context_nmt.measures.discourse.aligning import WordAligner

        sources, targets = self._training
        chosen = slice(None, None, 1 + (len(sources) - 1) // PAIRS)
        return WordAligner(
            [*sources[chosen], *(line for test in self._tests for line in test.sources)],
            [*targets[chosen], *(line for test in self._tests for line in test.references)],
        )

    @cached_property
    def _words(self) -> "ContentWords":
        from context_nmt.measures.discourse.content_words import ContentWords

        return ContentWords(self._target)

    @cached_property
    def _cohesion(self) -> "Cohesion":
        from context_nmt.measures.discourse.cohesion import Cohesion

        return Cohesion(self._words, find_wordnet(self._target))

    @cached_property
    def _coherence(self) -> "Coherence":
        from context_nmt.measures.discourse.coherence import Coherence

        corpus, (_, targets) = self.experiment.settings.corpus, self._training
        documents = read_documents(self.experiment.tokenized, corpus.train, len(targets))
        return Coherence(self._words, f"{corpus.name}-{corpus.train}", targets, documents)
