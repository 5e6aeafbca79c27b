"""Translates documents sentence by sentence, many side by side: the i-th sentences of all are a batch."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from context_nmt.corpus.batching import pad
from context_nmt.corpus.vocabulary import BEGIN, END
from context_nmt.decoding.autoregressive_search import search_from
from context_nmt.decoding.in_batches import Lengths, Sentences
from context_nmt.decoding.search import Hypothesis, reorder
from context_nmt.models.kinds.document import DocumentModel, KnownSentences, source_states
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.transformer.sentence_context import SentenceContext, SourceStates, TargetStates

States = TypeVar("States", SourceStates, TargetStates)


def split_documents(numbers: Lengths, before: Lengths) -> list[Lengths]:
    """Documents that stand one behind the other, each as its sentences' numbers; see `sentences_before`."""
    return np.split(numbers, np.flatnonzero(before[numbers] == 0)[1:]) if len(numbers) else []


def groups(before: Lengths, lengths: Lengths, tokens: int, width: int) -> list[Lengths]:
    """The numbers of sentences whose documents are translated together, one document behind the other.

    Documents of like size are together; a sentence of each is at most `tokens` source tokens times `width`. The largest
    come first. A document that is too long is alone.
    """
    found: list[list[Lengths]] = []
    widest = 0
    documents = split_documents(np.arange(len(before)), before)
    for document in sorted(documents, key=lambda one: (len(one), lengths[one].max()), reverse=True):
        longest = int(lengths[document].max()) + 1  # END included
        if not found or max(widest, longest) * (len(found[-1]) + 1) * width > tokens:
            found.append([])
            widest = 0
        found[-1].append(document)
        widest = max(widest, longest)
    return [np.concatenate(group) for group in found]


def translate_together(
    model: DocumentModel,
    sentences: Sentences,
    documents: Sequence[Lengths],
    settings: DecodingSettings,
    *,
    references: Sentences | None,
    device: torch.device,
) -> list[list[Hypothesis]]:
    """Return the best translations of all sentences, one document behind the other.

    Later sentences see the best translation of a sentence, read once more from BEGIN, or with `references` those; where
    nothing behind the decoder looks at them, they are not read.
    """
    found: dict[int, list[Hypothesis]] = {}
    before: list[deque[KnownSentences]] = [deque(maxlen=model.sentences) for _ in documents]
    longest = max(map(len, documents))
    for place in range(longest):
        running = [number for number, document in enumerate(documents) if place < len(document)]
        numbers = [int(documents[number][place]) for number in running]
        source = torch.from_numpy(pad([sentences[number] for number in numbers], last=END)).to(device)
        context = _context(model, [before[number] for number in running])
        alone = model.encode_alone(source)
        memory = model.with_context(alone, context)
        lengths = np.array([len(sentences[number]) for number in numbers], dtype=np.int64)
        best = search_from(model, model.start(memory, context), lengths, settings)
        found.update(zip(numbers, best, strict=True))
        if place + 1 == longest:
            break  # nothing looks back at these
        read: list[NDArray[np.integer[Any]]] = [np.array(one[0].tokens, dtype=np.int64) for one in best]
        if references is not None:
            read = [references[number] for number in numbers]
        known = KnownSentences(source_states(source, alone))
        if model.decoder_output is not None:
            targets = torch.from_numpy(pad(read, first=BEGIN)).to(device)
            known = model.remembered(source, alone, memory, targets)
        for row, number in enumerate(running):
            before[number].append(_row(known, row, int(lengths[row]) + 1, len(read[row]) + 1))
    return [found[number] for document in documents for number in document.tolist()]


def _row(known: KnownSentences, row: int, source: int, target: int) -> KnownSentences:
    """One of the sentences [1, …] without its padding."""
    one = reorder(known, torch.tensor([row], device=known.source.words.device))
    return KnownSentences(_fields(_first(source), [one.source]), one.target and _fields(_first(target), [one.target]))


def _context(model: DocumentModel, before: list[deque[KnownSentences]]) -> SentenceContext:
    """The sentences before each of B, of which some have fewer than the model looks at, or none."""
    rows = [known for sentences in before for known in sentences]
    if not rows:
        return model.nothing_before(len(before))
    previous = torch.full((len(before), model.sentences), -1, device=rows[0].source.words.device)
    first = 0
    for row, sentences in enumerate(before):
        count = len(sentences)
        previous[row, model.sentences - count :] = torch.arange(first, first + count)
        first += count
    targets = [known.target for known in rows if known.target is not None]
    return KnownSentences(
        _fields(_stacked, [known.source for known in rows]), _fields(_stacked, targets) if targets else None
    ).before(previous)


def _fields(change: Callable[[list[Tensor]], Tensor], parts: list[States]) -> States:
    """Change each tensor, given those of all parts."""
    names = [field.name for field in fields(parts[0])]
    return replace(parts[0], **{name: change([getattr(part, name) for part in parts]) for name in names})


def _first(length: int) -> Callable[[list[Tensor]], Tensor]:
    return lambda parts: parts[0][:, :length]


def _stacked(parts: list[Tensor]) -> Tensor:
    """[1, T] or [1, T, D] each, of different T, below each other; PADDING, no word and states of 0 fill them."""
    widest = max(part.size(1) for part in parts)
    return torch.cat([functional.pad(part, (0, 0) * (part.dim() - 2) + (0, widest - part.size(1))) for part in parts])
