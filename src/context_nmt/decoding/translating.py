"""Translates sentences of ids: batches of like length, the search of the model's kind, results in their order."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from context_nmt.corpus.batching import pad
from context_nmt.corpus.vocabulary import BEGIN, END, PADDING
from context_nmt.decoding import masked_search
from context_nmt.decoding.in_batches import (
    ALONE,
    Lengths,
    Sentences,
    check_positions,
    evaluating,
    in_batches,
    lengths_of,
)
from context_nmt.decoding.linear_maps import prepared
from context_nmt.decoding.search import Hypothesis, beam_search
from context_nmt.files import UserError
from context_nmt.models.building import Model
from context_nmt.models.masked_language_model import MaskedLanguageModel
from context_nmt.models.processes import Processes
from context_nmt.models.translation_model import TranslationModel
from context_nmt.settings import DecodingSettings


def translate_ids(
    model: Model,
    sentences: Sentences,
    settings: DecodingSettings,
    *,
    device: torch.device,
    progress: str | None = None,
    workers: int | None = None,
    processes: Processes = ALONE,
) -> list[list[Hypothesis]]:
    """Return the `settings.n_best` best hypotheses of every sentence, best first, in the order of the input.

    A sentence of no units is translated, too: the model then sees END alone. See `in_batches` for `progress`, `workers`
    and `processes`.
    Raises UserError for a sentence that is longer than the model's learned positions, and for more hypotheses than the
    search has.
    """
    lengths = lengths_of(sentences)
    check_positions(model.source_embedding.positions, lengths, "sentence")
    kind = SEARCHES[type(model)]
    if settings.n_best > kind.width(settings):
        raise UserError(f"decoding.n_best is {settings.n_best}; this model's search has {kind.width(settings)}")

    def translate(batch: Lengths) -> list[list[Hypothesis]]:
        source = torch.from_numpy(pad([sentences[number] for number in batch], last=END)).to(device)
        return kind.search(model, source, lengths[batch], settings)

    with evaluating(model), prepared(model, settings.precision):
        cut = list(batches(lengths, settings.batch_tokens, kind.width(settings)))
        found = in_batches(translate, cut, lengths, progress=progress, workers=workers, processes=processes)
    return [found[number] for number in range(len(lengths))]


def batches(lengths: Lengths, tokens: int, width: int) -> Iterator[Lengths]:
    """Yield the numbers of the sentences in batches of at most `tokens` source tokens times `width`.

    The longest come first, so that memory runs out at once if it does. A sentence that is too long is alone.
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        hypotheses = tokens // (int(lengths[order[start]]) + 1)  # END included
        end = start + max(1, hypotheses // width)
        yield order[start:end]
        start = end


def _beam_search(
    model: TranslationModel, source: Tensor, lengths: Lengths, settings: DecodingSettings
) -> list[list[Hypothesis]]:
    return beam_search(
        model.step,
        model.start(model.encode(source)),
        batch=len(source),
        beam=settings.beam,
        length_penalty=settings.length_penalty,
        weight=settings.length_penalty_weight,
        maximum_lengths=_maximum_lengths(model, lengths, settings).to(source.device),
        n_best=settings.n_best,
        stop=settings.stop,
        begin=BEGIN,
        end=END,
        forbidden=(PADDING, BEGIN),
    )


def _maximum_lengths(model: TranslationModel, lengths: Lengths, settings: DecodingSettings) -> Tensor:
    """Units before END: ratio * source length + offset, as far as the model has positions."""
    maximum = (settings.maximum_length_ratio * lengths).astype(np.int64) + settings.maximum_length_offset
    if model.target_embedding.positions is not None:
        maximum = np.minimum(maximum, model.target_embedding.positions.num_embeddings - 1)
    return torch.from_numpy(maximum)


def _mask_predict(
    model: MaskedLanguageModel, source: Tensor, lengths: Lengths, settings: DecodingSettings
) -> list[list[Hypothesis]]:
    return masked_search.search(model, source, settings)


@dataclass(frozen=True)
class Search:
    """How a kind of model translates."""

    search: Callable[[Any, Tensor, Lengths, DecodingSettings], list[list[Hypothesis]]]
    width: Callable[[DecodingSettings], int]  # hypotheses per sentence that are in memory at once


SEARCHES: dict[type, Search] = {
    TranslationModel: Search(_beam_search, lambda settings: settings.beam),
    MaskedLanguageModel: Search(_mask_predict, lambda settings: settings.length_beam),
}
