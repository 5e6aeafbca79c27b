"""Translates sentences of ids: batches of like length, beam search, results in the order of the input."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from context_nmt.corpus.batching import pad
from context_nmt.corpus.vocabulary import BEGIN, END, PADDING
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
from context_nmt.models.processes import Processes
from context_nmt.models.translation_model import TranslationModel
from context_nmt.settings import DecodingSettings


def translate_ids(
    model: TranslationModel,
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
    Raises UserError for a sentence that is longer than the model's learned positions.
    """
    lengths = lengths_of(sentences)
    check_positions(model.source_embedding.positions, lengths, "sentence")

    def translate(batch: Lengths) -> list[list[Hypothesis]]:
        source = torch.from_numpy(pad([sentences[number] for number in batch], last=END)).to(device)
        return _search(model, source, _maximum_lengths(model, lengths[batch], settings).to(device), settings)

    with evaluating(model), prepared(model, settings.precision):
        cut = list(batches(lengths, settings))
        found = in_batches(translate, cut, lengths, progress=progress, workers=workers, processes=processes)
    return [found[number] for number in range(len(lengths))]


def batches(lengths: Lengths, settings: DecodingSettings) -> Iterator[Lengths]:
    """Yield the numbers of the sentences in batches of at most `settings.batch_tokens` source tokens times the beam.

    The longest come first, so that memory runs out at once if it does. A sentence that is too long is alone.
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        hypotheses = settings.batch_tokens // (int(lengths[order[start]]) + 1)  # END included
        end = start + max(1, hypotheses // settings.beam)
        yield order[start:end]
        start = end


def _search(
    model: TranslationModel, source: Tensor, maximum_lengths: Tensor, settings: DecodingSettings
) -> list[list[Hypothesis]]:
    return beam_search(
        model.step,
        model.start(model.encode(source)),
        batch=len(source),
        beam=settings.beam,
        length_penalty=settings.length_penalty,
        weight=settings.length_penalty_weight,
        maximum_lengths=maximum_lengths,
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
