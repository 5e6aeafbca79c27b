"""Translate sentences of ids, or documents sentence by sentence, with the search for the model's kind."""

from collections import defaultdict, deque
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from context_nmt.corpus.batching import (
    BREAK,
    Indices,
    JoinedSentences,
    Sentences,
    joined_lengths,
    pad,
    sentences_before,
)
from context_nmt.corpus.vocabulary import BEGIN, END, PADDING
from context_nmt.decoding import masked_search
from context_nmt.decoding.in_batches import (
    Lengths,
    TranslationInput,
    check_positions,
    evaluation_mode,
    lengths_of,
    process_batches,
    split_documents,
)
from context_nmt.decoding.linear_maps import in_bf16, prepared_weights
from context_nmt.decoding.search import Hypothesis, beam_search
from context_nmt.files import UserError
from context_nmt.models.devices import Processes, resolve_precision
from context_nmt.models.kinds.autoregressive import DecodingState, TranslationModel
from context_nmt.models.kinds.document import DocumentModel, SentenceStates, context_of
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.models.model import Model
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.transformer.sentence_context import SentenceContext

Search = Callable[[Any, TranslationInput, Indices, DecodingSettings], list[list[Hypothesis]]]


BATCH_TOKENS = defaultdict(lambda: 4096, cuda=262_144)  # by the type of the device


def search_sentences(
    model: TranslationModel, text: TranslationInput, batch: Indices, settings: DecodingSettings
) -> list[list[Hypothesis]]:
    """Return the n_best best translations of each sentence in a batch of sentence numbers, best first.

    If the model joins sentences, the translations of previous sentences are removed, see `_last_sentence`. The
    log-probability and score remain those of the whole hypothesis, so hypotheses may have equal tokens.
    """
    forbidden = (PADDING,) if model.previous_targets else (PADDING, BREAK)
    state = model.start(model.encode(text.ids(batch)))
    best = _search(model, state, text.translated_lengths[batch], settings, forbidden)
    return [
        [replace(hypothesis, tokens=_last_sentence(hypothesis.tokens, previous)) for hypothesis in hypotheses]
        for hypotheses, previous in zip(best, text.previous_targets[batch].tolist(), strict=True)
    ]


def _last_sentence(tokens: tuple[int, ...], previous: int) -> tuple[int, ...]:
    """Return the tokens after BREAK number `previous`, or after the last BREAK if there are fewer, without BREAKs."""
    starts = [0, *(position + 1 for position, token in enumerate(tokens) if token == BREAK)]
    return tuple(token for token in tokens[starts[min(previous, len(starts) - 1)] :] if token != BREAK)


def search_documents(
    model: DocumentModel, text: TranslationInput, batch: Indices, settings: DecodingSettings
) -> list[list[Hypothesis]]:
    """Return the n_best best translations of each sentence in a batch of whole documents, best first.

    The first sentences of all documents are translated together, then the second ones, and so on. If a mechanism after
    the decoder reads previous translations, the best translation of each sentence, or its reference in
    `text.references`, is run through the decoder once more from BEGIN.
    """
    documents = split_documents(batch, text.before)
    results: dict[int, list[Hypothesis]] = {}
    previous: list[deque[SentenceStates]] = [deque(maxlen=model.context_sentences) for _ in documents]
    longest = max(map(len, documents))
    for position in range(longest):
        unfinished = [number for number, document in enumerate(documents) if position < len(document)]
        numbers = np.array([documents[number][position] for number in unfinished])
        source = text.ids(numbers)
        context = _context(model, [previous[number] for number in unfinished])
        memory_without_context = model.encode_without_context(source)
        memory = model.with_context(memory_without_context, context)
        best = _search(model, model.start(memory, context), text.translated_lengths[numbers], settings)
        results.update(zip(numbers.tolist(), best, strict=True))
        if position + 1 == longest:
            break  # no later sentence has these as context
        translations: list[NDArray[np.integer[Any]]] = [
            np.array(hypotheses[0].tokens, dtype=np.int64) for hypotheses in best
        ]
        if text.references is not None:
            translations = [text.references[number] for number in numbers]
        encoded = model.source_states(source, memory_without_context)
        if model.decoder_output is not None:
            targets = torch.from_numpy(pad(translations, first=BEGIN)).to(source.device)
            encoded |= model.target_states(targets, memory)
        for row, number in enumerate(unfinished):
            length = int(text.translated_lengths[numbers[row]])
            previous[number].append(_without_padding(encoded, row, length + 1, len(translations[row]) + 1))
    return [results[number] for number in batch.tolist()]


def _search(
    model: TranslationModel,
    state: DecodingState,
    lengths: Lengths,
    settings: DecodingSettings,
    forbidden: Collection[int] = (PADDING, BREAK),
) -> list[list[Hypothesis]]:
    """Search from the state before the first step, given the source lengths [B]."""
    maximum = (settings.maximum_length_ratio * lengths).astype(np.int64) + settings.maximum_length_offset
    if model.target_embedding.positions is not None:
        maximum = np.minimum(maximum, model.target_embedding.positions.num_embeddings - 1)
    return beam_search(
        model.step,
        state,
        batch=len(lengths),
        beam=settings.beam,
        length_penalty=settings.length_penalty,
        weight=settings.length_penalty_weight,
        maximum_lengths=torch.from_numpy(maximum).to(model.device),
        n_best=settings.n_best,
        stop=settings.stop,
        begin=BEGIN,
        end=END,
        forbidden=forbidden,
    )


def _without_padding(encoded: SentenceStates, row: int, source: int, target: int) -> SentenceStates:
    """Return the states of one sentence without padding, [T, …], given its source and target lengths."""
    lengths = {name: source if name.startswith("source") else target for name in encoded}
    return {name: tensor[row, : lengths[name]].clone() for name, tensor in encoded.items()}


def _context(model: DocumentModel, before: list[deque[SentenceStates]]) -> SentenceContext:
    """Return the context of B sentences, given their previous ones, which may be fewer than the model reads."""
    rows = [encoded for sentences in before for encoded in sentences]
    if not rows:
        return model.empty_context(len(before))
    previous = torch.full((len(before), model.context_sentences), -1, device=model.device)
    first = 0
    for row, sentences in enumerate(before):
        count = len(sentences)
        previous[row, model.context_sentences - count :] = torch.arange(first, first + count)
        first += count
    # padded with PADDING, False and 0
    stacked = {name: pad_sequence([encoded[name] for encoded in rows], batch_first=True) for name in rows[0]}
    return context_of(stacked, previous)


# The search for each class of models, and the setting for its number of hypotheses per sentence.
SEARCHES: dict[type, tuple[Search, str]] = {
    TranslationModel: (search_sentences, "beam"),
    DocumentModel: (search_documents, "beam"),
    MaskedLanguageModel: (masked_search.search, "length_beam"),
}


def translate_ids(
    model: Model,
    sentences: Sentences,
    settings: DecodingSettings,
    *,
    documents: list[range] | None = None,
    references: Sentences | None = None,
    progress: str | None = None,
    processes: Processes | None = None,
) -> list[list[Hypothesis]]:
    """Return the `settings.n_best` best hypotheses of every sentence, best first, in the order of the input.

    An empty sentence is also translated: the model then sees only END. `documents` are the sentence numbers of each
    document. A model that reads previous sentences sees its own best translations of them, or their `references`. A
    model that joins sentences translates each independently, and sees no earlier translation. For `progress` and
    `processes` see `process_batches`. Raise UserError for a sentence or reference that is longer than the model's
    learned positions, and if `n_best` exceeds the width of the search.
    """
    weights: AbstractContextManager[None] = prepared_weights(model, settings.precision)
    if model.device.type == "cuda" and resolve_precision(settings.precision, model.device) == "bf16":
        model, weights = in_bf16(model), nullcontext()
    own_lengths = lengths_of(sentences)
    before = sentences_before(documents, len(sentences))
    lengths = joined_lengths(own_lengths, before, model.previous_sources)
    check_positions(model.source_embedding.positions, lengths, "sentence")
    if references is not None and model.in_documents:
        check_positions(model.target_embedding.positions, lengths_of(references), "the reference of sentence")
    search, key = SEARCHES[type(model)]
    width: int = getattr(settings, key)
    if settings.n_best > width:
        raise UserError(f"decoding.n_best is {settings.n_best}; this model's search has decoding.{key} {width}")
    text = TranslationInput(
        sentences=JoinedSentences(sentences, before, model.previous_sources),
        translated_lengths=joined_lengths(own_lengths, before, model.previous_targets),
        previous_targets=np.minimum(before, model.previous_targets),
        before=before if model.in_documents else np.zeros_like(before),
        references=references,
        device=model.device,
    )
    with evaluation_mode(model), weights:
        results = process_batches(
            lambda batch: search(model, text, batch, settings),
            batch_documents(lengths, text.before, settings.batch_tokens or BATCH_TOKENS[model.device.type], width),
            lengths,
            progress=progress,
            processes=processes,
        )
    return [results[number] for number in range(len(lengths))]


def batch_documents(lengths: Lengths, before: Lengths, tokens: int, width: int) -> list[Indices]:
    """Split sentences into batches of whole documents, which are translated one sentence per document at a time.

    `before` is the number of preceding sentences in each sentence's document, 0 for independent sentences. Documents of
    similar size share a batch, so that the sentences translated at a time have at most `tokens` source tokens times
    `width`; a larger document has its own batch. The largest come first, so that memory, if too small, runs out early.
    """
    if len(lengths) == 0:
        return []
    starts = np.flatnonzero(before == 0)
    sizes = np.diff(starts, append=len(lengths))
    longest = np.maximum.reduceat(lengths, starts) + 1  # with END
    order = np.lexsort((-longest, -sizes))
    starts, sizes, longest = starts[order], sizes[order], longest[order]
    cuts: list[int] = []
    first = widest = 0
    for document, length in enumerate(longest.tolist()):
        widest = max(widest, length)
        if document > first and widest * (document + 1 - first) * width > tokens:
            cuts.append(document)
            first, widest = document, length
    ends = np.cumsum(sizes)
    numbers = np.arange(len(lengths)) + np.repeat(starts - (ends - sizes), sizes)
    return np.split(numbers, (ends - sizes)[cuts])
