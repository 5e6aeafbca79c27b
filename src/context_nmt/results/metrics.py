"""Names of measures, their order in tables, and the format of numbers."""

from collections.abc import Sequence

from context_nmt.measures.rows import MCNEMAR, NLL, NORMALIZED, SUMMED, TESTS, Measure

METRICS = (  # of translations, in the order of tables
    *("sacrebleu", "bleu_tokenized", "bleu_compound_split", "bleu_lowercased", "d_bleu"),
    *("chrf", "chrf_plus_plus", "ter", NLL),
)
WORD_COUNTS = ("apt_pronouns_words", "apt_nouns_words")  # which tables do not show
P_VALUES = (*(f"p_{test}" for test in TESTS), *MCNEMAR.values())
SIGNIFICANCE_LEVEL, HIGH_SIGNIFICANCE_LEVEL = 0.05, 0.01
SMALLEST_P = 0.001  # the smallest p-value that is printed


def is_score(metric: str) -> bool:
    """Return whether a metric scores translations; results.json has only such metrics."""
    return metric in (*METRICS, "sacrebleu_of_bound", SUMMED, NORMALIZED)


def decimals_of(metric: str) -> int:
    """Return how many decimals tables print; a tenth of a nat is a large difference."""
    return 3 if metric == NLL else 2


def measure_name(measure: Measure) -> str:
    """Return the readable name of a measure, without its test set: pronouns_cross_normalized, gate_key_2."""
    metric, tag = measure.metric, measure.tag
    if metric in (SUMMED, NORMALIZED):
        return f"{measure.test_set}_{tag}{metric.removeprefix(SUMMED)}"
    layer = "" if measure.layer is None else str(measure.layer)
    return "_".join(part for part in (metric.replace("_by_", "_"), tag, layer) if part)


def signature_key(measure: Measure) -> Measure:
    """Return the key that signatures are collected under: only contrastive accuracies have one per set and category."""
    return measure if measure.metric in (SUMMED, NORMALIZED) else Measure("", measure.metric)


def format_difference(value: float, decimals: int = 2) -> str:
    """Format a difference with its sign."""
    return f"{round(value, decimals) + 0.0:+,.{decimals}f}".replace("-", "−")  # noqa: RUF001 (a minus as wide as the plus)


def format_seeds(seeds: Sequence[int]) -> str:
    """Return "seed 1", "seeds 1, 3" or "seeds 1 to 5"."""
    if len(seeds) > 2 and [*seeds] == [*range(seeds[0], seeds[-1] + 1)]:
        return f"seeds {seeds[0]} to {seeds[-1]}"
    return f"{'seeds' if len(seeds) > 1 else 'seed'} {', '.join(map(str, seeds))}"


def significance_mark(p: float | None) -> str:
    """Return the mark of a significant difference after a space, else an empty string."""
    if p is None or p >= SIGNIFICANCE_LEVEL:
        return ""
    return " ‡" if p < HIGH_SIGNIFICANCE_LEVEL else " †"


def format_p(p: float) -> str:
    """Format a p-value as what follows the letter p: "= 0.031", "≤ 0.001"."""
    if p <= SMALLEST_P:
        return f"≤ {SMALLEST_P}"
    text = f"{p:.2g}"
    keeps_its_side = (float(text) < SIGNIFICANCE_LEVEL) == (p < SIGNIFICANCE_LEVEL)
    return f"= {text}" if keeps_its_side else f"= {p:.4g}"


def format_interval(low: float | None, high: float | None, decimals: int = 2) -> str:
    """Format the ends of an interval; empty without them."""
    return " … ".join(format_difference(end, decimals) for end in (low, high) if end is not None)
