"""Test whether a system differs from its baseline on one test set by more than the choice of sentences explains.

The bootstrap and the sign test are two-sided. No test accounts for the choice of the training seed.

    bootstrap   Paired bootstrap of Koehn (2004), by compare-mt: twice the share of resamples that the better system
                does not win. It is doubled because the resamples decide which system is better. It can be 0, which
                tables print as at most 2 / resamples.
    sacrebleu   Paired bootstrap as in sacrebleu and Moses: the share of resamples whose absolute difference, minus the
                mean of all of them, exceeds the observed difference; in effect one-sided. It is never 0, and resamples
                are as large as the test set.
    sign        Sign test of Collins et al. (2005): replace one sentence of the baseline's output by the system's, and
                see whether corpus BLEU rises or falls; a two-sided test over the sentences where it changes.
"""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import sacrebleu
from compare_mt.sign_utils import eval_with_paired_bootstrap
from numpy.typing import NDArray
from sacrebleu.significance import PairedTest
from scipy.stats import binomtest

from context_nmt.files import UserError
from context_nmt.measures.bleu import bleu_metric, split_compounds
from context_nmt.progress import Progress, tracked
from context_nmt.settings.evaluation import SignificanceSettings

Statistics = NDArray[np.int64]  # [sentences, 10]: both lengths, then matched and all n-grams for n from 1 to 4


class _CachedBleu:
    """A scorer for compare-mt that sums sentence statistics, which are counted only once."""

    def __init__(self, metric: sacrebleu.BLEU, progress: Progress) -> None:
        self.metric, self.progress = metric, progress

    def score_cached_corpus(self, sentences: Sequence[int], statistics: list[Statistics]) -> tuple[float, None]:
        self.progress.advance(1 / 2)  # one of the two outputs
        return _corpus_bleu(self.metric, statistics[0][sentences].sum(axis=0)), None


def compare(
    system: Sequence[str],
    baseline: Sequence[str],
    references: Sequence[Sequence[str]],
    settings: SignificanceSettings,
    *,
    tokenizer: str,
    text: str,
) -> dict[str, Any]:
    """Compare two outputs by all three tests; the same arguments always give the same result.

    The metric sacrebleu uses `tokenizer`; `text` names the origin of the lines in the signature. `difference` is the
    system's score minus the baseline's; the p-values do not show its direction. Raise UserError for a sample ratio that
    leaves no sentence.
    """
    metric = bleu_metric(settings.metric, tokenizer)
    if settings.metric == "bleu_compound_split":
        texts = (system, baseline, *references)
        system, baseline, *references = ([split_compounds(line) for line in lines] for lines in texts)
        text += "|compounds:split"
    statistics = {
        "system": np.array(metric._extract_corpus_statistics(system, references), dtype=np.int64),
        "baseline": np.array(metric._extract_corpus_statistics(baseline, references), dtype=np.int64),
    }
    scores = {name: _corpus_bleu(metric, counts.sum(axis=0)) for name, counts in statistics.items()}
    tests: dict[str, Callable[[], dict[str, Any]]] = {
        "bootstrap": lambda: paired_bootstrap(metric, statistics["system"], statistics["baseline"], settings),
        "sacrebleu": lambda: sacrebleu_bootstrap(metric, system, baseline, references, settings),
        "sign": lambda: sign_test(metric, statistics["system"], statistics["baseline"]),
    }
    return {
        "metric": settings.metric,
        "signature": f"{metric.get_signature()}|text:{text}",
        **{name: round(score, 4) for name, score in scores.items()},
        "difference": round(scores["system"] - scores["baseline"], 4),
        **{name: test() for name, test in tracked(tests.items(), "tests", len(tests), "tests")},
    }


def paired_bootstrap(
    metric: sacrebleu.BLEU, system: Statistics, baseline: Statistics, settings: SignificanceSettings
) -> dict[str, Any]:
    """Run compare-mt's paired bootstrap, Koehn (2004); see the top of this file."""
    if int(len(system) * settings.sample_ratio) == 0:
        raise UserError(f"significance.sample_ratio {settings.sample_ratio} of {len(system)} sentences leaves none")
    progress = Progress("bootstrap", settings.resamples, "resamples")
    with _numpy_seed(settings.seed), progress:
        [[wins, losses, _]], _ = eval_with_paired_bootstrap(
            ref=system,  # only its length is used, since the statistics are given
            outs=[None, None],
            src=None,
            scorer=_CachedBleu(metric, progress),
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


def sign_test(metric: sacrebleu.BLEU, system: Statistics, baseline: Statistics) -> dict[str, Any]:
    """Run the sign test of Collins et al. (2005), section 4.3; see the top of this file."""
    total = baseline.sum(axis=0)
    before = _corpus_bleu(metric, total)
    changed = np.flatnonzero((system != baseline).any(axis=1))
    sentences = tracked(changed, "sign test", len(changed), "sentences")
    after = np.array([_corpus_bleu(metric, total - baseline[i] + system[i]) for i in sentences])
    better, worse = int((after > before).sum()), int((after < before).sum())
    p = binomtest(better, better + worse).pvalue if better + worse else 1.0
    return {"p": float(f"{p:.6g}"), "better": better, "worse": worse, "equal": len(system) - better - worse}


def sacrebleu_bootstrap(
    metric: sacrebleu.BLEU,
    system: Sequence[str],
    baseline: Sequence[str],
    references: Sequence[Sequence[str]],
    settings: SignificanceSettings,
) -> dict[str, Any]:
    """Run sacrebleu's paired bootstrap; see the top of this file.

    Equal scores get p = 1; sacrebleu returns 1 / (resamples + 1) if the outputs score the same in every resample.
    """
    systems = [("baseline", baseline), ("system", system)]
    with _sacrebleu_seed(settings.seed):
        test = PairedTest(systems, {"BLEU": metric}, references, test_type="bs", n_samples=settings.resamples)
        signatures, results = test()
    scores: Any = results["BLEU"]
    baseline_score, system_score = scores
    p = 1.0 if system_score.score == baseline_score.score else round(system_score.p_value, 6)
    return {"p": p, "signature": str(signatures["BLEU"])}


def _corpus_bleu(metric: sacrebleu.BLEU, counts: Statistics) -> float:
    return float(metric._compute_score_from_stats(counts.tolist()).score)


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
