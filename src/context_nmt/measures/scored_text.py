"""The texts that a score compares: an output and the references of a test set, both raw or both tokenized."""

import unicodedata
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from context_nmt.corpus.documents import reference_names
from context_nmt.corpus.moses import MosesSide
from context_nmt.corpus.workers import map_lines
from context_nmt.files import read_parallel
from context_nmt.measures.bleu import tokenizer_name
from context_nmt.settings import read_plan
from context_nmt.settings.evaluation import EvaluationPlan
from context_nmt.settings.run_layout import RunLayout

PRETOKENIZED_BY_SCRIPT = "script+pretokenized"  # origin of text that a script has split, references included


class TextFolder(RunLayout):
    """An experiment's folder, with metrics/plans/text.json, runs/tokenized and the raw text."""

    @cached_property
    def settings(self) -> EvaluationPlan:
        """The corpus and text settings that the plan stage wrote; a UserError if the plan is missing or invalid."""
        return read_plan(EvaluationPlan, self.stage_plan("text"))

    @property
    def corpus(self) -> Path:
        """The folder of raw text."""
        return self.data(self.settings.corpus.name)


def to_nfc(lines: Sequence[str]) -> list[str]:
    """Normalize lines to NFC, Unicode's form in which a letter with its marks has a single spelling."""
    return [unicodedata.normalize("NFC", line) for line in lines]


def scoring_inputs(
    experiment: TextFolder, hypothesis: list[str], test: str, *, tokenized: bool, external: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Return an output and the references of a test set, as tokens in their original case or as raw text in NFC.

    The output consists of tokens, or of raw text if units are made of it; Moses converts it to the other form where
    needed. Pretokenized text cannot be detokenized, so its tokens count as its raw text. The output of an external
    system is raw text, whose tokens are made like those of the references.
    """
    settings = experiment.settings
    target, side = settings.corpus.target, settings.text.target
    compares_tokens = tokenized or side.pretokenized
    folder, suffix = (experiment.tokenized, ".cased") if compares_tokens else (experiment.corpus, "")
    names = reference_names(experiment.corpus, test, target)
    references = read_parallel(*(folder / f"{name}{suffix}" for name in names))
    moses = MosesSide(target, side)
    if external:
        hypothesis = list(map_lines(moses.tokens, moses.prepare(hypothesis))) if compares_tokens else hypothesis
    elif tokenized == settings.untokenized:
        hypothesis = list(map_lines(moses.tokens if tokenized else moses.text, hypothesis))
    return to_nfc(hypothesis), [to_nfc(lines) for lines in references]


def token_origin(settings: EvaluationPlan) -> str:
    """Return the steps that made the tokens of the target side, for signatures."""
    side = settings.text.target
    steps = {
        "script": side.script is not None,
        "pretokenized": side.pretokenized,
        "normalized": side.normalize_punctuation and not side.pretokenized,
        tokenizer_name(settings.corpus.target, normalized=side.normalize_punctuation): not side.pretokenized,
        "aggressive-hyphens": side.aggressive_hyphens and not side.pretokenized,
    }
    return "+".join(step for step, applied in steps.items() if applied)
