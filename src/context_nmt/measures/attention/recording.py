"""Reads the outputs of named submodules of a model, batch by batch, as it translates."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import fmean

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
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.models.model import Model
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.transformer.attention import Shows

TOKENS = 2048  # of a batch, padding and the sentences before it included

Outputs = dict[str, Tensor]  # by the submodule's name


@dataclass(frozen=True)
class Analysed:
    """A model and the test set that it is analysed on."""

    model: Model
    corpus: BinarizedCorpus
    test: str
    settings: DecodingSettings


@dataclass(frozen=True)
class Attention:
    """An attention of a model, and what it shows, by the full names of submodules."""

    place: str  # encoder, decoder or cross
    layer: int  # from 1
    shows: Shows


def attentions(model: Model) -> list[Attention]:
    """Return every attention of a model."""
    places = {"encoder": "encoder.self_attention", "decoder": "decoder.self_attention"}
    places["cross"] = "decoder.cross_attention"
    return [
        Attention(place, number, shown(model, f"{stack}.layers.{number - 1}.{attention}"))
        for place, (stack, attention) in ((place, path.split(".")) for place, path in places.items())
        for number in range(1, len(getattr(model, stack).layers) + 1)
    ]


def shown(model: nn.Module, path: str) -> Shows:
    """Return what a submodule shows, by full names; nothing if it does not say."""
    shows: Shows = getattr(model.get_submodule(path), "shows", Shows())
    return Shows(
        weights=tuple(f"{path}.{name}" for name in shows.weights),
        gates={side: f"{path}.{name}" for side, name in shows.gates.items()},
        global_share=shows.global_share and f"{path}.{shows.global_share}",
        earlier_words=shows.earlier_words and f"{path}.{shows.earlier_words}",
        earlier_sentences=shows.earlier_sentences and f"{path}.{shows.earlier_sentences}",
    )


@contextmanager
def recording(model: nn.Module, names: list[str]) -> Iterator[Outputs]:
    """Keep the last output of each named submodule for a while."""
    outputs: Outputs = {}

    def keeper(name: str) -> Callable[[nn.Module, object, Tensor], None]:
        return lambda _, __, output: outputs.__setitem__(name, output)

    handles = [model.get_submodule(name).register_forward_hook(keeper(name)) for name in names]
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()


@dataclass(frozen=True)
class Batch:
    """The outputs of submodules for B sentences."""

    outputs: Outputs
    sentences: list[int]  # their numbers in the test set
    source: Tensor  # bool [B, S], True = real unit, END included
    encoder: Tensor  # bool [B, 0 or more + S]: the encoder's positions, which may begin with others than units
    target: Tensor  # bool [B, T], True = real position of the decoder


def recorded(analysed: Analysed, names: list[str]) -> Iterator[Batch]:
    """Yield the outputs of the named submodules for each batch of a test set; nothing if none is named.

    An autoregressive model sees the reference, and the pairs before it if it looks at these; a masked one runs with its
    own best length, and its outputs are those of the last iteration. Raises UserError for a sentence longer than the
    model's learned positions.
    """
    if not names:
        return
    model, corpus, test = analysed.model, analysed.corpus, analysed.test
    sources, targets = corpus.parallel(test)
    device = next(model.parameters()).device
    masked = isinstance(model, MaskedLanguageModel)
    check_positions(model.source_embedding.positions, sources.lengths, f"{test}: sentence")
    if not masked:
        check_positions(model.target_embedding.positions, targets.lengths, f"{test}: the reference of sentence")
    documents = corpus.documents(test) or [range(number, number + 1) for number in range(len(sources))]
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
            if isinstance(model, MaskedLanguageModel):
                tokens = _last_iteration(model, source, analysed.settings)
            else:
                tokens = torch.from_numpy(pad([targets[number] for number in rows], first=BEGIN)).to(device)
                model.predict(source, tokens, torch.from_numpy(previous).to(device))
            units = (source != PADDING)[: len(batch)]
            yield Batch(
                outputs={name: output[: len(batch)] for name, output in outputs.items()},
                sentences=batch.tolist(),
                source=units,
                encoder=functional.pad(units, (int(masked), 0)),  # a masked model's encoder has the length first
                target=(tokens != PADDING)[: len(batch)],
            )


def _last_iteration(model: MaskedLanguageModel, source: Tensor, settings: DecodingSettings) -> Tensor:
    """Translate [B, S] -> [B, T] with the best length alone, so that no outputs are those of other candidates."""
    lengths = masked_search.best_lengths(model, source, settings)
    return masked_search.predict(model, model.encode(source), lengths, settings.iterations)[0]


class SentenceMeans:
    """The mean over sentences of a sentence's mean over real positions, by metric and layer."""

    def __init__(self) -> None:
        self._found: dict[str, dict[int, list[float]]] = {}  # by metric and layer

    def add(self, metric: str, layer: int, values: Tensor, real: Tensor) -> None:
        """Add the values [B, T] of a batch; `real` [B, T] are the positions that count."""
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
