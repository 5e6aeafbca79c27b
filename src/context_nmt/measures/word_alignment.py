"""Align the words of parallel text in both directions with the model of fast_align (Dyer et al. 2013).

Target word j of m comes from no source word with probability NULL, else from source word i of n with a probability
proportional to exp(-λ |i/n - j/m|) (section 2). Translation probabilities are learnt by variational Bayes with a
symmetric Dirichlet prior; λ is fixed. NLTK symmetrizes the two directions. No library does the rest: eflomal samples
without a seed, and NLTK's IBM models need minutes for thousands of sentences.
"""

from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np
from nltk.translate.gdfa import grow_diag_final_and
from numpy.typing import NDArray
from scipy.special import digamma

from context_nmt.measures.word_accuracy import Alignment

NULL, LAMBDA, ALPHA = 0.08, 4.0, 0.01  # probability of no source word; pull to the diagonal; prior
TRAINING_ITERATIONS = 5
ALIGNER_NAME = (
    f"diagonal-lambda-{LAMBDA:g}-null-{NULL:g}-{TRAINING_ITERATIONS}-iterations-grow-diag-final-and"  # for signatures
)


class WordAligner:
    """A word aligner that learns from parallel text, then aligns any sentences in its languages."""

    def __init__(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        self._forward = _DirectedAligner(sources, targets)
        self._backward = _DirectedAligner(targets, sources)
        self.align = cache(self._align)

    def _align(self, source: str, target: str) -> Alignment:
        """Link the space-separated tokens of a sentence pair."""
        if not source.split() or not target.split():
            return []
        forward = " ".join(f"{i}-{j}" for j, i in self._forward.origins(source, target))
        backward = " ".join(f"{i}-{j}" for i, j in self._backward.origins(target, source))
        return sorted(grow_diag_final_and(len(source.split()), len(target.split()), forward, backward))


class _DirectedAligner:
    """An alignment model in one direction, which finds the source word that each target word comes from."""

    def __init__(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        words = sorted({word for line in (*sources, *targets) for word in line.lower().split()})
        self._ids = {word: number for number, word in enumerate(words, start=1)}  # 0 is NULL
        self._size = len(words) + 1
        pairs = [pair for pair in zip(sources, targets, strict=True) if all(line.split() for line in pair)]
        keys = [self._keys(source, target) for source, target in pairs]
        widths = np.concatenate([np.full(len(matrix), matrix.shape[1]) for matrix in keys])
        starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
        priors = np.concatenate([_prior(*matrix.shape).ravel() for matrix in keys])
        self._known_keys, indices = np.unique(np.concatenate([matrix.ravel() for matrix in keys]), return_inverse=True)
        origins = self._known_keys // self._size
        self._probabilities: NDArray[np.float64] = np.ones(len(self._known_keys))
        for _ in range(TRAINING_ITERATIONS):
            posteriors = self._probabilities[indices] * priors
            posteriors /= np.repeat(np.add.reduceat(posteriors, starts), widths)
            counts = np.bincount(indices, posteriors) + ALPHA
            totals = np.bincount(origins, counts)[origins]
            self._probabilities = np.exp(digamma(counts) - digamma(totals))

    def origins(self, source: str, target: str) -> list[tuple[int, int]]:
        """Return pairs (target word, source word), counted from 0, for the target words that do not come from NULL."""
        keys = self._keys(source, target)
        indices = np.searchsorted(self._known_keys, keys).clip(max=len(self._known_keys) - 1)
        # pairs that are not in the training text are less probable than all others
        probabilities = np.where(self._known_keys[indices] == keys, self._probabilities[indices], 0.0) + 1e-12
        best = (probabilities * _prior(*keys.shape)).argmax(1)
        return [(j, int(i) - 1) for j, i in enumerate(best) if i > 0]

    def _keys(self, source: str, target: str) -> NDArray[np.int64]:
        """Return a key for each pair of a target word and NULL or a source word, [m, n + 1]; -1 for unknown words."""
        unknown = -1
        origins = np.array([0, *(self._ids.get(word, unknown) for word in source.lower().split())])
        words = np.array([self._ids.get(word, unknown) for word in target.lower().split()])[:, None]
        return np.where((origins < 0) | (words < 0), unknown, origins * self._size + words)


@lru_cache(maxsize=10_000)
def _prior(length: int, width: int) -> NDArray[np.float64]:
    """Return the prior probabilities of NULL and each source word, which depend on positions only, [m, n + 1]."""
    i, j = np.arange(1, width) / (width - 1), np.arange(1, length + 1) / length
    closeness = np.exp(-LAMBDA * np.abs(i - j[:, None]))
    return np.hstack([np.full((length, 1), NULL), (1 - NULL) * closeness / closeness.sum(1, keepdims=True)])
