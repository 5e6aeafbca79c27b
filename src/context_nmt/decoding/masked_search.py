"""Mask-predict with a masked language model: several lengths for each sentence, side by side."""

from dataclasses import dataclass

import torch
from torch import Tensor

from context_nmt.corpus.vocabulary import END, MASK, PADDING
from context_nmt.decoding.mask_predict import mask_predict
from context_nmt.decoding.search import Hypothesis
from context_nmt.files import UserError
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.transformer.layers import Memory

SHORTEST = 2  # a unit and END, as in Mask-Predict
CHUNK = 1024  # positions whose logits exist at a time


def search(model: MaskedLanguageModel, source: Tensor, settings: DecodingSettings) -> list[list[Hypothesis]]:
    """Source ids [B, S] -> for each sentence a hypothesis per length, best mean log-probability first.

    The lengths are the most probable ones, `settings.length_beam` of them, END included. Of the prediction every END is
    left out, wherever it stands.
    """
    tried = _try(model, source, settings)
    scores = tried.sums / tried.lengths
    return [
        [
            Hypothesis(_without_specials(tried.tokens[row, k]), float(tried.sums[row, k]), float(scores[row, k]))
            for k in scores[row].argsort(descending=True, stable=True)[: settings.n_best].tolist()
        ]
        for row in range(len(source))
    ]


def best_lengths(model: MaskedLanguageModel, source: Tensor, settings: DecodingSettings) -> Tensor:
    """Source ids [B, S] -> the lengths [B] of the best hypotheses, END included."""
    tried = _try(model, source, settings)
    best = (tried.sums / tried.lengths).argmax(1, keepdim=True)
    return tried.lengths.gather(1, best)[:, 0]


@dataclass(frozen=True)
class Tried:
    """A hypothesis for each of K lengths."""

    lengths: Tensor  # [B, K]
    tokens: Tensor  # [B, K, T]
    sums: Tensor  # [B, K] of log-probabilities


def _try(model: MaskedLanguageModel, source: Tensor, settings: DecodingSettings) -> Tried:
    memory, logits = model.encode_with_length(source)
    if logits.isnan().any():
        raise UserError("the model's output is not a number; did its training diverge?")
    lengths = logits.topk(min(settings.length_beam, logits.size(1) - 1)).indices.clamp(min=SHORTEST)
    tokens, log_probabilities = predict(model, memory, lengths.flatten(), settings.iterations)
    sums = log_probabilities.sum(1).view(lengths.shape)
    return Tried(lengths, tokens.view(*lengths.shape, -1), sums)


def predict(model: MaskedLanguageModel, memory: Memory, lengths: Tensor, iterations: int) -> tuple[Tensor, Tensor]:
    """Lengths [B * K], K in a row for each sentence -> units and log-probabilities of the targets [B * K, T]."""
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
