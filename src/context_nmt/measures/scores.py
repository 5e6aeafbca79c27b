"""Scores the translations of every test set."""

from collections.abc import Iterator
from importlib.metadata import version
from statistics import fmean

from context_nmt.corpus.hypotheses import read_hypotheses
from context_nmt.corpus.moses import MosesSide
from context_nmt.corpus.references import reference_names
from context_nmt.corpus.workers import map_lines
from context_nmt.files import UserError, read_lines, read_parallel
from context_nmt.measures.bleu import Score, score_raw, score_sacrebleu, score_tokenized
from context_nmt.measures.evaluated import Evaluated
from context_nmt.measures.rows import BOUND, Row, row
from context_nmt.settings.text import TextPlan


def score_rows(experiment: Evaluated, run: str) -> Iterator[Row]:
    """Yield the scores of one run, those of groups of test sets included.

    Raises UserError for missing files and line counts that differ.
    """
    settings = experiment.settings
    scores = {test: _score_test(experiment, run, test) for test in settings.corpus.tests}
    for group, members in settings.corpus.groups.items():
        scores[group] = _mean([scores[member] for member in members], members)
    for name, found in scores.items():
        for metric, score in found.items():
            yield row(name, metric, score["score"], signature=score["signature"])
    for test in settings.corpus.tests:
        yield from _against_bound(experiment, test, scores[test]["sacrebleu"])


def read_test(experiment: Evaluated, run: str, test: str, *, tokenized: bool) -> tuple[list[str], list[list[str]]]:
    """The run's output and the references of one test set, as tokens in their original case or as raw text."""
    target = experiment.settings.corpus.target
    names = reference_names(experiment.corpus, test, target)
    if tokenized:
        references = read_parallel(*(experiment.tokenized / f"{name}.cased" for name in names))
    else:
        references = read_parallel(*(experiment.corpus / name for name in names))
    hypothesis = read_hypotheses(experiment.hypotheses(run), test)
    if len(hypothesis) != len(references[0]):
        raise UserError(
            f"{experiment.hypotheses(run)}: {test} has {len(hypothesis)} lines, its references have"
            f" {len(references[0])}; decode again"
        )
    if not tokenized:
        hypothesis = list(map_lines(MosesSide(target, experiment.settings.text.target).text, hypothesis))
    return hypothesis, references


def _score_test(experiment: Evaluated, run: str, test: str) -> dict[str, Score]:
    hypothesis, references = read_test(experiment, run, test, tokenized=False)
    scores = score_raw(hypothesis, references)
    hypothesis, references = read_test(experiment, run, test, tokenized=True)
    return scores | score_tokenized(hypothesis, references, text=text_of_tokens(experiment.settings))


def _against_bound(experiment: Evaluated, test: str, score: Score) -> list[Row]:
    """What an oracle that sees one sentence at a time reaches, and how much of that the run does, in per cent."""
    target = experiment.settings.corpus.target
    bound = experiment.corpus / f"{test}.bound.{target}"
    if not bound.is_file():
        return []
    guesses = read_lines(bound)
    references = [read_lines(experiment.corpus / name) for name in reference_names(experiment.corpus, test, target)]
    if len(guesses) != len(references[0]):
        raise UserError(f"{bound} has {len(guesses)} lines for {len(references[0])} sentences")
    best = score_sacrebleu(guesses, references)
    if best["score"] == 0:
        raise UserError(f"{bound} scores 0 sacrebleu: it is no translation of the test set")
    share, signature = round(100 * score["score"] / best["score"], 4), best["signature"]
    return [
        row(test, "sacrebleu", best["score"], signature=signature, of=BOUND),
        row(test, "sacrebleu_of_bound", share, signature=f"percent|{signature}"),
    ]


def text_of_tokens(settings: TextPlan) -> str:
    """What the tokenize stage did to the target side, for the signature."""
    side = settings.text.target
    steps = {
        "script": side.script is not None,
        "pretokenized": side.pretokenized,
        "normalized": side.normalize_punctuation and not side.pretokenized,
        f"moses-{settings.corpus.target}-sacremoses-{version('sacremoses')}": not side.pretokenized,
        "aggressive-hyphens": side.aggressive_hyphens and not side.pretokenized,
    }
    return "+".join(name for name, done in steps.items() if done)


def _mean(scores: list[dict[str, Score]], members: tuple[str, ...]) -> dict[str, Score]:
    return {
        metric: {
            "score": round(fmean(score[metric]["score"] for score in scores), 4),
            "signature": f"mean of {', '.join(members)}: {scores[0][metric]['signature']}",
        }
        for metric in scores[0]
    }
