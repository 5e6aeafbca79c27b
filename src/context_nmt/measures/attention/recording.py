"""Reads what named submodules of a model put out, batch by batch, as it translates."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from context_nmt.corpus.batching import length_batches, pad
from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.previous import document_batches, sentences_before, with_previous
from context_nmt.corpus.vocabulary import BEGIN, END, PADDING
from context_nmt.decoding import masked_search
from context_nmt.decoding.in_batches import check_positions, evaluating
from context_nmt.measures.rows import Row, row
from context_nmt.models.kinds.autoregressive import TranslationModel
from context_nmt.models.kinds.document import DocumentModel
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.models.model import Model
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.transformer.attention import Shows

TOKENS = 2048  # of a batch, padding and the sentences before it included

Outputs = dict[str, Tensor]  # by the submodule's name


@dataclass(frozen=True)
class Batch:
    """What submodules have put out for B sentences."""

    outputs: Outputs
    sentences: list[int]  # their numbers in the split
    source: Tensor  # bool [B, S], True = real unit, END included
    encoder: Tensor  # bool [B, 0 or more + S]: the encoder's positions, which may begin with others than units
    target: Tensor  # bool [B, T], True = real position of the decoder


@dataclass(frozen=True)
class Attention:
    """An attention of a model, and what it shows, by the full names of submodules."""

    place: str  # encoder, decoder or cross
    layer: int  # from 1
    shows: Shows


def attentions(model: Model) -> list[Attention]:
    """Every attention of a model."""
    stacks = (("encoder", model.encoder, "self_attention"), ("decoder", model.decoder, "self_attention"))
    return [
        Attention(place, number, shown(model, f"{name}.layers.{number - 1}.{attention}"))
        for place, (name, stack, attention) in {
            **{name: (name, stack, attention) for name, stack, attention in stacks},
            "cross": ("decoder", model.decoder, "cross_attention"),
        }.items()
        for number in range(1, len(stack.layers) + 1)
    ]


def shown(model: nn.Module, path: str) -> Shows:
    """What a submodule shows, by full names; nothing if it does not say."""
    shows: Shows = getattr(model.get_submodule(path), "shows", Shows())

    def full(name: str | None) -> str | None:
        return None if name is None else f"{path}.{name}"

    return Shows(
        weights=tuple(f"{path}.{name}" for name in shows.weights),
        gates={side: f"{path}.{name}" for side, name in shows.gates.items()},
        global_share=full(shows.global_share),
        earlier_words=full(shows.earlier_words),
        earlier_sentences=full(shows.earlier_sentences),
    )


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
) -> Iterator[Batch]:
    """Yield for each batch of a split what the submodules put out; nothing if none is named.

    An autoregressive model is given the reference, and the pairs before it if it looks at these; a masked one its own
    best length, and its outputs are those of the last iteration. Raises UserError for a sentence longer than the
    model's learned positions.
    """
    if not names:
        return
    sources, targets = corpus.parallel(split)
    device = next(model.parameters()).device
    check_positions(model.source_embedding.positions, sources.lengths, f"{split}: sentence")
    if isinstance(model, TranslationModel):
        check_positions(model.target_embedding.positions, targets.lengths, f"{split}: the reference of sentence")
    documents = corpus.documents(split) or [range(number, number + 1) for number in range(len(sources))]
    before = sentences_before(documents, len(sources))
    lengths = sources.lengths + 1, targets.lengths + 1
    with evaluating(model), recording(model, names) as outputs:
        for batch in (
            document_batches(*lengths, documents, reach=model.reach, tokens=TOKENS)
            if model.in_documents
            else length_batches(*lengths, tokens=TOKENS)
        ):
            rows, previous = with_previous(batch, before, sentences=model.sentences, reach=model.reach)
            source = torch.from_numpy(pad([sources[number] for number in rows], last=END)).to(device)
            references = torch.from_numpy(pad([targets[number] for number in rows], first=BEGIN)).to(device)
            real = RUNS[type(model)](model, source, references, torch.from_numpy(previous).to(device), settings)
            units = (source != PADDING)[: len(batch)]
            yield Batch(
                outputs={name: output[: len(batch)] for name, output in outputs.items()},
                sentences=[int(number) for number in batch],
                source=units,
                encoder=functional.pad(units, (BEFORE_SOURCE.get(type(model), 0), 0)),
                target=real[: len(batch)],
            )


class SentenceMeans:
    """Of metrics that every position has, the mean over sentences of a sentence's mean over real positions."""

    def __init__(self) -> None:
        self._found: dict[str, dict[int, list[float]]] = {}  # by metric and layer

    def add(self, metric: str, layer: int, values: Tensor, real: Tensor) -> None:
        """Take [B, T] of a batch, and which positions are real."""
        layers = self._found.setdefault(metric, {})
        layers.setdefault(layer, []).extend(((values * real).sum(1) / real.sum(1)).tolist())

    def rows(self, test_set: str, *, with_means: bool = True) -> Iterator[Row]:
        """Yield each metric by layer, and its mean over the layers that have it."""
        for metric, layers in self._found.items():
            means = {layer: fmean(values) for layer, values in layers.items()}
            if with_means:
                yield row(test_set, metric, round(fmean(means.values()), 6))
            for layer, mean in means.items():
                yield row(test_set, metric, round(mean, 6), layer=layer)


def follows_the_reference(model: Model) -> bool:
    """Whether the decoder's positions are those of BEGIN and the reference, as `recorded` runs a model."""
    return not isinstance(model, MaskedLanguageModel)


def _teacher_forced(model: TranslationModel, source: Tensor, inputs: Tensor, _: Tensor, __: DecodingSettings) -> Tensor:
    model(source, inputs)
    return inputs != PADDING


def _in_documents(
    model: DocumentModel, source: Tensor, inputs: Tensor, previous: Tensor, _: DecodingSettings
) -> Tensor:
    model(source, inputs, previous)
    return inputs != PADDING


def _last_iteration(
    model: MaskedLanguageModel, source: Tensor, _: Tensor, __: Tensor, settings: DecodingSettings
) -> Tensor:
    # once more with the best length alone: a sixth of the work, and no outputs of other candidates to tell apart
    lengths = masked_search.best_lengths(model, source, settings)
    tokens = masked_search.predict(model, model.encode(source), lengths, settings.iterations)[0]
    return tokens != PADDING


RUNS: dict[type, Callable[[Any, Tensor, Tensor, Tensor, DecodingSettings], Tensor]] = {
    TranslationModel: _teacher_forced,
    DocumentModel: _in_documents,
    MaskedLanguageModel: _last_iteration,
}
BEFORE_SOURCE: dict[type, int] = {MaskedLanguageModel: 1}  # positions of the encoder: that of the length
