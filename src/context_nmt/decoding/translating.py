"""Translates sentences of ids: batches of like length, the search of the model's kind, results in their order."""

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
from context_nmt.models.building import Model
from context_nmt.models.document_model import DocumentModel
from context_nmt.models.masked_language_model import MaskedLanguageModel
from context_nmt.models.processes import Processes
from context_nmt.models.translation_model import TranslationModel
from context_nmt.settings import DecodingSettings


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
    Raises UserError for a sentence that is longer than the model's learned positions, and for more hypotheses than the
    search has.
    """
    lengths = lengths_of(sentences)
    check_positions(model.source_embedding.positions, lengths, "sentence")
    kind = SEARCHES[type(model)]
    width = kind.width(settings)
    if settings.n_best > width:
        raise UserError(f"decoding.n_best is {settings.n_best}; this model's search has {width}")

    def translate(batch: Lengths) -> list[list[Hypothesis]]:
        source = torch.from_numpy(pad([sentences[number] for number in batch], last=END)).to(device)
        return kind.search(model, source, lengths[batch], settings)

    def translate_documents(batch: Lengths) -> list[list[Hypothesis]]:
        assert isinstance(model, DocumentModel)
        together = split_documents(batch, before)
        return translate_together(model, sentences, together, settings, references=references, device=device)

    work, cut = translate, list(batches(lengths, settings.batch_tokens, width))
    before = sentences_before(documents, len(lengths))
    if isinstance(model, DocumentModel):
        work, cut = translate_documents, groups(before, lengths, settings.batch_tokens, width)
    with evaluating(model), prepared(model, settings.precision):
        found = in_batches(work, cut, lengths, progress=progress, workers=workers, processes=processes)
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


def _mask_predict(
    model: MaskedLanguageModel, source: Tensor, lengths: Lengths, settings: DecodingSettings
) -> list[list[Hypothesis]]:
    return masked_search.search(model, source, settings)


@dataclass(frozen=True)
class Search:
    """How a kind of model translates."""

    search: Callable[[Any, Tensor, Lengths, DecodingSettings], list[list[Hypothesis]]]
    width: Callable[[DecodingSettings], int]  # hypotheses per sentence that are in memory at once


SEARCHES: dict[type, Search] = {
    TranslationModel: Search(autoregressive_search.search, lambda settings: settings.beam),
    DocumentModel: Search(autoregressive_search.search, lambda settings: settings.beam),
    MaskedLanguageModel: Search(_mask_predict, lambda settings: settings.length_beam),
}
