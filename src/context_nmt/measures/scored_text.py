"""What scores compare: an output and the references of a test set, both as raw text or both as tokens."""

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

SEGMENTED = "script+pretokenized"  # text whose references count as a script has split them


class TextFolder(RunLayout):
    """A folder with metrics/plans/text.json, runs/tokenized and the raw text."""

    @cached_property
    def settings(self) -> EvaluationPlan:
        """Read the corpus and text settings that the plan stage wrote; raise UserError."""
        return read_plan(EvaluationPlan, self.stage_plan("text"))

    @property
    def corpus(self) -> Path:
        """The folder of raw text."""
        return self.data(self.settings.corpus.name)


def composed(lines: Sequence[str]) -> list[str]:
    """Return the lines in Unicode's form NFC, in which a letter and its marks have one spelling."""
    return [unicodedata.normalize("NFC", line) for line in lines]


def as_scored(
    experiment: TextFolder, hypothesis: list[str], test: str, *, tokenized: bool
) -> tuple[list[str], list[list[str]]]:
    """Return an output and the references of a test set, as tokens in their original case or as raw text in NFC.

    The output is tokens, which Moses turns into text or, if units are made of raw text, the other way round. From
    pretokenized text there is no way back, so its tokens count as its raw text.
    """
    settings = experiment.settings
    target, side = settings.corpus.target, settings.text.target
    compares_tokens = tokenized or side.pretokenized
    folder, suffix = (experiment.tokenized, ".cased") if compares_tokens else (experiment.corpus, "")
    names = reference_names(experiment.corpus, test, target)
    references = read_parallel(*(folder / f"{name}{suffix}" for name in names))
    if tokenized == settings.untokenized:
        moses = MosesSide(target, side)
        hypothesis = list(map_lines(moses.tokens if tokenized else moses.text, hypothesis))
    return composed(hypothesis), [composed(lines) for lines in references]


def text_of_tokens(settings: EvaluationPlan) -> str:
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
