"""Score translation files of any origin."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from context_nmt.corpus.moses import NO_RULES, has_rules
from context_nmt.files import UserError, read_parallel, refuse_inputs, write_json
from context_nmt.measures.bleu import Score, Texts, score_raw_and_tokenized, score_tokenized
from context_nmt.measures.scored_text import to_nfc
from context_nmt.measures.word_accuracy import (
    PRONOUNS,
    find_listed_words,
    find_nouns,
    find_pronouns,
    read_alignments,
    word_accuracy,
)
from context_nmt.settings.evaluation import Tokenizer, tokenizer_of
from context_nmt.settings.text import country_problem

UNSPACED_TOKENIZERS = ("zh", "ja-mecab", "char")  # tokenizers of languages that are written without spaces
# letters of these languages: Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese
UNSPACED_LETTER = re.compile("[\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
NO_WORDS_NOTES = {
    "apt_pronouns": f"there is a list of pronouns for {', '.join(PRONOUNS)} and none for {{language}}; give --pronouns",
    "apt_nouns": "NLTK has no tagger for {language} here (the English one is `nltk.download`'s"
    " averaged_perceptron_tagger_eng); give --nouns",
}


def score_files(
    hypothesis: Path,
    references: Sequence[Path],
    *,
    source: Path | None,
    tokenized: bool,
    language: str,
    tokenizer: str | None = None,
    output: Path,
    reference_alignment: Path | None = None,
    hypothesis_alignment: Path | None = None,
    pronouns: Path | None = None,
    nouns: Path | None = None,
) -> dict[str, Score]:
    """Score one file against its references and write {metric: {"score", "signature"}}.

    Raw text is normalized to NFC, and split by `tokenizer` or the language's default tokenizer for sacrebleu.

    Alignments of the source with the first reference and with the hypothesis add the accuracies of pronouns and nouns,
    either listed in files or found by default. The source is only checked: it must have as many lines as the other
    files, and the tokens that the alignments refer to.

    Raise UserError for missing or empty files, unequal line counts, a hypothesis without any text, an invalid
    language code, alignments that are wrong, incomplete or of raw text, and an output that is also an input.
    """
    lists = {"apt_pronouns": pronouns, "apt_nouns": nouns}
    alignments = [path for path in (reference_alignment, hypothesis_alignment) if path]
    if len(alignments) == 1 or (any(lists.values()) and not alignments):
        raise UserError("pronouns and nouns need both --reference-alignment and --hypothesis-alignment")
    if alignments and not tokenized:
        raise UserError(
            "--reference-alignment and --hypothesis-alignment count tokens: use tokenized files and --tokenized"
        )
    sacrebleu_tokenizer = choose_tokenizer(language, tokenizer, tokenized=tokenized)
    refuse_inputs(output, [hypothesis, *references, source, *alignments, pronouns, nouns])
    system, *targets = read_parallel(hypothesis, *references, *([source] if source else []))
    sources = targets.pop() if source else None
    if not any(line.strip() for line in system):
        raise UserError(f"{hypothesis}: all lines are empty")
    if tokenized:
        scores = score_tokenized(system, targets, text="as-given")
        if alignments:
            scores |= _score_words(alignments, lists, system, targets, sources, language)
    else:
        if not has_rules(language):
            print(f"note: {NO_RULES.format(language)}", file=sys.stderr)
        if tokenizer_of(language) in UNSPACED_TOKENIZERS:
            finding = f"ter and the bleu_ scores count what stands between spaces, not words of {language!r}"
            print(f"note: {finding}; use sacrebleu and chrf", file=sys.stderr)
        warn_about_raw_text(hypothesis, system, language, sacrebleu_tokenizer)
        system, *targets = map(to_nfc, (system, *targets))
        scores = score_raw_and_tokenized(system, targets, language=language, tokenizer=sacrebleu_tokenizer)
    write_json(output, scores)
    return scores


def choose_tokenizer(language: str, tokenizer: str | None, *, tokenized: bool) -> Tokenizer:
    """Return sacrebleu's tokenizer for raw files, by default the language's; raise UserError for an unknown one."""
    if re.fullmatch(r"[a-z]{2,3}([-_]\w+)?", language) is None:
        raise UserError(f"--language is {language!r}; it must be a language code such as de")
    if problem := country_problem(language):
        raise UserError(f"--language: {problem}")
    if tokenizer is not None and tokenizer not in get_args(Tokenizer):
        raise UserError(f"--tokenizer is {tokenizer!r}; it must be one of {', '.join(get_args(Tokenizer))}")
    if tokenizer is not None and tokenized:
        raise UserError("--tokenizer is for raw text; with --tokenized, the tokens stay as they are")
    return tokenizer or tokenizer_of(language)  # type: ignore[return-value]


def warn_about_raw_text(hypothesis: Path, lines: Sequence[str], language: str, tokenizer: Tokenizer) -> None:
    """Warn on standard error of likely mistakes with raw text: an unsuitable tokenizer, or text that is tokenized."""
    text = "".join(lines)
    if tokenizer not in (*UNSPACED_TOKENIZERS, "flores200") and 2 * len(UNSPACED_LETTER.findall(text)) > len(
        re.findall(r"\w", text)
    ):
        finding = (
            f"{hypothesis}: most letters are of a language without spaces, and sacrebleu's tokenizer is {tokenizer}"
        )
        print(f"note: {finding}; is --language {language} right?", file=sys.stderr)
    spaced = sum(line.endswith(" .") for line in lines)
    if spaced > len(lines) / 2:
        finding = f"{hypothesis}: {spaced} of {len(lines)} lines end in ' .'"
        print(f"note: {finding}; if it is tokenized, use --tokenized", file=sys.stderr)


def _score_words(
    alignments: list[Path],
    lists: dict[str, Path | None],
    hypotheses: Sequence[str],
    references: Texts,
    sources: Sequence[str] | None,
    language: str,
) -> dict[str, Score]:
    """Score the pronouns and nouns of the first reference; on standard error, note which are left out and why."""
    reference = references[0]
    texts = zip(alignments, (reference, hypotheses), strict=True)
    links = [read_alignments(path, lines, sources) for path, lines in texts]
    alignment = "as-given" + (f", reference 1 of {len(references)}" if len(references) > 1 else "")
    scores = {}
    for metric, find_words in (("apt_pronouns", find_pronouns), ("apt_nouns", find_nouns)):
        path = lists[metric]
        words = find_listed_words(reference, path) if path else find_words(reference, language)
        if words is None:
            print(f"note: no {metric}: {NO_WORDS_NOTES[metric].format(language=language)}", file=sys.stderr)
        elif score := word_accuracy(words, reference, hypotheses, *links, alignment=alignment):
            scores[metric] = score
        else:
            print(f"note: no {metric}: no such word of the reference is linked to the source", file=sys.stderr)
    return scores


def format_scores(scores: dict[str, Score]) -> str:
    """Format a table of metric, score, signature and counts."""
    return "\n".join(
        f"{metric:<20} {score['score']:6.{4 if metric.startswith('apt_') else 2}f}  {score['signature']}"
        + "".join(f" {case.replace('_', ' ')} {count}" for case, count in score.get("counts", {}).items())
        for metric, score in scores.items()
    )
