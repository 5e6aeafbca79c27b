"""Test whether a system differs from its baseline on one test set by more than the choice of sentences explains.

All tests but sacrebleu's bootstrap are two-sided. No test accounts for the choice of the training seed.

    bootstrap   Paired bootstrap of Koehn (2004), by compare-mt: twice the share of resamples that the better system
                does not win. It is doubled because the resamples decide which system is better. It can be 0, which
                tables print as 2 / resamples.
    sacrebleu   Paired bootstrap as in sacrebleu and Moses: the share of resamples whose absolute difference, minus the
                mean of all of them, exceeds the observed difference; in effect one-sided. It is never 0, and resamples
                are as large as the test set.
    sign        Sign test of Collins et al. (2005): replace one sentence of the baseline's output by the system's, and
                see whether the corpus score improves or worsens; over the sentences where it changes.
    randomization   Approximate randomization of Riezler and Maxwell (2005): exchange the two outputs of each sentence
                with probability ½; the share of trials whose absolute difference is at least the observed one. It is
                never 0. sacrebleu makes the same trials, but does not count one whose difference equals the observed
                one: if the outputs differ in a single sentence, its p is 1 / (trials + 1), and ours is 1.
"""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from compare_mt.sign_utils import eval_with_paired_bootstrap
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest
from scipy.stats import binomtest

from context_nmt.files import UserError
from context_nmt.measures.bleu import metric_named, split_compounds
from context_nmt.measures.rows import LOWER_IS_BETTER
from context_nmt.progress import Progress, tracked
from context_nmt.settings.evaluation import SignificanceSettings

Statistics = NDArray[Any]  # [sentences, K]: what sacrebleu counts in each sentence, such as n-grams or edits
TRIALS = 10_000  # of the randomization, as in sacrebleu
ROUNDING = 1e-9  # equal differences can differ by it


class _Scorer:
    """A metric on sums of sentence statistics, which are counted only once.

    compare-mt calls `score_cached_corpus`. sacrebleu's test takes it for one of its metrics, and statistics for
    sentences.
    """

    def __init__(self, name: str, metric: Metric) -> None:
        self.metric, self.sign = metric, -1 if name in LOWER_IS_BETTER else 1
        self.progress: Progress | None = None

    def score(self, counts: Statistics) -> float:
        """Return the score of summed statistics [K]."""
        return float(self.metric._compute_score_from_stats(counts.tolist()).score)

    def quality(self, counts: Statistics) -> float:
        """Return the score of summed statistics [K], negated where lower is better."""
        return self.sign * self.score(counts)

    def score_cached_corpus(self, sentences: Sequence[int], statistics: list[Statistics]) -> tuple[float, None]:
        if self.progress:
            self.progress.advance(1 / 2)  # one of the two outputs
        return self.quality(statistics[0][sentences].sum(axis=0)), None

    def _extract_corpus_statistics(self, statistics: list[list[float]], _: object) -> list[list[float]]:
        return statistics

    def __getattr__(self, name: str) -> Any:
        return getattr(self.metric, name)


def compare(
    system: Sequence[str],
    baseline: Sequence[str],
    references: Sequence[Sequence[str]],
    settings: SignificanceSettings,
    *,
    tokenizer: str,
    text: str,
) -> dict[str, Any]:
    """Compare two outputs by all tests; the same arguments always give the same result.

    The metric sacrebleu uses `tokenizer`; `text` names the origin of the lines in the signature. `difference` is the
    system's score minus the baseline's, so it is negative for a better `ter`; the p-values do not show its direction.
    `wins` and `better` count where the system is better, whatever the metric. Raise UserError for a sample ratio that
    leaves no sentence.
    """
    metric = metric_named(settings.metric, tokenizer)
    if settings.metric == "bleu_compound_split":
        texts = (system, baseline, *references)
        system, baseline, *references = ([split_compounds(line) for line in lines] for lines in texts)
        text += "|compounds:split"
    both = (
        np.array(metric._extract_corpus_statistics(system, references)),
        np.array(metric._extract_corpus_statistics(baseline, references)),
    )
    scorer = _Scorer(settings.metric, metric)
    system_score, baseline_score = (scorer.score(statistics.sum(axis=0)) for statistics in both)
    tests: dict[str, Callable[[], dict[str, Any]]] = {
        "bootstrap": lambda: paired_bootstrap(scorer, *both, settings),
        "sacrebleu": lambda: sacrebleu_bootstrap(scorer, *both, settings),
        "sign": lambda: sign_test(scorer, *both),
        "randomization": lambda: randomization(scorer, *both, settings),
    }
    return {
        "metric": settings.metric,
        "signature": f"{metric.get_signature()}|text:{text}",
        "system": round(system_score, 4),
        "baseline": round(baseline_score, 4),
        "difference": round(system_score - baseline_score, 4),
        **{name: test() for name, test in tracked(tests.items(), "tests", len(tests), "tests")},
    }


def paired_bootstrap(
    scorer: _Scorer, system: Statistics, baseline: Statistics, settings: SignificanceSettings
) -> dict[str, Any]:
    """Run compare-mt's paired bootstrap, Koehn (2004); see the top of this file."""
    if int(len(system) * settings.sample_ratio) == 0:
        raise UserError(f"significance.sample_ratio {settings.sample_ratio} of {len(system)} sentences leaves none")
    progress = Progress("bootstrap", settings.resamples, "resamples")
    scorer.progress = progress
    with _numpy_seed(settings.seed), progress:
        [[wins, losses, _]], _ = eval_with_paired_bootstrap(
            ref=system,  # only its length is used, since the statistics are given
            outs=[None, None],
            src=None,
            scorer=scorer,
            compare_directions=[(0, 1)],
            num_samples=settings.resamples,
            sample_ratio=settings.sample_ratio,
            cache_stats=[[system], [baseline]],
        )
    return {
        "p": round(min(1.0, 2 * (1 - max(wins, losses))), 6),
        "wins": wins,
        "losses": losses,
        "resamples": settings.resamples,
        "sample_ratio": settings.sample_ratio,
        "seed": settings.seed,
    }


def sign_test(scorer: _Scorer, system: Statistics, baseline: Statistics) -> dict[str, Any]:
    """Run the sign test of Collins et al. (2005), section 4.3; see the top of this file."""
    total = baseline.sum(axis=0)
    before = scorer.quality(total)
    changed = np.flatnonzero((system != baseline).any(axis=1))
    sentences = tracked(changed, "sign test", len(changed), "sentences")
    changes = np.array([scorer.quality(total - baseline[i] + system[i]) for i in sentences]) - before
    return count_signs([*changes.tolist(), *[0.0] * (len(system) - len(changes))])


def count_signs(differences: Sequence[float]) -> dict[str, Any]:
    """Test whether the positive and the negative differences are equally many, by the exact binomial distribution.

    For outcomes that are right or wrong, this is the exact test of McNemar (1947).
    """
    better, worse = sum(value > 0 for value in differences), sum(value < 0 for value in differences)
    p = binomtest(better, better + worse).pvalue if better + worse else 1.0
    return {"p": float(f"{p:.6g}"), "better": better, "worse": worse, "equal": len(differences) - better - worse}


def randomization(
    scorer: _Scorer, system: Statistics, baseline: Statistics, settings: SignificanceSettings
) -> dict[str, Any]:
    """Run the approximate randomization of Riezler and Maxwell (2005); see the top of this file."""
    total, difference = system.sum(axis=0), (baseline - system).astype(float)
    observed = abs(scorer.score(total) - scorer.score(baseline.sum(axis=0)))
    exchanged = np.random.default_rng(settings.seed).integers(2, size=(TRIALS, len(system)), dtype=bool)
    parts = np.array_split(exchanged, range(1000, TRIALS, 1000))  # as floats, all of them take eight times as much
    changes = np.concatenate([part.astype(float) @ difference for part in parts])
    shuffled = zip(total + changes, baseline.sum(axis=0) - changes, strict=True)
    differences = np.array([abs(scorer.score(first) - scorer.score(second)) for first, second in shuffled])
    at_least = int((differences >= observed - ROUNDING).sum())
    return {"p": round((at_least + 1) / (TRIALS + 1), 6), "trials": TRIALS, "seed": settings.seed}


def sacrebleu_bootstrap(
    scorer: _Scorer, system: Statistics, baseline: Statistics, settings: SignificanceSettings
) -> dict[str, Any]:
    """Run sacrebleu's paired bootstrap; see the top of this file.

    Equal scores get p = 1; sacrebleu returns 1 / (resamples + 1) if the outputs score the same in every resample.
    """
    systems: Any = [("baseline", baseline.tolist()), ("system", system.tolist())]
    metrics: Any = {"": scorer}
    with _sacrebleu_seed(settings.seed):
        signatures, results = PairedTest(systems, metrics, None, test_type="bs", n_samples=settings.resamples)()
    ((name, signature),) = signatures.items()
    scores: Any = results[name]
    baseline_score, system_score = scores
    p = 1.0 if system_score.score == baseline_score.score else round(system_score.p_value, 6)
    return {"p": p, "signature": str(signature)}


@contextmanager
def _numpy_seed(seed: int) -> Iterator[None]:
    """Seed numpy's global generator, from which compare-mt draws, and restore its state afterwards."""
    state = np.random.get_state()
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(state)


@contextmanager
def _sacrebleu_seed(seed: int) -> Iterator[None]:
    """Seed sacrebleu, which reads its seed only from the environment, and silence its log."""
    logger = logging.getLogger("sacrebleu")
    previous_seed, level = os.environ.get("SACREBLEU_SEED"), logger.level
    os.environ["SACREBLEU_SEED"] = str(seed)
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
        del os.environ["SACREBLEU_SEED"]
        if previous_seed is not None:
            os.environ["SACREBLEU_SEED"] = previous_seed
