"""Mask-predict with a masked language model: several lengths for each sentence, side by side."""

import torch
from torch import Tensor

from context_nmt.corpus.vocabulary import END, PADDING
from context_nmt.decoding.mask_predict import mask_predict
from context_nmt.decoding.search import Hypothesis
from context_nmt.files import UserError
from context_nmt.models.masked_language_model import MASK, MaskedLanguageModel
from context_nmt.settings import DecodingSettings
from context_nmt.transformer.layers import Memory

SHORTEST = 2  # a unit and END, as in Mask-Predict
CHUNK = 1024  # positions whose logits exist at a time


def search(model: MaskedLanguageModel, source: Tensor, settings: DecodingSettings) -> list[list[Hypothesis]]:
    """Source ids [B, S] -> for each sentence a hypothesis per length, best mean log-probability first.

    The lengths are the most probable ones, `settings.length_beam` of them, END included. Of the prediction every END is
    left out, wherever it stands.
    """
    memory, logits = model.encode_with_length(source)
    if logits.isnan().any():
        raise UserError("the model's output is not a number; did its training diverge?")
    lengths = logits.topk(min(settings.length_beam, logits.size(1) - 1)).indices.clamp(min=SHORTEST)  # [B, K]
    tokens, log_probabilities = predict(model, memory, lengths.flatten(), settings.iterations)
    sums = log_probabilities.sum(1).view(lengths.shape)
    scores = sums / lengths
    rows = tokens.view(*lengths.shape, -1)
    return [
        [
            Hypothesis(_without_specials(rows[sentence, k]), float(sums[sentence, k]), float(scores[sentence, k]))
            for k in scores[sentence].argsort(descending=True, stable=True)[: settings.n_best].tolist()
        ]
        for sentence in range(len(source))
    ]


def predict(model: MaskedLanguageModel, memory: Memory, lengths: Tensor, iterations: int) -> tuple[Tensor, Tensor]:
    """Targets of given lengths [B * K], K in a row for each sentence -> their units and log-probabilities [B * K, T]."""
    return mask_predict(
        lambda targets, wanted: _best(model, memory, targets, wanted),
        lengths,
        iterations=iterations,
        mask=MASK,
        padding=PADDING,
    )


def _best(model: MaskedLanguageModel, memory: Memory, targets: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """The best unit and its log-probability at the wanted positions; neither padding nor the mask is one."""
    states = model.decode(targets, memory)[wanted]  # [M, D]
    units, log_probabilities = [], []
    for chunk in torch.split(states, CHUNK):
        values = model.output(chunk).log_softmax(dim=-1, dtype=torch.promote_types(chunk.dtype, torch.float32))
        values[:, [PADDING, MASK]] = -torch.inf
        best = values.max(dim=-1)
        units.append(best.indices)
        log_probabilities.append(best.values)
    return torch.cat(units), torch.cat(log_probabilities)


def _without_specials(tokens: Tensor) -> tuple[int, ...]:
    return tuple(unit for unit in tokens.tolist() if unit not in (END, PADDING))
