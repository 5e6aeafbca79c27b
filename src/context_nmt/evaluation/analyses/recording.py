"""Reads what named submodules of a model put out, batch by batch, as it translates."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from context_nmt.corpus.batching import length_batches, pad
from context_nmt.corpus.binarized import BinarizedCorpus, Ids
from context_nmt.corpus.vocabulary import BEGIN, END, PADDING
from context_nmt.decoding import masked_search
from context_nmt.decoding.in_batches import evaluating
from context_nmt.models.building import Model
from context_nmt.models.masked_language_model import MaskedLanguageModel
from context_nmt.models.translation_model import TranslationModel
from context_nmt.settings import DecodingSettings

TOKENS = 2048  # of a batch, padding included

Outputs = dict[str, Tensor]  # by the submodule's name


@contextmanager
def recording(model: nn.Module, names: list[str]) -> Iterator[Outputs]:
    """For a while, keep the last output of each named submodule."""
    outputs: Outputs = {}

    def keeper(name: str) -> Callable[[nn.Module, object, Tensor], None]:
        return lambda _, __, output: outputs.__setitem__(name, output)

    handles = [model.get_submodule(name).register_forward_hook(keeper(name)) for name in names]
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()


def recorded(
    model: Model, corpus: BinarizedCorpus, split: str, names: list[str], settings: DecodingSettings
) -> Iterator[tuple[Outputs, Tensor]]:
    """Yield for each batch of a split what the submodules put out, and which target positions are real, [B, T].

    An autoregressive model is given the reference; a masked one its own best length, and its outputs are those of the
    last iteration. Raises UserError for a sentence longer than the model's learned positions.
    """
    sources, targets = corpus.parallel(split)
    device = next(model.parameters()).device
    with evaluating(model), recording(model, names) as outputs:
        for batch in length_batches(sources.lengths + 1, targets.lengths + 1, tokens=TOKENS):
            source = torch.from_numpy(pad([sources[number] for number in batch], last=END)).to(device)
            yield outputs, RUNS[type(model)](model, source, [targets[number] for number in batch], settings)


def _teacher_forced(model: TranslationModel, source: Tensor, references: list[Ids], _: DecodingSettings) -> Tensor:
    inputs = torch.from_numpy(pad(references, first=BEGIN)).to(source.device)
    model(source, inputs)
    return inputs != PADDING


def _last_iteration(model: MaskedLanguageModel, source: Tensor, _: list[Ids], settings: DecodingSettings) -> Tensor:
    # once more with the best length alone: a sixth of the work, and no outputs of other candidates to tell apart
    lengths = masked_search.best_lengths(model, source, settings)
    tokens = masked_search.predict(model, model.encode(source), lengths, settings.iterations)[0]
    return tokens != PADDING


RUNS: dict[type, Callable[[Any, Tensor, list[Ids], DecodingSettings], Tensor]] = {
    TranslationModel: _teacher_forced,
    MaskedLanguageModel: _last_iteration,
}
