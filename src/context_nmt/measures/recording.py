"""Record the outputs of named submodules while a model translates, batch by batch."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import fmean

from torch import Tensor, nn
from torch.nn import functional

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.vocabulary import PADDING
from context_nmt.decoding import masked_search
from context_nmt.decoding.in_batches import check_positions, evaluation_mode
from context_nmt.measures.rows import Row, row
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.models.model import Model
from context_nmt.progress import tracked
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.training.batches import Pairs
from context_nmt.transformer.attention import Shows

BATCH_TOKENS = 2048  # in a batch, including padding and preceding sentences
ATTENTION_SITES = (  # kind, stack and submodule
    ("encoder", "encoder", "self_attention"),
    ("decoder", "decoder", "self_attention"),
    ("cross", "decoder", "cross_attention"),
)

Outputs = dict[str, Tensor]  # by the submodule's name


@dataclass(frozen=True)
class AnalysisInput:
    """A model and the test set to analyse it on."""

    model: Model
    corpus: BinarizedCorpus
    test: str
    settings: DecodingSettings


@dataclass(frozen=True)
class AttentionSite:
    """An attention of one layer; `shows` has full names of submodules."""

    kind: str  # encoder, decoder or cross
    layer: int  # from 1
    shows: Shows


def attention_sites(model: Model) -> list[AttentionSite]:
    """Return every attention of a model."""
    return [
        AttentionSite(kind, layer, qualified_shows(model, f"{stack}.layers.{layer - 1}.{submodule}"))
        for kind, stack, submodule in ATTENTION_SITES
        for layer in range(1, len(getattr(model, stack).layers) + 1)
    ]


def qualified_shows(model: nn.Module, path: str) -> Shows:
    """Return the `shows` of a submodule with full names; an empty one if it has none."""
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
    """Record the latest output of each named submodule inside the block."""
    outputs: Outputs = {}

    def make_hook(name: str) -> Callable[[nn.Module, object, Tensor], None]:
        return lambda _, __, output: outputs.__setitem__(name, output)

    handles = [model.get_submodule(name).register_forward_hook(make_hook(name)) for name in names]
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()


@dataclass(frozen=True)
class RecordedBatch:
    """The outputs of submodules for B sentences."""

    outputs: Outputs
    sentences: list[int]  # their numbers in the test set
    source: Tensor  # bool [B, S], True = real unit, END included
    encoder: Tensor  # bool [B, P + S]: encoder positions; the first P are not units: 1 in masked models, else 0
    target: Tensor  # bool [B, T], True = real position of the decoder


def record_batches(analysed: AnalysisInput, names: list[str]) -> Iterator[RecordedBatch]:
    """Yield the outputs of the named submodules for each batch of a test set.

    Yield nothing without names. An autoregressive model reads the reference, and preceding pairs if its mechanisms use
    them; a model that joins sentences reads each sentence alone. A masked model translates with its best length, and
    the outputs of its last iteration are recorded. Raise UserError for a sentence longer than the model's learned
    positions.
    """
    if not names:
        return
    model, corpus, test = analysed.model, analysed.corpus, analysed.test
    sources, targets = corpus.parallel(test)
    documents = None
    if model.in_documents:
        documents = corpus.documents(test) or [range(number, number + 1) for number in range(len(sources))]
    pairs = Pairs(
        *(sources, targets),
        maximum_length=None,
        documents=documents,
        context_sentences=model.context_sentences,
        receptive_sentences=model.receptive_sentences,
    )
    is_masked = isinstance(model, MaskedLanguageModel)
    check_positions(model.source_embedding.positions, sources.lengths, f"{test}: sentence")
    if not is_masked:
        check_positions(model.target_embedding.positions, targets.lengths, f"{test}: the reference of sentence")
    batches = pairs.batches(tokens=BATCH_TOKENS)
    with evaluation_mode(model), recording(model, names) as outputs:
        for numbers in tracked(batches, test, len(batches), "batches"):
            batch = pairs.load(numbers).to(next(model.parameters()).device)
            tokens = batch.target_inputs
            if isinstance(model, MaskedLanguageModel):
                lengths = masked_search.best_lengths(model, batch.source, analysed.settings)
                iterations = analysed.settings.iterations
                tokens, _ = masked_search.mask_predict(model, model.encode(batch.source), lengths, iterations)
            else:
                model.predict(batch.source, tokens, batch.previous)
            units = (batch.source != PADDING)[: len(numbers)]
            yield RecordedBatch(
                outputs={name: output[: len(numbers)] for name, output in outputs.items()},
                sentences=numbers.tolist(),
                source=units,
                encoder=functional.pad(units, (int(is_masked), 0)),  # a masked model's encoder has the length first
                target=(tokens != PADDING)[: len(numbers)],
            )


class SentenceMeans:
    """Means over the real positions of each sentence, then over sentences, by metric and layer."""

    def __init__(self) -> None:
        # by metric and layer
        self._sentence_values: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, metric: str, layer: int, values: Tensor, real: Tensor) -> None:
        """Add the values [B, T] of a batch; `real` [B, T] marks the positions that count."""
        self._sentence_values[metric][layer] += ((values * real).sum(1) / real.sum(1)).tolist()

    def rows(self, test_set: str, *, without_mean: Collection[str] = ()) -> Iterator[Row]:
        """Yield each metric by layer and, unless it is one of `without_mean`, its mean over these layers."""
        for metric, layers in self._sentence_values.items():
            means = {layer: fmean(values) for layer, values in layers.items()}
            if metric not in without_mean:
                yield row(test_set, metric, round(fmean(means.values()), 6))
            for layer, mean in means.items():
                yield row(test_set, metric, round(mean, 6), layer=layer)
