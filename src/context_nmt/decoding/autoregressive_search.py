"""Beam search with a translation model: of sentences, or of documents sentence by sentence."""

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from context_nmt.corpus.batching import BREAK, pad
from context_nmt.corpus.vocabulary import BEGIN, END, PADDING
from context_nmt.decoding.in_batches import Lengths, TranslationInput, split_documents
from context_nmt.decoding.search import Hypothesis, beam_search
from context_nmt.models.kinds.autoregressive import DecodingState, TranslationModel
from context_nmt.models.kinds.concatenation import ConcatenationModel
from context_nmt.models.kinds.document import DocumentModel, KnownSentences, merged, source_states
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.transformer.sentence_context import SentenceContext


def search_sentences(
    model: TranslationModel, text: TranslationInput, batch: Lengths, settings: DecodingSettings
) -> list[list[Hypothesis]]:
    """Return the n_best best translations of each sentence, best first; a batch is the numbers of its sentences."""
    return _search(model, model.start(model.encode(text.ids(batch))), text.translated_lengths[batch], settings)


def search_joined(
    model: ConcatenationModel, text: TranslationInput, batch: Lengths, settings: DecodingSettings
) -> list[list[Hypothesis]]:
    """Return as `search_sentences` does, but without the translations of previous sentences: see `_own`.

    Log-probability and score remain those of the whole hypothesis, so several of a sentence may have equal tokens.
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
        known = KnownSentences(source_states(source, alone))
        if model.decoder_output is not None:
            targets = torch.from_numpy(pad(translations, first=BEGIN)).to(source.device)
            known = model.remembered(source, alone, memory, targets)
        for row, number in enumerate(unfinished):
            length = int(text.translated_lengths[numbers[row]])
            previous[number].append(_row(known, row, length + 1, len(translations[row]) + 1))
    return [results[number] for number in batch.tolist()]


def _search(
    model: TranslationModel,
    state: DecodingState,
    lengths: Lengths,
    settings: DecodingSettings,
    forbidden: Collection[int] = (PADDING, BEGIN),
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
        maximum_lengths=torch.from_numpy(maximum).to(model.output.weight.device),
        n_best=settings.n_best,
        stop=settings.stop,
        begin=BEGIN,
        end=END,
        forbidden=forbidden,
    )


def _row(known: KnownSentences, row: int, source: int, target: int) -> KnownSentences:
    """Return one sentence without its padding, [T, …], given its source and target lengths."""

    def first(length: int) -> Callable[[list[Tensor]], Tensor]:
        return lambda tensors: tensors[0][row, :length].clone()

    return KnownSentences(merged([known.source], first(source)), known.target and merged([known.target], first(target)))


def _context(model: DocumentModel, before: list[deque[KnownSentences]]) -> SentenceContext:
    """Return the context of B sentences; some have fewer previous ones than the model looks at, or none."""
    rows = [known for sentences in before for known in sentences]
    if not rows:
        return model.nothing_before(len(before))
    previous = torch.full((len(before), model.sentences), -1, device=rows[0].source.words.device)
    first = 0
    for row, sentences in enumerate(before):
        count = len(sentences)
        previous[row, model.sentences - count :] = torch.arange(first, first + count)
        first += count

    def stacked(tensors: list[Tensor]) -> Tensor:
        return pad_sequence(tensors, batch_first=True)  # with PADDING, no word and states of 0

    targets = [known.target for known in rows if known.target is not None]
    known = KnownSentences(
        merged([known.source for known in rows], stacked), merged(targets, stacked) if targets else None
    )
    return known.before(previous)
