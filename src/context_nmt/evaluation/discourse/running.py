"""The discourse scores of one run: of its translations of test sets whose documents are known."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from context_nmt.corpus.documents import read_documents
from context_nmt.evaluation.discourse.aligning import NAME, WordAligner
from context_nmt.evaluation.discourse.alignments import Alignment
from context_nmt.evaluation.discourse.coherence import Coherence
from context_nmt.evaluation.discourse.cohesion import Cohesion
from context_nmt.evaluation.discourse.content_words import ContentWords
from context_nmt.evaluation.discourse.word_accuracy import count_words
from context_nmt.evaluation.discourse.wordnet import find_wordnet
from context_nmt.evaluation.discourse.words import Words, nouns_among, usual_pronouns
from context_nmt.evaluation.evaluated import Evaluated
from context_nmt.evaluation.parallel_text import read_parallel
from context_nmt.evaluation.scores import Score
from context_nmt.evaluation.tags import find_tags
from context_nmt.files import write_json
from context_nmt.layout import run_name

PAIRS = 50_000  # training pairs that the aligner learns from, at most


def score_discourse(experiment: Evaluated, variant: str) -> None:
    """Write metrics/discourse/VARIANT/SEED.json of every seed, as `score_documents` does."""
    for seed in experiment.read_pairs(variant)[0]:
        score_documents(experiment, run_name(variant, seed))


def score_documents(experiment: Evaluated, run: str) -> None:
    """Write {test_set: {metric: {"score", "signature"}}} for the test sets with documents, {} if there are none.

    Cohesion and coherence have the human "reference", too: the score of the first reference. Raises UserError for
    missing files and line counts that differ.
    """
    found = [text for test in experiment.settings.corpus.tests if (text := _read_test(experiment, run, test))]
    write_json(experiment.discourse(run), _Scorer(experiment, found).scores() if found else {})


@dataclass(frozen=True)
class _Test:
    """One test set in tokens of their original case."""

    name: str
    sources: list[str]
    references: list[str]
    hypotheses: list[str]
    documents: list[range]


def _read_test(experiment: Evaluated, run: str, name: str) -> _Test | None:
    corpus, tokens = experiment.settings.corpus, experiment.tokenized
    sources, references, hypotheses = read_parallel(
        tokens / f"{name}.{corpus.source}.cased",
        tokens / f"{name}.{corpus.target}.cased",
        experiment.hypotheses(run) / f"{name}.tokenized.txt",
    )
    documents = read_documents(tokens, name, len(references))
    return None if documents is None else _Test(name, sources, references, hypotheses, documents)


@dataclass(frozen=True)
class _Scorer:
    """Learns from the training text what the scores need."""

    experiment: Evaluated
    tests: Sequence[_Test]

    def scores(self) -> dict[str, dict[str, Score]]:
        """All scores by test set; those that cannot be computed are left out."""
        return {test.name: {name: score for name, score in self._of(test).items() if score} for test in self.tests}

    def _of(self, test: _Test) -> dict[str, Score | None]:
        language = self.experiment.settings.corpus.target
        return {
            "apt_pronouns": self._accuracy(test, usual_pronouns(test.references, language)),
            "apt_nouns": self._accuracy(test, self._nouns(test)),
            "cohesion": _beside_human(self._cohesion.score, test),
            "coherence": _beside_human(self._coherence.score, test),
        }

    def _accuracy(self, test: _Test, words: Words | None) -> Score | None:
        if words is None:
            return None
        links = [self._links(test.sources, targets) for targets in (test.references, test.hypotheses)]
        return count_words(words, test.references, test.hypotheses, *links).score(words.name, NAME)

    def _links(self, sources: Sequence[str], targets: Sequence[str]) -> list[Alignment]:
        """Align lines; each pair once, whatever is counted with it."""
        return [self._align(*pair) for pair in zip(sources, targets, strict=True)]

    @cached_property
    def _align(self) -> Callable[[str, str], Alignment]:
        return cache(self._aligner.align)

    def _nouns(self, test: _Test) -> Words | None:
        language = self.experiment.settings.corpus.target
        return nouns_among(find_tags(self.experiment, test.name, language), language)

    @cached_property
    def _training(self) -> tuple[list[str], list[str]]:
        corpus, tokens = self.experiment.settings.corpus, self.experiment.tokenized
        names = (f"{corpus.train}.{language}" for language in (corpus.source, corpus.target))
        sources, targets = read_parallel(*(tokens / name for name in names))
        return sources, targets

    @cached_property
    def _aligner(self) -> WordAligner:
        """Of training pairs, evenly spread, and the references, so that their words are known."""
        sources, targets = self._training
        chosen = slice(None, None, 1 + (len(sources) - 1) // PAIRS)
        return WordAligner(
            [*sources[chosen], *(line for test in self.tests for line in test.sources)],
            [*targets[chosen], *(line for test in self.tests for line in test.references)],
        )

    @cached_property
    def _words(self) -> ContentWords:
        return ContentWords(self.experiment.settings.corpus.target)

    @cached_property
    def _cohesion(self) -> Cohesion:
        return Cohesion(self._words, find_wordnet(self.experiment.settings.corpus.target))

    @cached_property
    def _coherence(self) -> Coherence:
        corpus, (_, targets) = self.experiment.settings.corpus, self._training
        documents = read_documents(self.experiment.tokenized, corpus.train, len(targets))
        return Coherence(self._words, f"{corpus.name}-{corpus.train}", targets, documents)


def _beside_human(scorer: Callable[[Sequence[str], Sequence[range]], Score | None], test: _Test) -> Score | None:
    score, human = (scorer(sentences, test.documents) for sentences in (test.hypotheses, test.references))
    return score and score | {"reference": human["score"] if human else None}
