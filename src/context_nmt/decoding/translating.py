"""Translates sentences of ids: batches, the search of the model's kind, results in the order of the input."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from context_nmt.corpus.batching import pad
from context_nmt.corpus.previous import sentences_before
from context_nmt.corpus.vocabulary import END
from context_nmt.decoding import autoregressive_search, masked_search
from context_nmt.decoding.documents import groups, split_documents, translate_together
from context_nmt.decoding.in_batches import (
    ALONE,
    Lengths,
    Sentences,
    check_positions,
    evaluating,
    in_batches,
    lengths_of,
)
from context_nmt.decoding.linear_maps import prepared
from context_nmt.decoding.search import Hypothesis
from context_nmt.files import UserError
from context_nmt.models.kinds.autoregressive import TranslationModel
from context_nmt.models.kinds.document import DocumentModel
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.models.model import Model
from context_nmt.models.processes import Processes
from context_nmt.settings.decoding import DecodingSettings


@dataclass(frozen=True, kw_only=True)
class Text:
    """What is translated."""

    sentences: Sentences
    lengths: Lengths
    before: Lengths  # how many sentences of its document stand before each
    references: Sentences | None  # what later sentences see instead of translations
    device: torch.device

    def ids(self, batch: Lengths) -> Tensor:
        """The sentences of a batch [B, S]."""
        return torch.from_numpy(pad([self.sentences[number] for number in batch], last=END)).to(self.device)


def translate_ids(
    model: Model,
    sentences: Sentences,
    settings: DecodingSettings,
    *,
    documents: list[range] | None = None,
    references: Sentences | None = None,
    device: torch.device,
    progress: str | None = None,
    workers: int | None = None,
    processes: Processes = ALONE,
) -> list[list[Hypothesis]]:
    """Return the `settings.n_best` best hypotheses of every sentence, best first, in the order of the input.

    A sentence of no units is translated, too: the model then sees END alone. `documents` has the sentences of each;
    a model that looks at previous sentences finds there its own best translations, or `references`, one for each
    sentence. See `in_batches` for `progress`, `workers` and `processes`.
    Raises UserError for a sentence or reference that is longer than the model's learned positions, and for more
    hypotheses than the search has.
    """
    lengths = lengths_of(sentences)
    check_positions(model.source_embedding.positions, lengths, "sentence")
    if references is not None and isinstance(model, DocumentModel):
        check_positions(model.target_embedding.positions, lengths_of(references), "the reference of sentence")
    kind = SEARCHES[type(model)]
    width = kind.width(settings)
    if settings.n_best > width:
        raise UserError(f"decoding.n_best is {settings.n_best}; this model's search has {width}")

    before = sentences_before(documents, len(lengths))
    text = Text(sentences=sentences, lengths=lengths, before=before, references=references, device=device)
    cut = kind.batches(text, settings.batch_tokens, width)
    with evaluating(model), prepared(model, settings.precision):
        found = in_batches(
            lambda batch: kind.search(model, text, batch, settings),
            cut,
            lengths,
            progress=progress,
            workers=workers,
            processes=processes,
        )
    return [found[number] for number in range(len(lengths))]


def batches(lengths: Lengths, tokens: int, width: int) -> Iterator[Lengths]:
    """Yield the numbers of the sentences in batches of at most `tokens` source tokens times `width`.

    The longest come first, so that memory runs out at once if it does. A sentence that is too long is alone.
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        hypotheses = tokens // (int(lengths[order[start]]) + 1)  # END included
        end = start + max(1, hypotheses // width)
        yield order[start:end]
        start = end


def _by_length(text: Text, tokens: int, width: int) -> list[Lengths]:
    return list(batches(text.lengths, tokens, width))


def _by_document(text: Text, tokens: int, width: int) -> list[Lengths]:
    return groups(text.before, text.lengths, tokens, width)


def _beam_search(
    model: TranslationModel, text: Text, batch: Lengths, settings: DecodingSettings
) -> list[list[Hypothesis]]:
    return autoregressive_search.search(model, text.ids(batch), text.lengths[batch], settings)


def _documents(model: DocumentModel, text: Text, batch: Lengths, settings: DecodingSettings) -> list[list[Hypothesis]]:
    documents = split_documents(batch, text.before)
    return translate_together(
        model, text.sentences, documents, settings, references=text.references, device=text.device
    )


def _mask_predict(
    model: MaskedLanguageModel, text: Text, batch: Lengths, settings: DecodingSettings
) -> list[list[Hypothesis]]:
    return masked_search.search(model, text.ids(batch), settings)


@dataclass(frozen=True)
class Search:
    """How a kind of model translates."""

    batches: Callable[[Text, int, int], list[Lengths]]  # given the most source tokens times width
    search: Callable[[Any, Text, Lengths, DecodingSettings], list[list[Hypothesis]]]  # of one of these batches
    width: Callable[[DecodingSettings], int]  # hypotheses per sentence that are in memory at once


SEARCHES: dict[type, Search] = {
    TranslationModel: Search(_by_length, _beam_search, lambda settings: settings.beam),
    DocumentModel: Search(_by_document, _documents, lambda settings: settings.beam),
    MaskedLanguageModel: Search(_by_length, _mask_predict, lambda settings: settings.length_beam),
}
