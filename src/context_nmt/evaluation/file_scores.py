"""Scores files that may come from anywhere."""

from collections.abc import Sequence
from pathlib import Path

from context_nmt.evaluation.parallel_text import read_parallel
from context_nmt.evaluation.scores import Score, score_raw_and_tokenized, score_tokenized
from context_nmt.files import UserError, write_json


def score_files(
    hypothesis: Path,
    references: Sequence[Path],
    *,
    source: Path | None,
    tokenized: bool,
    language: str,
    output: Path,
) -> dict[str, Score]:
    """Score one file against its references and write {metric: {"score", "signature"}}; see `scores`.

    The source only has to have as many lines as the others: no metric here reads it.
    Raises UserError for missing or empty files, line counts that differ, and a hypothesis without any text.
    """
    paths = [hypothesis, *references, *([source] if source else [])]
    lines = read_parallel(*paths)
    system, targets = lines[0], lines[1 : 1 + len(references)]
    if not any(line.strip() for line in system):
        raise UserError(f"{hypothesis}: all lines are empty")
    if tokenized:
        scores = score_tokenized(system, targets, text="as-given")
    else:
        scores = score_raw_and_tokenized(system, targets, language=language)
    write_json(output, scores)
    return scores


def format_scores(scores: dict[str, Score]) -> str:
    """A small table of metric, score and signature."""
    return "\n".join(f"{name:<20} {score['score']:6.2f}  {score['signature']}" for name, score in scores.items())
