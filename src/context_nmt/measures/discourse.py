"""Scores of documents: accuracy of pronouns and nouns, lexical cohesion, and coherence of adjacent sentences.

Cohesion (Wong and Kit 2012) is the share of content words that repeat the stem of an earlier word of their document, or
are related to an earlier word in WordNet: as a synonym, a direct hypernym or hyponym, or through a common direct
hypernym. Without a WordNet, only repetition counts. A WordNet exists for English: as NLTK data, or in Debian's package
wordnet-base.

Coherence (Foltz et al. 1998) is the similarity of adjacent sentences in a space that is learnt from a training text by
latent semantic analysis (Deerwester et al. 1990): a singular value decomposition of the TF-IDF weights of content-word
stems in its documents, or in its sentences if it has no documents. The vector of a word is its row of the right
singular vectors times the singular values; the vector of a sentence is the sum of the vectors of its words.
"""

import io
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import nltk
import numpy as np
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.stem.snowball import SnowballStemmer
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.extmath import randomized_svd
from stop_words import LANGUAGE_MAPPING, get_stop_words

from context_nmt.corpus.documents import read_documents
from context_nmt.files import UserError, read_parallel
from context_nmt.measures.bleu import Score
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.parts_of_speech import find_tags
from context_nmt.measures.rows import HUMAN, Row, row
from context_nmt.measures.scores import read_scoring_inputs, to_tokens
from context_nmt.measures.word_accuracy import WordPositions, find_pronouns, nouns_by_tag, word_accuracy
from context_nmt.measures.word_alignment import ALIGNER_NAME, WordAligner
from context_nmt.settings.text import base_language

MAXIMUM_ALIGNER_PAIRS = 50_000  # maximum number of training pairs that the aligner learns from
MAXIMUM_DIMENSIONS = 300  # of the space of coherence; fewer if the training text has fewer documents or words
DEBIAN_WORDNET = Path("/usr/share/wordnet")
NLTK_RESOURCES = ("corpora/wordnet", "corpora/wordnet.zip/wordnet/")  # in NLTK's data


class ContentWords:
    """A filter of content words: lower-cased words that have a letter and are not in the language's stop list, if any.

    `name` names the stop list and the stemmer in signatures.
    """

    def __init__(self, language: str) -> None:
        language = base_language(language)
        language_name = LANGUAGE_MAPPING.get(language)  # such as "german"
        words = get_stop_words(language) if language_name else []
        # Moses splits "it's" into "it" and "'s"
        contraction_parts = [
            part for word in words if "'" in word for part in (word.partition("'")[0], "'" + word.partition("'")[2])
        ]
        self._stops = {*words, *contraction_parts}
        has_stemmer = language_name in SnowballStemmer.languages
        self._stem = lru_cache(maxsize=None)(SnowballStemmer(language_name).stem) if has_stemmer else str
        stop_list = f"stop-words-{version('stop-words')}-{language}" if language_name else "none"
        self.name = f"stop-words:{stop_list}|stems:{f'snowball-{language_name}' if has_stemmer else 'none'}"

    def extract(self, sentence: str) -> list[str]:
        """Return the content words of a sentence of space-separated tokens, in order."""
        words = (word for word in sentence.lower().split() if any(character.isalpha() for character in word))
        return [word for word in words if word not in self._stops]

    def stems(self, words: Sequence[str]) -> list[str]:
        """Return the stem of each word, or the word itself if its language has no stemmer."""
        return [self._stem(word) for word in words]


class WordNet:
    """A WordNet, read from a folder or from NLTK's data."""

    def __init__(self, root: Any) -> None:
        if isinstance(root, Path) and str(root) not in nltk.data.path:
            nltk.data.path.append(str(root))  # NLTK only opens files in these folders
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that other languages are missing
            self._reader = _WordNetReader(str(root) if isinstance(root, Path) else root, None)
        self.name = f"wordnet-{self._reader.get_version()}"  # for signatures
        self.concepts = lru_cache(maxsize=None)(self._concepts)

    def _concepts(self, word: str) -> frozenset[tuple[str, int]]:
        """Return all synsets of a word and their direct hypernyms.

        Two words share a concept if they are synonyms, if one is a direct hypernym of the other, or if they have a
        common direct hypernym.
        """
        synsets = self._reader.synsets(word)
        hypernyms = (hypernym for synset in synsets for hypernym in (*synset.hypernyms(), *synset.instance_hypernyms()))
        return frozenset((synset.pos(), synset.offset()) for synset in (*synsets, *hypernyms))


class _WordNetReader(WordNetCorpusReader):  # type: ignore[misc]
    """NLTK's reader, without the files that Debian's package lacks."""

    def open(self, file: str) -> Any:
        if file == "lexnames":  # the names of WordNet's source files, by number
            return io.StringIO("".join(f"{number:02} file{number} 0\n" for number in range(45)))
        with self._root.join(file).open() as stream:  # read into memory, one character per byte: NLTK closes no file
            return io.StringIO(stream.read().decode("latin-1"))

    def map_wn(self, version: str = "wordnet") -> None:
        """Skip the mapping to other versions of WordNet, whose files Debian lacks."""


def find_wordnet(language: str) -> WordNet | None:
    """Open the WordNet of a language; return None if it is not installed."""
    if base_language(language) != "en":
        return None
    for resource in NLTK_RESOURCES:
        try:
            return WordNet(nltk.data.find(resource))
        except LookupError:
            continue
    return WordNet(DEBIAN_WORDNET) if (DEBIAN_WORDNET / "data.noun").is_file() else None


class Cohesion:
    """Scorer of cohesion: the share of repeated or related content words, from 0 to 1, averaged over documents."""

    def __init__(self, words: ContentWords, wordnet: WordNet | None) -> None:
        self._words, self._wordnet = words, wordnet
        self.signature = f"repetition+{wordnet.name if wordnet else 'no-wordnet'}|{words.name}"

    def score(self, sentences: Sequence[str], documents: Iterable[range]) -> Score | None:
        """Score a text; return None if no document has content words."""
        shares = [self._share([sentences[line] for line in document]) for document in documents]
        known_shares = [share for share in shares if share is not None]
        return {"score": round(fmean(known_shares), 4), "signature": self.signature} if known_shares else None

    def _share(self, sentences: Iterable[str]) -> float | None:
        words = [word for sentence in sentences for word in self._words.extract(sentence)]
        stems: set[str] = set()
        concepts: set[tuple[str, int]] = set()
        cohesive = 0
        for word, stem in zip(words, self._words.stems(words), strict=True):
            word_concepts = self._wordnet.concepts(word) if self._wordnet else frozenset()
            cohesive += stem in stems or not concepts.isdisjoint(word_concepts)
            stems.add(stem)
            concepts |= word_concepts
        return cohesive / len(words) if words else None


class Coherence:
    """Scorer of coherence: the cosine of adjacent sentences, averaged over each document's pairs, then over documents.

    A pair is left out if one of its sentences has no content word of the training text.
    """

    def __init__(
        self, words: ContentWords, name: str, sentences: Sequence[str], documents: Sequence[range] | None
    ) -> None:
        """Learn the space from a training text; raise UserError for one with fewer than two content words."""
        self._words = words
        spans = [range(line, line + 1) for line in range(len(sentences))] if documents is None else documents
        texts = [[stem for line in span for stem in self._sentence_stems(sentences[line])] for span in spans]
        if len({stem for text in texts for stem in text}) < 2:
            raise UserError(f"{name} has fewer than two content words, too few to measure coherence")
        vectorizer = TfidfVectorizer(analyzer=list)
        weights = vectorizer.fit_transform(texts)  # [rows, words]
        _, values, components = randomized_svd(weights, min(MAXIMUM_DIMENSIONS, *weights.shape), random_state=0)
        self._vectors: NDArray[np.float64] = (components * values[:, None]).T  # [words, dimensions]
        self._numbers: dict[str, int] = vectorizer.vocabulary_
        unit = "sentences" if documents is None else "documents"
        self.signature = f"lsa:{self._vectors.shape[1]}-dimensions|of:{name}-{unit}|tf-idf|{words.name}"

    def score(self, sentences: Sequence[str], documents: Iterable[range]) -> Score | None:
        """Score a text; return None if no two adjacent sentences both have content words of the training text."""
        vectors = [self._vector(sentence) for sentence in sentences]
        means = []
        for document in documents:
            pairs = [(vectors[first], vectors[second]) for first, second in pairwise(document)]
            cosines = [float(first @ second) for first, second in pairs if first.any() and second.any()]
            means += [fmean(cosines)] if cosines else []
        return {"score": round(fmean(means), 4), "signature": self.signature} if means else None

    def _sentence_stems(self, sentence: str) -> list[str]:
        return self._words.stems(self._words.extract(sentence))

    def _vector(self, sentence: str) -> NDArray[np.float64]:
        """Return the sentence's vector [dimensions], of length 1, or of length 0 without known words."""
        numbers = [self._numbers[stem] for stem in self._sentence_stems(sentence) if stem in self._numbers]
        vector: NDArray[np.float64] = self._vectors[numbers].sum(0)
        length = float(np.linalg.norm(vector))
        return vector / length if length else vector


@dataclass(frozen=True)
class _DocumentTest:
    """A test set with documents, in tokens of their original case."""

    name: str
    sources: list[str]
    references: list[str]
    documents: list[range]
    words: dict[str, WordPositions]  # words to measure the accuracy of, by metric


@dataclass(frozen=True)
class DocumentScorer:
    """Scorer of runs on test sets with documents; it learns from the training text once for all runs."""

    experiment: EvaluationFolder

    def rows(self, run: str) -> Iterator[Row]:
        """Yield all scores of a run that can be computed, and those of the human translation.

        The human translation is the first reference, so all its words are accurate. Raise UserError for missing files
        and unequal line counts.
        """
        for test in self._tests:
            hypotheses, _ = read_scoring_inputs(self.experiment, run, test.name, tokenized=True)
            for subject, text in (("", hypotheses), (HUMAN, test.references)):
                scores: dict[str, Score | None] = {}
                for metric, words in test.words.items():
                    links = [list(map(self._aligner.align, test.sources, side)) for side in (test.references, text)]
                    scores[metric] = word_accuracy(words, test.references, text, *links, alignment=ALIGNER_NAME)
                for metric, scorer in self._document_scorers.items():
                    scores[metric] = scorer.score(text, test.documents)
                for metric, score in scores.items():
                    if score:
                        yield row(test.name, metric, score["score"], signature=score["signature"], subject=subject)
                        counts = {} if subject else score.get("counts", {})
                        for case, count in counts.items():
                            yield row(test.name, f"{metric}_words", count, tag=case)

    @cached_property
    def _tests(self) -> list[_DocumentTest]:
        corpus, tokens = self.experiment.settings.corpus, self.experiment.tokenized
        tests = []
        for name in corpus.tests:
            paths = (tokens / f"{name}.{language}.cased" for language in (corpus.source, corpus.target))
            sources, references = read_parallel(*paths)
            if documents := read_documents(tokens, name, len(references)):
                nouns = nouns_by_tag(find_tags(self.experiment, name, corpus.target), corpus.target)
                words = {"apt_pronouns": find_pronouns(references, corpus.target), "apt_nouns": nouns}
                known_words = {metric: word_positions for metric, word_positions in words.items() if word_positions}
                tests.append(_DocumentTest(name, sources, references, documents, known_words))
        return tests

    @cached_property
    def _training(self) -> tuple[list[str], list[str]]:
        settings, folder = self.experiment.settings, self.experiment.tokenized
        languages = settings.corpus.source, settings.corpus.target
        sides = read_parallel(*(folder / f"{settings.corpus.train}.{language}" for language in languages))
        sources, targets = (
            list(to_tokens(settings, language, lines)) for language, lines in zip(languages, sides, strict=True)
        )
        return sources, targets

    @cached_property
    def _aligner(self) -> WordAligner:
        """Learn from evenly spaced training pairs and from the references, so that their words are known."""
        sources, targets = self._training
        every_nth = slice(None, None, 1 + (len(sources) - 1) // MAXIMUM_ALIGNER_PAIRS)
        return WordAligner(
            [*sources[every_nth], *(line for test in self._tests for line in test.sources)],
            [*targets[every_nth], *(line for test in self._tests for line in test.references)],
        )

    @cached_property
    def _document_scorers(self) -> dict[str, Cohesion | Coherence]:
        corpus, (_, targets) = self.experiment.settings.corpus, self._training
        words = ContentWords(corpus.target)
        documents = read_documents(self.experiment.tokenized, corpus.train, len(targets))
        return {
            "cohesion": Cohesion(words, find_wordnet(corpus.target)),
            "coherence": Coherence(words, f"{corpus.name}-{corpus.train}", targets, documents),
        }
