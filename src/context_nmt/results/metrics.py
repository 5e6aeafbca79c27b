"""The names of measures, their order in tables, and how numbers are printed."""

from context_nmt.measures.rows import NORMALIZED, SUMMED, TESTS, Measure

METRICS = (  # the order in tables
    *("sacrebleu", "bleu_tokenized", "bleu_compound_split", "bleu_lowercased", "d_bleu"),
    *("chrf", "chrf_plus_plus", "ter"),
)
COUNTS = ("apt_pronouns_words", "apt_nouns_words")  # numbers of words, which no table shows
P_VALUES = tuple(f"p_{test}" for test in TESTS)
SIGNIFICANT, HIGHLY_SIGNIFICANT = 0.05, 0.01
SMALLEST_P = 0.001  # the smallest p-value that is printed


def is_score(metric: str) -> bool:
    """Return whether a metric scores translations, and so belongs in results.json."""
    return metric in (*METRICS, "sacrebleu_of_bound", SUMMED, NORMALIZED)


def name_of(measure: Measure) -> str:
    """Return a readable name of a measure without its test set, e.g. pronouns_cross_normalized, gate_key_2."""
    metric, tag = measure.metric, measure.tag
    if metric in (SUMMED, NORMALIZED):
        return f"{measure.test_set}_{tag}{metric.removeprefix(SUMMED)}"
    layer = "" if measure.layer is None else str(measure.layer)
    return "_".join(part for part in (metric.replace("_by_", "_"), tag, layer) if part)


def of_any_set(measure: Measure) -> Measure:
    """Return the key of a signature: contrastive accuracies differ by set and category, other metrics do not."""
    return measure if measure.metric in (SUMMED, NORMALIZED) else Measure("", measure.metric)


def signed(value: float, decimals: int = 2) -> str:
    """Format a difference with its sign."""
    return f"{round(value, decimals) + 0.0:+,.{decimals}f}".replace("-", "−")  # noqa: RUF001 (a minus as wide as the plus)


def mark(p: float | None) -> str:
    """Return the mark of a significant difference, with a space before it."""
    if p is None or p >= SIGNIFICANT:
        return ""
    return " ‡" if p < HIGHLY_SIGNIFICANT else " †"


def p_text(p: float) -> str:
    """Format a p-value to follow the letter p: "= 0.031", "≤ 0.001"."""
    if p <= SMALLEST_P:
        return f"≤ {SMALLEST_P}"
    text = f"{p:.2g}"
    is_on_its_side = (float(text) < SIGNIFICANT) == (p < SIGNIFICANT)
    return f"= {text}" if is_on_its_side else f"= {p:.4g}"


def interval_text(interval: tuple[float, float], decimals: int = 2) -> str:
    """Format the ends of an interval."""
    return " … ".join(signed(end, decimals) for end in interval)
