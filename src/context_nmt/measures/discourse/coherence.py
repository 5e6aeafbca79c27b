"""Coherence of documents: the similarity of adjacent sentences in a latent semantic space (Foltz et al. 1998).

The space is learnt from a training text by latent semantic analysis (Deerwester et al. 1990): a singular value
decomposition of the TF-IDF weights of content-word stems in its documents, or in its sentences if it has no documents.
The vector of a word is its row of the right singular vectors times the singular values; the vector of a sentence is the
sum of the vectors of its words.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.extmath import randomized_svd

from context_nmt.files import UserError
from context_nmt.measures.bleu import Score
from context_nmt.measures.discourse.cohesion import ContentWords

DIMENSIONS = 300  # fewer if the training text has fewer documents or words


class Coherence:
    """The cosine of adjacent sentences, averaged over the pairs of each document, then over documents.

    A pair is left out if one of its sentences has no content word of the training text.
    """

    def __init__(
        self, words: ContentWords, name: str, sentences: Sequence[str], documents: Sequence[range] | None
    ) -> None:
        """Learn the space from a training text; raise UserError for one with fewer than two content words."""
        self._words = words
        spans = [range(line, line + 1) for line in range(len(sentences))] if documents is None else documents
        texts = [[stem for line in span for stem in self._stems(sentences[line])] for span in spans]
        if len({stem for text in texts for stem in text}) < 2:
            raise UserError(f"{name} has fewer than two content words, too few to measure coherence")
        vectorizer = TfidfVectorizer(analyzer=list)
        weights = vectorizer.fit_transform(texts)  # [rows, words]
        _, values, components = randomized_svd(weights, min(DIMENSIONS, *weights.shape), random_state=0)
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

    def _stems(self, sentence: str) -> list[str]:
        return self._words.stems(self._words.of(sentence))

    def _vector(self, sentence: str) -> NDArray[np.float64]:
        """Return the sentence's vector, [dimensions], of length 1, or 0 without known words."""
        numbers = [self._numbers[stem] for stem in self._stems(sentence) if stem in self._numbers]
        vector: NDArray[np.float64] = self._vectors[numbers].sum(0)
        length = float(np.linalg.norm(vector))
        return vector / length if length else vector
