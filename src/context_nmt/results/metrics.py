"""The names of measures: their order in tables, and which of them score translations."""

from context_nmt.measures.contrastive import NORMALIZED, SUMMED
from context_nmt.measures.rows import TESTS, Measure

METRICS = (  # the order in tables
    *("sacrebleu", "bleu_tokenized", "bleu_compound_split", "bleu_lowercased", "d_bleu"),
    *("chrf", "chrf_plus_plus", "ter"),
)
COUNTS = ("apt_pronouns_words", "apt_nouns_words")  # numbers of words, which no table shows
P_VALUES = tuple(f"p_{test}" for test in TESTS)


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
