"""Score the translations of every test set, and count the sentences, documents and words of all sets."""

from collections.abc import Iterable, Iterator
from statistics import fmean

from context_nmt.corpus.documents import read_documents
from context_nmt.corpus.hypotheses import are_external, read_hypotheses
from context_nmt.corpus.moses import MosesSide
from context_nmt.corpus.workers import map_lines
from context_nmt.files import UserError, iterate_lines, read_lines
from context_nmt.measures.bleu import Score, score_documents, score_raw, score_sacrebleu, score_tokenized
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.rows import BOUND, TEXT, Row, row
from context_nmt.measures.scored_text import PRETOKENIZED_BY_SCRIPT, scoring_inputs, token_origin
from context_nmt.settings.evaluation import EvaluationPlan


def score_rows(experiment: EvaluationFolder, run: str) -> Iterator[Row]:
    """Yield the scores of one run, and their means over groups of test sets.

    Raise UserError for missing files and unequal line counts.
    """
    corpus = experiment.settings.corpus
    scores = {test: _score_test(experiment, run, test) for test in corpus.tests}
    for test, test_scores in scores.items():
        for metric, score in test_scores.items():
            yield row(test, metric, score["score"], signature=score["signature"])
        yield from _bound_rows(experiment, test, test_scores["sacrebleu"])
    for group, members in corpus.groups.items():
        for metric, first_score in scores[members[0]].items():
            if not all(metric in scores[member] for member in members):
                continue  # a member without documents has no d_bleu
            mean = round(fmean(scores[member][metric]["score"] for member in members), 4)
            yield row(group, metric, mean, signature=f"mean of {', '.join(members)}: {first_score['signature']}")


def read_scoring_inputs(
    experiment: EvaluationFolder, run: str, test: str, *, tokenized: bool
) -> tuple[list[str], list[list[str]]]:
    """Return a run's output and the references, see `scoring_inputs`; raise UserError if their line counts differ."""
    path = experiment.hypotheses(run)
    hypothesis, references = scoring_inputs(
        experiment, read_hypotheses(path, test), test, tokenized=tokenized, external=are_external(path)
    )
    if len(hypothesis) != len(references[0]):
        raise UserError(
            f"{path}: {test} has {len(hypothesis)} lines, its references have {len(references[0])}; translate again"
        )
    return hypothesis, references


def to_tokens(settings: EvaluationPlan, language: str, lines: Iterable[str]) -> Iterable[str]:
    """Return lines of runs/tokenized as Moses tokens; they are raw text if units are made of raw text."""
    if not settings.untokenized:
        return lines
    text = settings.text
    side = MosesSide(language, text.source if language == settings.corpus.source else text.target)
    return map_lines(side.tokens, lines)


def _score_test(experiment: EvaluationFolder, run: str, test: str) -> dict[str, Score]:
    hypothesis, references = read_scoring_inputs(experiment, run, test, tokenized=False)
    tokenizer, text = experiment.settings.chosen_tokenizer, token_origin(experiment.settings)
    notes = _signature_notes(experiment.settings)
    scores = score_raw(hypothesis, references, tokenizer=tokenizer, **notes)
    if documents := read_documents(experiment.tokenized, test, len(hypothesis)):
        scores |= score_documents(hypothesis, references, documents, tokenizer=tokenizer, **notes)
    return scores | score_tokenized(*read_scoring_inputs(experiment, run, test, tokenized=True), text=text)


def _signature_notes(settings: EvaluationPlan) -> dict[str, str]:
    """Return the notes in signatures of raw text: the origin of its tokens if a script has split it."""
    text = token_origin(settings)
    return {"text": text} if text.startswith(PRETOKENIZED_BY_SCRIPT) else {}


def _bound_rows(experiment: EvaluationFolder, test: str, score: Score) -> Iterator[Row]:
    """Yield the score of an oracle that sees one sentence at a time, and the run's score in per cent of it."""
    settings = experiment.settings
    target = settings.corpus.target
    bound = experiment.corpus / f"{test}.bound.{target}"
    if not bound.is_file():
        return
    side = MosesSide(target, settings.text.target)
    as_system_text = side.normalize if settings.untokenized else side.tokens
    lines = list(map_lines(as_system_text, side.prepare(read_lines(bound))))
    guesses, references = scoring_inputs(experiment, lines, test, tokenized=False)
    if len(guesses) != len(references[0]):
        raise UserError(f"{bound} has {len(guesses)} lines for {len(references[0])} sentences")
    bound_score = score_sacrebleu(
        guesses, references, tokenizer=settings.chosen_tokenizer, **_signature_notes(settings)
    )
    oracle, signature = bound_score.values()
    if oracle == 0:
        raise UserError(f"{bound} scores 0 sacrebleu: it is not a translation of the test set")
    yield row(test, "sacrebleu", oracle, signature=signature, subject=BOUND)
    yield row(test, "sacrebleu_of_bound", round(100 * score["score"] / oracle, 4), signature=f"percent|{signature}")


def size_rows(experiment: EvaluationFolder) -> Iterator[Row]:
    """Yield the numbers of sentences, documents and words of the training set, the validation set and all test sets.

    Words are Moses tokens, with the language as tag. Training pairs that cleaning drops are not counted. Raise
    UserError for missing files.
    """
    corpus, folder = experiment.settings.corpus, experiment.tokenized
    for split in dict.fromkeys((corpus.train, corpus.validation, *corpus.tests)):
        sentences = 0
        for language in (corpus.source, corpus.target):
            lines = iterate_lines(folder / f"{split}.{language}")
            lengths = [len(line.split()) for line in to_tokens(experiment.settings, language, lines)]
            sentences = len(lengths)
            yield row(split, "words_of_text", sum(lengths), tag=language, subject=TEXT)
        yield row(split, "sentences_of_text", sentences, subject=TEXT)
        if documents := read_documents(folder, split, sentences):
            yield row(split, "documents_of_text", len(documents), subject=TEXT)
