"""Accuracies of pronouns and nouns of files that may come from anywhere."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from context_nmt.files import UserError
from context_nmt.measures.bleu import Score
from context_nmt.measures.discourse.alignments import read_alignments
from context_nmt.measures.discourse.word_accuracy import count_words
from context_nmt.measures.discourse.words import PRONOUNS, listed, tagged_nouns, usual_pronouns

ABSENT = {
    "apt_pronouns": f"there is a list of pronouns for {', '.join(PRONOUNS)} and none for {{language}}; give --pronouns",
    "apt_nouns": "NLTK has no tagger for {language} here (the English one is `nltk.download`'s"
    " averaged_perceptron_tagger_eng); give --nouns",
}


@dataclass(frozen=True)
class WordFiles:
    """Alignments of the source with the reference and the translation, and lists of words in place of the usual."""

    reference_alignment: Path
    hypothesis_alignment: Path
    pronouns: Path | None = None
    nouns: Path | None = None


def word_files(
    reference_alignment: Path | None, hypothesis_alignment: Path | None, pronouns: Path | None, nouns: Path | None
) -> WordFiles | None:
    """What was given on a command line; None without alignments; raises UserError for one alone, or for lists alone."""
    if reference_alignment and hypothesis_alignment:
        return WordFiles(reference_alignment, hypothesis_alignment, pronouns, nouns)
    given = [reference_alignment, hypothesis_alignment, pronouns, nouns]
    if any(given):
        raise UserError("pronouns and nouns need both --reference-alignment and --hypothesis-alignment")
    return None


def score_words(
    files: WordFiles,
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    sources: Sequence[str] | None,
    *,
    language: str,
) -> dict[str, Score]:
    """Score the tokens of the first reference that are pronouns and nouns.

    What is left out is said on standard error. Raises UserError for unusable alignments and lists.
    """
    reference = references[0]
    to_reference = read_alignments(files.reference_alignment, reference, sources)
    to_hypothesis = read_alignments(files.hypothesis_alignment, hypotheses, sources)
    found = {
        "apt_pronouns": listed(reference, files.pronouns) if files.pronouns else usual_pronouns(reference, language),
        "apt_nouns": listed(reference, files.nouns) if files.nouns else tagged_nouns(reference, language),
    }
    alignment = "as-given" + (f", reference 1 of {len(references)}" if len(references) > 1 else "")
    scores = {}
    for name, words in found.items():
        if words is None:
            print(f"note: no {name}, for {ABSENT[name].format(language=language)}", file=sys.stderr)
            continue
        score = count_words(words, reference, hypotheses, to_reference, to_hypothesis).score(words.name, alignment)
        if score is None:
            print(f"note: no {name}, for no such word of the reference is linked to the source", file=sys.stderr)
            continue
        scores[name] = score
    return scores
