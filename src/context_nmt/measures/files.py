"""Scores files that may come from anywhere."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from sacremoses.corpus import NonbreakingPrefixes

from context_nmt.files import UserError, read_parallel, write_json
from context_nmt.measures.bleu import Score, score_raw_and_tokenized, score_tokenized
from context_nmt.measures.file_words import WordFiles, score_words


def score_files(
    hypothesis: Path,
    references: Sequence[Path],
    *,
    source: Path | None,
    tokenized: bool,
    language: str,
    output: Path,
    words: WordFiles | None = None,
) -> dict[str, Score]:
    """Score one file against its references and write {metric: {"score", "signature"}}; see `scores`.

    With `words`, the accuracies of pronouns and nouns stand beside, of tokens and against the first reference. The
    source has to have as many lines as the others, and the tokens that the alignments name: no metric here reads it.
    Raises UserError for missing or empty files, line counts that differ, a hypothesis without any text, a language
    that is no code, and alignments that are wrong or those of raw text.
    """
    if words and not tokenized:
        raise UserError("--reference-alignment and --hypothesis-alignment count tokens: give tokens, and --tokenized")
    if re.fullmatch(r"[a-z]{2,3}(-\w+)?", language) is None:
        raise UserError(f"--language is {language!r}; it must be a language's code, like de")
    paths = [hypothesis, *references, *([source] if source else [])]
    lines = read_parallel(*paths)
    system, targets = lines[0], lines[1 : 1 + len(references)]
    if not any(line.strip() for line in system):
        raise UserError(f"{hypothesis}: all lines are empty")
    if not tokenized:
        _note_doubts(hypothesis, system, language)
    if tokenized:
        scores = score_tokenized(system, targets, text="as-given")
        if words:
            scores |= score_words(words, system, targets, lines[-1] if source else None, language=language)
    else:
        scores = score_raw_and_tokenized(system, targets, language=language)
    write_json(output, scores)
    return scores


def _note_doubts(hypothesis: Path, lines: Sequence[str], language: str) -> None:
    """Say on standard error what may not be meant; the scores are computed all the same."""
    if language not in NonbreakingPrefixes().available_langs.values():
        print(f"note: Moses has no rules for the language {language!r}; English ones are used", file=sys.stderr)
    spaced = sum(line.endswith(" .") for line in lines)
    if spaced > len(lines) / 2:
        found = f"{hypothesis}: {spaced} of {len(lines)} lines end in ' .'"
        print(f"note: {found}; if this text is tokenised, give --tokenized", file=sys.stderr)


def format_scores(scores: dict[str, Score]) -> str:
    """A small table of metric, score and signature, with what was counted."""
    return "\n".join(
        f"{name:<20} {score['score']:6.{4 if name.startswith('apt_') else 2}f}  {score['signature']}"
        + "".join(f" {what.replace('_', ' ')} {count}" for what, count in score.get("counts", {}).items())
        for name, score in scores.items()
    )
