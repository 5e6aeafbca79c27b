"""Log-probabilities of given translations, by forced decoding or by masking one unit at a time."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from context_nmt.corpus.batching import (
    Indices,
    JoinedSentences,
    Sentences,
    document_batches,
    join_sentences,
    joined_lengths,
    length_batches,
    pad,
    sentences_before,
    with_previous,
)
from context_nmt.corpus.vocabulary import BEGIN, END, MASK, PADDING
from context_nmt.decoding.in_batches import Lengths, check_positions, evaluation_mode, lengths_of, process_batches
from context_nmt.models.devices import Processes
from context_nmt.models.kinds.autoregressive import TranslationModel
from context_nmt.models.kinds.document import DocumentModel
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.models.model import Model

Context = Sequence[tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]]  # pairs of ids

MASKED_POSITIONS = 32_768  # that a masked model decodes at a time: each of T units is masked in a copy of its sentence
BATCH_UNITS = 1024  # of a batch on its longer side, with contexts and padding; all its logits are in memory


def score_pairs(
    model: Model,
    sources: Sentences,
    targets: Sentences,
    *,
    contexts: Sequence[Context] | None = None,
    progress: str | None = None,
    processes: Processes | None = None,
) -> list[float]:
    """Return the log-probability of every target given its source, in nats: the sum over its units and END.

    A masked model has no such probability. Its score is the pseudo-log-likelihood (Salazar et al. 2020): the
    log-probability of the length, plus those of all units, each given all others.

    `contexts` are the pairs that precede each pair, oldest first, for a model that reads previous sentences; their
    probabilities never count. Equal pairs with equal contexts are scored once, so that they tie exactly, because
    rounding could differ. For the other arguments see `process_batches`. Raise UserError for a sentence longer than the
    model's learned positions.
    """
    lengths = lengths_of(targets)
    contexts = [()] * len(sources) if contexts is None else contexts
    windows = [(*contexts[n], (sources[n], targets[n])) for n in range(len(sources))]
    sources = [join_sentences([source for source, _ in window[-1 - model.previous_sources :]]) for window in windows]
    targets = [join_sentences([target for _, target in window[-1 - model.previous_targets :]]) for window in windows]
    target_lengths = lengths_of(targets)
    check_positions(model.source_embedding.positions, lengths_of(sources), "the source of pair")
    check_positions(model.target_embedding.positions, target_lengths, "the target of pair")
    # Empty for a model that joins sentences.
    used_contexts = [context[max(0, len(context) - model.receptive_sentences) :] for context in contexts]
    for side, embedding in enumerate((model.source_embedding, model.target_embedding)):
        longest = [max((len(pair[side]) for pair in context), default=0) for context in used_contexts]
        check_positions(embedding.positions, np.array(longest, dtype=np.int64), "a sentence before pair")
    documents = [(*used_contexts[n], (sources[n], targets[n])) for n in range(len(sources))]
    first_numbers: dict[tuple[bytes, ...], int] = {}
    keys = [tuple(ids.tobytes() for pair in document for ids in pair) for document in documents]
    originals = [first_numbers.setdefault(key, number) for number, key in enumerate(keys)]
    distinct = np.array(list(first_numbers.values()), dtype=np.int64)

    def score(batch: Indices) -> list[float]:
        last = np.cumsum([len(documents[number]) for number in batch]) - 1
        pairs = [pair for number in batch for pair in documents[number]]
        before = np.concatenate([np.arange(len(documents[number])) for number in batch])
        all_sources, all_targets = zip(*pairs, strict=True)
        return _score_sentences(model, all_sources, all_targets, before, last, target_lengths[batch] - lengths[batch])

    batch_units = [len(documents[n]) * (1 + max(len(ids) for pair in documents[n] for ids in pair)) for n in distinct]
    sizes = np.array(batch_units, dtype=np.int64)
    batches = length_batches(sizes, sizes, tokens=BATCH_UNITS)
    longest_first = [distinct[batch] for batch in reversed(batches)]  # so that memory, if too small, runs out early
    with evaluation_mode(model):
        scores = process_batches(score, longest_first, target_lengths, progress=progress, processes=processes)
    return [scores[number] for number in originals]


def score_text(
    model: Model,
    sources: Sentences,
    targets: Sentences,
    *,
    documents: list[range] | None,
    progress: str | None = None,
    processes: Processes | None = None,
) -> list[float]:
    """Return what `score_pairs` does for the sentences of a text, each with those before it in its document."""
    before = sentences_before(documents, len(sources))
    lengths = lengths_of(targets)
    joined_sources = JoinedSentences(sources, before, model.previous_sources)
    joined_targets = JoinedSentences(targets, before, model.previous_targets)
    source_lengths = joined_lengths(lengths_of(sources), before, model.previous_sources)
    target_lengths = joined_lengths(lengths, before, model.previous_targets)
    check_positions(model.source_embedding.positions, source_lengths, "the source of sentence")
    check_positions(model.target_embedding.positions, target_lengths, "the target of sentence")

    def score(batch: Indices) -> list[float]:
        previous_units = target_lengths[batch] - lengths[batch]
        return _score_sentences(model, joined_sources, joined_targets, before, batch, previous_units)

    sizes = (source_lengths + 1, target_lengths + 1)
    if documents and model.receptive_sentences:
        receptive_sentences = model.receptive_sentences
        batches = document_batches(*sizes, documents, receptive_sentences=receptive_sentences, tokens=BATCH_UNITS)
    else:
        batches = length_batches(*sizes, tokens=BATCH_UNITS)[::-1]  # the longest first, as above
    with evaluation_mode(model):
        scores = process_batches(score, batches, target_lengths, progress=progress, processes=processes)
    return [scores[number] for number in range(len(sources))]


def _score_sentences(
    model: Model, sources: Sentences, targets: Sentences, before: Indices, numbers: Indices, previous_units: Lengths
) -> list[float]:
    """Score the sentences with these numbers [B] in a text, given the number of sentences before each in its document.

    `previous_units` [B] are the units of joined sentences, which do not count.
    """
    rows, previous = with_previous(
        numbers, before, context_sentences=model.context_sentences, receptive_sentences=model.receptive_sentences
    )
    pairs = [(sources[row], targets[row]) for row in rows]
    scored = pairs[: len(numbers)]
    inputs = pad([target for _, target in pairs], first=BEGIN)
    labels = pad([target for _, target in scored], last=END)
    labels[np.arange(labels.shape[1]) < previous_units[:, None]] = PADDING
    labels = np.pad(labels, ((0, 0), (0, inputs.shape[1] - labels.shape[1])), constant_values=PADDING)
    ids = (pad([source for source, _ in pairs], last=END), inputs, labels, previous)
    return SCORES[type(model)](model, *(torch.from_numpy(array).to(model.device) for array in ids)).tolist()


def _log_probabilities(
    model: TranslationModel, source: Tensor, inputs: Tensor, labels: Tensor, previous: Tensor
) -> Tensor:
    """Source ids [B, S], target ids with BEGIN and with END [B, T], rows of previous sentences [B, K] -> [B].

    Rows after the labels are only context for the others.
    """
    states, _ = model.predict(source, inputs, previous)
    return -_losses(model.output(states[: len(labels)]), labels).sum(1)


def _pseudo_log_likelihoods(
    model: MaskedLanguageModel, source: Tensor, inputs: Tensor, labels: Tensor, _: Tensor
) -> Tensor:
    """Return the pseudo-log-likelihood of each target [B]; inputs are ignored."""
    memory, lengths = model.encode_with_length(source)
    count, longest = labels.shape
    diagonal = torch.eye(longest, dtype=torch.bool, device=labels.device)  # row i masks unit i
    masked = labels[:, None].expand(-1, longest, -1).masked_fill(diagonal & (labels != PADDING)[:, None], MASK)
    parts = torch.split(masked, max(1, MASKED_POSITIONS // (count * longest)), dim=1)
    decoded = [model.decode(part.flatten(0, 1), memory).view(*part.shape, -1) for part in parts]
    states = torch.cat(decoded, dim=1)
    of_units = -_losses(model.output(states.diagonal(dim1=1, dim2=2).transpose(1, 2)), labels).sum(1)
    number = (labels != PADDING).sum(1, keepdim=True).clamp(max=lengths.size(1) - 1)
    return of_units + lengths.double().log_softmax(-1).gather(1, number)[:, 0]


def _losses(logits: Tensor, labels: Tensor) -> Tensor:
    """Logits [B, T, V] and labels [B, T] -> negative log-likelihoods [B, T], 0 where the label is padding."""
    losses = cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=PADDING, reduction="none")
    return losses.view(labels.shape).double()


SCORES: dict[type, Callable[[Any, Tensor, Tensor, Tensor, Tensor], Tensor]] = {
    TranslationModel: _log_probabilities,
    DocumentModel: _log_probabilities,
    MaskedLanguageModel: _pseudo_log_likelihoods,
}
