"""The number of seeds that a comparison of two systems needs, from how much their differences vary over seeds."""

from collections.abc import Mapping, Sequence
from math import sqrt
from operator import sub
from statistics import fmean, stdev

from scipy.stats import nct
from scipy.stats import t as student

from context_nmt.measures.rows import Measure
from context_nmt.report.outcomes import MINIMUM_SEEDS_OF_INTERVAL, designated_of, outcomes_of
from context_nmt.report.published import Paper
from context_nmt.report.verdicts import SEEDS_FOR_VERDICT
from context_nmt.results.metrics import SIGNIFICANCE_LEVEL
from context_nmt.results.table import Results

POWERS = (0.8, 0.9)
MOST_SEEDS = 1000


def power_of(difference: float, deviation: float, seeds: int, level: float) -> float:
    """Return the probability that a two-sided paired t test with `seeds` seeds finds a true difference (> 0).

    A rejection in the wrong direction does not find it.
    """
    critical, shift = float(student.ppf(1 - level / 2, seeds - 1)), difference * sqrt(seeds) / deviation
    return float(nct.sf(critical, seeds - 1, shift))


def seeds_needed(difference: float, deviation: float, power: float, level: float) -> int | None:
    """Return the smallest number of seeds with a verdict that has this power; None if it exceeds MOST_SEEDS."""
    counts = range(SEEDS_FOR_VERDICT, MOST_SEEDS + 1)
    return next((n for n in counts if deviation == 0 or power_of(difference, deviation, n, level) >= power), None)


def pairs_of_experiment(results: Results) -> dict[str, tuple[float, ...]]:
    """Return BLEU minus the baseline's by seed, of each variant with three seeds or more, on the first test set."""
    settings = results.settings
    measure = Measure(settings.corpus.held_out[0], settings.significance.bleu)
    pairs = {}
    for name in results.models:
        values, baseline = results.by_seed(name, measure), settings.variants[name].baseline
        baseline_values = results.by_seed(baseline, measure) if baseline else None
        if values and baseline_values and len(values) >= MINIMUM_SEEDS_OF_INTERVAL:
            pairs[f"{name} - {baseline}"] = tuple(map(sub, values, baseline_values))
    return pairs


def pairs_of_paper(paper: Paper, experiments: Sequence[Results]) -> tuple[dict[str, tuple[float, ...]], float]:
    """Return differences by seed for the primary claims on BLEU, and the level of Holm's first step in a first look."""
    primary = [claim for claim in paper.claims if claim.primary]
    pairs = {}
    for claim in (claim for claim in primary if claim.is_bleu):
        outcome = designated_of(outcomes_of(paper, claim, experiments))
        if outcome and outcome.hardest_rival and len(outcome.differences) >= MINIMUM_SEEDS_OF_INTERVAL:
            pairs[f"{outcome.system.variant} - {outcome.hardest_rival.variant}"] = outcome.differences
    level = paper.preregistration.level if paper.preregistration else SIGNIFICANCE_LEVEL
    return pairs, level / max(1, len(primary))


def power_table(
    pairs: Mapping[str, Sequence[float]], differences: Sequence[float], level: float
) -> list[tuple[str, ...]]:
    """Build a table: the seeds needed by each pair of systems, and by all with their pooled deviation."""
    rows = [("systems", "seeds", "deviation", *(f"{difference:g}" for difference in differences))]
    deviations = {name: stdev(by_seed) for name, by_seed in pairs.items()}
    pooled = sqrt(fmean(deviation**2 for deviation in deviations.values()))
    span = f"({min(deviations.values()):.2f} to {max(deviations.values()):.2f})"
    for name, count, deviation, text in (
        *((name, str(len(pairs[name])), deviation, f"{deviation:.2f}") for name, deviation in deviations.items()),
        ("pooled", "", pooled, f"{pooled:.2f} {span}"),
    ):
        cells = []
        for difference in differences:
            numbers = (seeds_needed(difference, deviation, power, level) for power in POWERS)
            cells.append(" / ".join(f"> {MOST_SEEDS}" if number is None else str(number) for number in numbers))
        rows.append((name, count, text, *cells))
    return rows
