"""Translate sentences of ids: cut batches, run the search of the model's kind, restore the order of the input."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from context_nmt.corpus.batching import Joined, Sentences, joined_lengths, sentences_before
from context_nmt.decoding import masked_search
from context_nmt.decoding.autoregressive_search import search_documents, search_joined, search_sentences
from context_nmt.decoding.in_batches import (
    SINGLE_PROCESS,
    Lengths,
    TranslationInput,
    check_positions,
    evaluating,
    in_batches,
    lengths_of,
)
from context_nmt.decoding.linear_maps import prepared
from context_nmt.decoding.search import Hypothesis
from context_nmt.files import UserError
from context_nmt.models.kinds.autoregressive import TranslationModel
from context_nmt.models.kinds.concatenation import ConcatenationModel
from context_nmt.models.kinds.document import DocumentModel
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.models.model import Model
from context_nmt.models.processes import Processes
from context_nmt.settings.decoding import DecodingSettings

Search = Callable[[Any, TranslationInput, Lengths, DecodingSettings], list[list[Hypothesis]]]

# For each class of models, its search and the setting for the number of hypotheses of a sentence held in memory.
SEARCHES: dict[type, tuple[Search, str]] = {
    TranslationModel: (search_sentences, "beam"),
    ConcatenationModel: (search_joined, "beam"),
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
    device: torch.device,
    progress: str | None = None,
    workers: int | None = None,
    processes: Processes = SINGLE_PROCESS,
) -> list[list[Hypothesis]]:
    """Return the `settings.n_best` best hypotheses of every sentence, best first, in the order of the input.

    An empty sentence is translated, too: the model then sees END alone. `documents` has the sentences of each
    document; a model that looks at previous sentences sees its own best translations of them, or `references`, one for
    each sentence. A model that joins sentences translates each by itself, and sees no earlier translation.
    See `in_batches` for `progress`, `workers` and `processes`.
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
        sentences=Joined(sentences, before, model.previous_sources),
        translated_lengths=joined_lengths(own_lengths, before, model.previous_targets),
        previous_targets=np.minimum(before, model.previous_targets),
        before=before if model.in_documents else np.zeros_like(before),
        references=references,
        device=device,
    )
    with evaluating(model), prepared(model, settings.precision):
        results = in_batches(
            lambda batch: search(model, text, batch, settings),
            batches(lengths, text.before, settings.batch_tokens, width),
            lengths,
            progress=progress,
            workers=workers,
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
