"""Noisy parallel decoding (Gu et al. 2018): a masked model proposes a candidate per length, a teacher chooses one.

The teacher's log-probability of a candidate is divided by its units, END included: the sum would prefer short ones.
"""

import dataclasses

import numpy as np
import torch

from context_nmt.corpus.batching import Sentences
from context_nmt.decoding.forced_scoring import score_pairs
from context_nmt.decoding.in_batches import SINGLE_PROCESS
from context_nmt.decoding.search import Hypothesis
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import UserError
from context_nmt.models.devices import Processes
from context_nmt.models.kinds.autoregressive import TranslationModel
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.models.model import Model
from context_nmt.progress import Progress
from context_nmt.settings.decoding import DecodingSettings


def rescore_ids(
    model: Model,
    teacher: Model,
    sentences: Sentences,
    settings: DecodingSettings,
    *,
    device: torch.device,
    progress: str | None = None,
    workers: int | None = None,
    processes: Processes = SINGLE_PROCESS,
) -> list[Hypothesis]:
    """Return the teacher's choice for every sentence; a tie goes to the candidate that the model ranks higher.

    See `in_batches` for `progress`, `workers` and `processes`. Raise UserError for a model that has no candidates of
    several lengths, a teacher that has no log-probabilities, and sentences or candidates too long for either.
    """
    if not isinstance(model, MaskedLanguageModel):
        raise UserError("the model is autoregressive; only a masked model has one candidate per length to choose from")
    if not isinstance(teacher, TranslationModel):
        raise UserError("the teacher is a masked model; only an autoregressive one can score a translation")
    all_lengths = dataclasses.replace(settings, n_best=settings.length_beam)
    with Progress(progress, 2, "steps") as steps:
        candidates = translate_ids(
            model, sentences, all_lengths, device=device, progress=progress, workers=workers, processes=processes
        )
        steps.advance()
        numbers = [number for number, hypotheses in enumerate(candidates) for _ in hypotheses]
        translations = [hypothesis.tokens for hypotheses in candidates for hypothesis in hypotheses]
        sums = score_pairs(
            teacher,
            [sentences[number] for number in numbers],
            [np.array(tokens, dtype=np.int64) for tokens in translations],
            device=device,
            progress=progress and f"{progress}, teacher",
            workers=workers,
            processes=processes,
        )
    rescored: list[list[Hypothesis]] = [[] for _ in candidates]
    for number, tokens, total in zip(numbers, translations, sums, strict=True):
        rescored[number].append(Hypothesis(tokens, total, total / (len(tokens) + 1)))
    return [max(hypotheses, key=lambda hypothesis: hypothesis.score) for hypotheses in rescored]
