"""Compare any two translation files, outside of experiments."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from context_nmt.files import UserError, read_parallel, refuse_inputs, write_json
from context_nmt.measures.file_scores import choose_tokenizer, warn_about_raw_text
from context_nmt.measures.rows import LOWER_IS_BETTER
from context_nmt.measures.scored_text import to_nfc
from context_nmt.results.significance import compare
from context_nmt.settings import check
from context_nmt.settings.evaluation import ScoreOfText, ScoreOfTokens, SignificanceSettings


def compare_files(
    system: Path,
    baseline: Path,
    references: Sequence[Path],
    settings: SignificanceSettings,
    output: Path,
    *,
    language: str,
    tokenizer: str | None = None,
) -> dict[str, Any]:
    """Compare two files as `significance.compare` does, and write the result.

    Raw text is normalized to NFC, and split by `tokenizer` or the language's default tokenizer for sacrebleu. Raise
    UserError for unusable files, unequal lengths, an invalid language code, and an output that is also an input.
    """
    sacrebleu_tokenizer = choose_tokenizer(language, tokenizer, tokenized=settings.is_of_tokens)
    refuse_inputs(output, [system, baseline, *references])
    lines = read_parallel(system, baseline, *references)
    if not settings.is_of_tokens:
        warn_about_raw_text(system, lines[0], language, sacrebleu_tokenizer)
        lines = [to_nfc(text) for text in lines]
    comparison = compare(lines[0], lines[1], lines[2:], settings, tokenizer=sacrebleu_tokenizer, text="as-given")
    write_json(output, comparison)
    return comparison


def file_settings(
    *, tokenized: bool, metric: str | None, resamples: int, sample_ratio: float, seed: int
) -> SignificanceSettings:
    """Return the settings for comparing files; raise UserError for a value that is not allowed."""
    allowed = get_args(ScoreOfTokens if tokenized else ScoreOfText)
    chosen_metric = metric or allowed[0]
    if chosen_metric not in allowed:
        text_form = "tokenized" if tokenized else "raw"
        raise UserError(f"metric {chosen_metric!r} is not for {text_form} text; allowed: {', '.join(allowed)}")
    values = {"metric": chosen_metric, "resamples": resamples, "sample_ratio": sample_ratio, "seed": seed}
    try:
        return check(SignificanceSettings, values, where="")
    except UserError as error:
        key, _, problem = str(error).partition(": ")
        raise UserError(f"--{key.replace('_', '-')}: {problem}") from None


def format_comparison(comparison: dict[str, Any]) -> str:
    """Format the scores of a comparison and the p-value of each test."""
    bootstrap, sign = comparison["bootstrap"], comparison["sign"]
    lower_is_better = "  (lower is better)" if comparison["metric"] in LOWER_IS_BETTER else ""
    p_value = f"p = {bootstrap['p']:g}" if bootstrap["p"] else f"p < {2 / bootstrap['resamples']:g}"
    return "\n".join(
        [
            f"{comparison['metric']}  {comparison['signature']}",
            f"baseline {comparison['baseline']:.2f}  system {comparison['system']:.2f}"
            f"  difference {comparison['difference']:+.2f}{lower_is_better}",
            f"paired bootstrap (compare-mt)  {p_value}"
            f"  (wins {bootstrap['wins']:.1%}, losses {bootstrap['losses']:.1%} of {bootstrap['resamples']})",
            f"paired bootstrap (sacrebleu)   p = {comparison['sacrebleu']['p']:g}",
            f"sign test (Collins et al.)     p = {sign['p']:g}"
            f"  ({sign['better']} better, {sign['worse']} worse, {sign['equal']} equal)",
            f"approximate randomization      p = {comparison['randomization']['p']:g}",
        ]
    )
