"""Coherence of documents: how alike adjacent sentences are in a latent semantic space (Foltz et al. 1998).

The space is that of a training text (latent semantic analysis, Deerwester et al. 1990): a singular value decomposition
of the TF-IDF weights of content words' stems in its documents, or in its sentences if it has no documents. A word's
vector is its row of the right singular vectors times the singular values, a sentence's the sum of those of its words.
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

DIMENSIONS = 300  # fewer where the training text has fewer documents or words


class Coherence:
    """The cosine of adjacent sentences; the mean over a document's pairs, then over documents.

    A pair is left out if the training text has no content word of one of its sentences.
    """

    def __init__(
        self, words: ContentWords, name: str, sentences: Sequence[str], documents: Sequence[range] | None
    ) -> None:
        """Learn the space from a training text; raises UserError for one with fewer than two content words."""
        self._words = words
        rows = [range(line, line + 1) for line in range(len(sentences))] if documents is None else documents
        texts = [[stem for line in row for stem in self._stems(sentences[line])] for row in rows]
        if len({stem for text in texts for stem in text}) < 2:
            raise UserError(f"{name} has fewer than two content words; no coherence can be learnt from it")
        vectorizer = TfidfVectorizer(analyzer=list)
        weights = vectorizer.fit_transform(texts)  # [rows, words]
        _, values, components = randomized_svd(weights, min(DIMENSIONS, *weights.shape), random_state=0)
        self._vectors: NDArray[np.float64] = (components * values[:, None]).T  # [words, dimensions]
        self._numbers: dict[str, int] = vectorizer.vocabulary_
        unit = "sentences" if documents is None else "documents"
        self.signature = f"lsa:{self._vectors.shape[1]}-dimensions|of:{name}-{unit}|tf-idf|{words.name}"

    def score(self, sentences: Sequence[str], documents: Iterable[range]) -> Score | None:
        """Score a text; None if no document has two adjacent sentences with words of the training text."""
        vectors = [self._vector(sentence) for sentence in sentences]
        means = []
        for document in documents:
            pairs = [(vectors[one], vectors[other]) for one, other in pairwise(document)]
            cosines = [float(one @ other) for one, other in pairs if one.any() and other.any()]
            means += [fmean(cosines)] if cosines else []
        return {"score": round(fmean(means), 4), "signature": self.signature} if means else None

    def _stems(self, sentence: str) -> list[str]:
        return self._words.stems(self._words.of(sentence))

    def _vector(self, sentence: str) -> NDArray[np.float64]:
        """Return the sentence's vector, [dimensions], of length 1, or 0 for a sentence without a known word."""
        known = [self._numbers[stem] for stem in self._stems(sentence) if stem in self._numbers]
        vector: NDArray[np.float64] = self._vectors[known].sum(0)
        length = float(np.linalg.norm(vector))
        return vector / length if length else vector
