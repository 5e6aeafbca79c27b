"""The ceiling of a score: that of a perfect system, whose output is the references, turned into tokens and back.

Units are not part of it. They come back as they were, and what a vocabulary lacks is the choice of the experiment.
"""

from typing import Any

from context_nmt.corpus.moses import MosesSide, Truecaser
from context_nmt.corpus.workers import map_lines
from context_nmt.files import UserError, iterate_lines, write_json
from context_nmt.measures.bleu import bleu_metric, score_sacrebleu, score_tokenized
from context_nmt.measures.scored_text import TextFolder, as_scored, text_of_tokens
from context_nmt.progress import say
from context_nmt.settings.evaluation import SignificanceSettings

DOUBTFUL = 99.0  # a lower ceiling is a warning


def check_ceilings(experiment: TextFolder, settings: SignificanceSettings) -> None:
    """Say the ceiling of each test set, by `settings.metric`, and write all of them to metrics/ceilings.json.

    A low one comes with the shortest sentence that does not come back. Raise UserError for one that is lower than
    `settings.minimum_ceiling`.
    """
    ceilings = {test: ceiling(experiment, settings, test) for test in experiment.settings.corpus.tests}
    write_json(experiment.folder / "metrics/ceilings.json", ceilings)
    for test, found in ceilings.items():
        says = f"{test}: a perfect system would have {found['score']:.2f} {settings.metric} ({found['signature']})"
        if found["score"] < settings.minimum_ceiling:
            raise UserError(
                f"{says}; {found['reason']}. significance.minimum_ceiling is {settings.minimum_ceiling:g}; a lower one"
                " accepts this"
            )
        say(f"warning: {says}; {found['reason']}" if "reason" in found else says)


def ceiling(experiment: TextFolder, settings: SignificanceSettings, test: str) -> dict[str, Any]:
    """Return the ceiling of a test set, {"score", "signature"}, and a "reason" for a low one."""
    target, side = experiment.settings.corpus.target, experiment.settings.text.target
    lines = iterate_lines(experiment.tokenized / f"{test}.{target}")
    if side.truecase:
        lines = map_lines(Truecaser.load(experiment.tokenized / f"truecaser.{target}.json").detruecase, lines)
    tokenized = settings.metric != "sacrebleu"
    returned, references = as_scored(experiment, list(lines), test, tokenized=tokenized)
    if tokenized:
        found = score_tokenized(returned, references, text=text_of_tokens(experiment.settings))[settings.metric]
    else:
        found = score_sacrebleu(returned, references, tokenizer=experiment.settings.chosen_tokenizer)
    if found["score"] >= max(DOUBTFUL, settings.minimum_ceiling):
        return found
    split = bleu_metric(settings.metric, experiment.settings.chosen_tokenizer).tokenizer
    case = str.lower if settings.metric == "bleu_lowercased" else str
    pairs = zip(references[0], returned, strict=True)
    changed = [(given, back) for given, back in pairs if split(case(given)).split() != split(case(back)).split()]
    if not changed:
        return found | {"reason": "all sentences come back, but have fewer than four tokens"}
    given, back = min(changed, key=lambda pair: len(pair[0]))
    reason = f"for example, {given!r} comes back as {back!r}"
    if MosesSide(target, side).normalize(given) != " ".join(given.split()):
        reason += ", which text.target.normalize_punctuation: false may prevent"
    elif side.truecase and given.lower() == back.lower():
        reason += ", which text.target.truecase: false prevents"
    return found | {"reason": reason}
