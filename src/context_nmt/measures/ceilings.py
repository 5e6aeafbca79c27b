"""The ceiling of a score: what a perfect system would reach, whose output is the references, tokenized and detokenized.

Segmentation into units is not included: it is reversible, and what a vocabulary lacks is the experiment's choice.
"""

from typing import Any

from context_nmt.corpus.moses import MosesSide, Truecaser
from context_nmt.corpus.workers import map_lines
from context_nmt.files import UserError, iterate_lines, write_json
from context_nmt.measures.bleu import bleu_metric, score_sacrebleu, score_tokenized
from context_nmt.measures.scored_text import TextFolder, scoring_inputs, token_origin
from context_nmt.progress import say
from context_nmt.settings.evaluation import SignificanceSettings

LOWEST_WITHOUT_WARNING = 99.0


def check_ceilings(experiment: TextFolder, settings: SignificanceSettings) -> None:
    """Print each test set's ceiling of `settings.metric`, and write all of them to metrics/ceilings.json.

    For a low ceiling, quote the shortest sentence that changes. Raise UserError for a ceiling below
    `settings.minimum_ceiling`.
    """
    ceilings = {test: measure_ceiling(experiment, settings, test) for test in experiment.settings.corpus.tests}
    write_json(experiment.folder / "metrics/ceilings.json", ceilings)
    for test, ceiling in ceilings.items():
        summary = (
            f"{test}: a perfect system would have {ceiling['score']:.2f} {settings.metric} ({ceiling['signature']})"
        )
        if ceiling["score"] < settings.minimum_ceiling:
            raise UserError(
                f"{summary}; {ceiling['reason']}. significance.minimum_ceiling is"
                f" {settings.minimum_ceiling:g}; a lower value accepts this"
            )
        say(f"warning: {summary}; {ceiling['reason']}" if "reason" in ceiling else summary)


def measure_ceiling(experiment: TextFolder, settings: SignificanceSettings, test: str) -> dict[str, Any]:
    """Return the ceiling of a test set as {"score", "signature"}, and "reason" if it is low."""
    target, side = experiment.settings.corpus.target, experiment.settings.text.target
    lines = iterate_lines(experiment.tokenized / f"{test}.{target}")
    if side.truecase:
        lines = map_lines(Truecaser.load(experiment.tokenized / f"truecaser.{target}.json").detruecase, lines)
    tokenized = settings.metric != "sacrebleu"
    returned, references = scoring_inputs(experiment, list(lines), test, tokenized=tokenized)
    if tokenized:
        ceiling = score_tokenized(returned, references, text=token_origin(experiment.settings))[settings.metric]
    else:
        ceiling = score_sacrebleu(returned, references, tokenizer=experiment.settings.chosen_tokenizer)
    if ceiling["score"] >= max(LOWEST_WITHOUT_WARNING, settings.minimum_ceiling):
        return ceiling
    tokenize = bleu_metric(settings.metric, experiment.settings.chosen_tokenizer).tokenizer
    case = str.lower if settings.metric == "bleu_lowercased" else str
    pairs = zip(references[0], returned, strict=True)
    changed_pairs = [
        (reference, returned_line)
        for reference, returned_line in pairs
        if tokenize(case(reference)).split() != tokenize(case(returned_line)).split()
    ]
    if not changed_pairs:
        return ceiling | {"reason": "all sentences come back, but have fewer than four tokens"}
    reference, returned_line = min(changed_pairs, key=lambda pair: len(pair[0]))
    reason = f"for example, {reference!r} comes back as {returned_line!r}"
    if MosesSide(target, side).normalize(reference) != " ".join(reference.split()):
        reason += ", which text.target.normalize_punctuation: false may prevent"
    elif side.truecase and reference.lower() == returned_line.lower():
        reason += ", which text.target.truecase: false prevents"
    elif reference.replace(" ", "") == returned_line.replace(" ", ""):
        reason += ", which units.kind: sentencepiece prevents, since it needs no tokens"
    return ceiling | {"reason": reason}
