"""Translate sentences of ids, or documents sentence by sentence, with the search of the model's kind."""

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from context_nmt.corpus.batching import BREAK, JoinedSentences, Sentences, joined_lengths, pad, sentences_before
from context_nmt.corpus.vocabulary import BEGIN, END, PADDING
from context_nmt.decoding import masked_search
from context_nmt.decoding.in_batches import (
    Lengths,
    TranslationInput,
    check_positions,
    evaluating,
    in_batches,
    lengths_of,
    split_documents,
)
from context_nmt.decoding.linear_maps import prepared
from context_nmt.decoding.search import Hypothesis, beam_search
from context_nmt.files import UserError
from context_nmt.models.devices import Processes
from context_nmt.models.kinds.autoregressive import DecodingState, TranslationModel
from context_nmt.models.kinds.document import DocumentModel, KnownSentences, context_of
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.models.model import Model
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.transformer.sentence_context import SentenceContext

Search = Callable[[Any, TranslationInput, Lengths, DecodingSettings], list[list[Hypothesis]]]


def search_sentences(
    model: TranslationModel, text: TranslationInput, batch: Lengths, settings: DecodingSettings
) -> list[list[Hypothesis]]:
    """Return the n_best best translations of each sentence, best first; a batch is the numbers of its sentences.

    Translations of previous sentences, which a model may join with it, are left out, see `_own`. Log-probability and
    score remain those of the whole hypothesis, so several of a sentence may have equal tokens.
    """
    forbidden = (PADDING,) if model.previous_targets else (PADDING, BREAK)
    state = model.start(model.encode(text.ids(batch)))
    best = _search(model, state, text.translated_lengths[batch], settings, forbidden)
    return [
        [replace(one, tokens=_own(one.tokens, previous)) for one in hypotheses]
        for hypotheses, previous in zip(best, text.previous_targets[batch].tolist(), strict=True)
    ]


def _own(tokens: tuple[int, ...], previous: int) -> tuple[int, ...]:
    """Return what follows as many BREAKs as there are previous sentences, or the last BREAK if there are fewer.

    Delete further BREAKs, but no text.
    """
    starts = [0, *(place + 1 for place, token in enumerate(tokens) if token == BREAK)]
    return tuple(token for token in tokens[starts[min(previous, len(starts) - 1)] :] if token != BREAK)


def search_documents(
    model: DocumentModel, text: TranslationInput, batch: Lengths, settings: DecodingSettings
) -> list[list[Hypothesis]]:
    """Return the n_best best translations of each sentence of whole documents, best first.

    The first sentences of all documents are translated together, then the second ones, and so on. Later sentences see
    the best translation of an earlier one, run through the decoder once more from BEGIN, or its reference with
    `text.references`. If no mechanism after the decoder looks at translations, they are not run through it again.
    """
    documents = split_documents(batch, text.before)
    results: dict[int, list[Hypothesis]] = {}
    previous: list[deque[KnownSentences]] = [deque(maxlen=model.sentences) for _ in documents]
    longest = max(map(len, documents))
    for position in range(longest):
        unfinished = [number for number, document in enumerate(documents) if position < len(document)]
        numbers = np.array([documents[number][position] for number in unfinished])
        source = text.ids(numbers)
        context = _context(model, [previous[number] for number in unfinished])
        alone = model.encode_alone(source)
        memory = model.with_context(alone, context)
        best = _search(model, model.start(memory, context), text.translated_lengths[numbers], settings)
        results.update(zip(numbers.tolist(), best, strict=True))
        if position + 1 == longest:
            break  # no later sentence needs these as context
        translations: list[NDArray[np.integer[Any]]] = [
            np.array(hypotheses[0].tokens, dtype=np.int64) for hypotheses in best
        ]
        if text.references is not None:
            translations = [text.references[number] for number in numbers]
        known = model.known_sources(source, alone)
        if model.decoder_output is not None:
            targets = torch.from_numpy(pad(translations, first=BEGIN)).to(source.device)
            known |= model.known_targets(targets, memory)
        for row, number in enumerate(unfinished):
            length = int(text.translated_lengths[numbers[row]])
            previous[number].append(_row(known, row, length + 1, len(translations[row]) + 1))
    return [results[number] for number in batch.tolist()]


def _search(
    model: TranslationModel,
    state: DecodingState,
    lengths: Lengths,
    settings: DecodingSettings,
    forbidden: Collection[int] = (PADDING, BREAK),
) -> list[list[Hypothesis]]:
    """Search from the state before the first step, given the lengths [B] of the sources."""
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


def _row(known: KnownSentences, row: int, source: int, target: int) -> KnownSentences:
    """Return one sentence without its padding, [T, …], given its source and target lengths."""
    lengths = {name: source if name.startswith("source") else target for name in known}
    return {name: tensor[row, : lengths[name]].clone() for name, tensor in known.items()}


def _context(model: DocumentModel, before: list[deque[KnownSentences]]) -> SentenceContext:
    """Return the context of B sentences; some have fewer previous ones than the model looks at, or none."""
    rows = [known for sentences in before for known in sentences]
    if not rows:
        return model.nothing_before(len(before))
    previous = torch.full((len(before), model.sentences), -1, device=model.device)
    first = 0
    for row, sentences in enumerate(before):
        count = len(sentences)
        previous[row, model.sentences - count :] = torch.arange(first, first + count)
        first += count
    # padded with PADDING, no word and states of 0
    stacked = {name: pad_sequence([known[name] for known in rows], batch_first=True) for name in rows[0]}
    return context_of(stacked, previous)


# For each class of models, its search and the setting for the number of hypotheses of a sentence held in memory.
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

    An empty sentence is translated, too: the model then sees END alone. `documents` has the sentences of each
    document; a model that looks at previous sentences sees its own best translations of them, or `references`, one for
    each sentence. A model that joins sentences translates each by itself, and sees no earlier translation.
    See `in_batches` for `progress` and `processes`.
    Raise UserError for a sentence or reference that is longer than the model's learned positions, and if `n_best`
    exceeds the width of the search.
    """
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
    with evaluating(model), prepared(model, settings.precision):
        results = in_batches(
            lambda batch: search(model, text, batch, settings),
            batches(lengths, text.before, settings.batch_tokens, width),
            lengths,
            progress=progress,
            processes=processes,
        )
    return [results[number] for number in range(len(lengths))]


def batches(lengths: Lengths, before: Lengths, tokens: int, width: int) -> list[Lengths]:
    """Cut sentences into batches of whole documents, in which one sentence of each is translated at a time.

    `before` is the number of preceding sentences in each sentence's document; all 0 if sentences are independent.
    Documents of similar size share a batch, of at most `tokens` source tokens times `width` at a time; a larger one is
    alone. The largest come first, so that memory runs out at once if it does.
    """
    if len(lengths) == 0:
        return []
    starts = np.flatnonzero(before == 0)
    sizes = np.diff(starts, append=len(lengths))
    longest = np.maximum.reduceat(lengths, starts) + 1  # END included
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
