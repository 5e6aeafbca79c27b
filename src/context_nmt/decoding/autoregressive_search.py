"""Beam search with a translation model, from a decoding state of it."""

import numpy as np
import torch
from torch import Tensor

from context_nmt.corpus.vocabulary import BEGIN, END, PADDING
from context_nmt.decoding.in_batches import Lengths
from context_nmt.decoding.search import Hypothesis, beam_search
from context_nmt.models.kinds.autoregressive import DecodingState, TranslationModel
from context_nmt.settings.decoding import DecodingSettings


def search(
    model: TranslationModel, source: Tensor, lengths: Lengths, settings: DecodingSettings
) -> list[list[Hypothesis]]:
    """Source ids [B, S] of sentences of `lengths` [B] units -> the n_best best translations of each."""
    return search_from(model, model.start(model.encode(source)), lengths, settings)


def search_from(
    model: TranslationModel, state: DecodingState, lengths: Lengths, settings: DecodingSettings
) -> list[list[Hypothesis]]:
    """The same from the state before the first step."""
    return beam_search(
        model.step,
        state,
        batch=len(lengths),
        beam=settings.beam,
        length_penalty=settings.length_penalty,
        weight=settings.length_penalty_weight,
        maximum_lengths=_maximum_lengths(model, lengths, settings).to(model.output.weight.device),
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
