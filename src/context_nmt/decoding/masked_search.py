"""Mask-predict (Ghazvininejad et al. 2019, section 4) with a masked language model and several candidate lengths."""

import torch
from torch import Tensor

from context_nmt.corpus.batching import Indices
from context_nmt.corpus.vocabulary import END, MASK, PADDING
from context_nmt.decoding.in_batches import TranslationInput
from context_nmt.decoding.search import Hypothesis
from context_nmt.files import UserError
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.transformer.layers import Memory

SHORTEST_LENGTH = 2  # a unit and END, as in Mask-Predict
LOGIT_POSITIONS = 1024  # positions whose logits are in memory at once


def search(
    model: MaskedLanguageModel, text: TranslationInput, batch: Indices, settings: DecodingSettings
) -> list[list[Hypothesis]]:
    """Return one hypothesis per length for each sentence, best mean log-probability first.

    The lengths are the `settings.length_beam` most probable ones, including END. END is removed from a hypothesis
    wherever it was predicted.
    """
    lengths, tokens, sums = _hypotheses(model, text.ids(batch), settings)
    scores = sums / lengths
    return [
        [
            Hypothesis(
                tuple(unit for unit in tokens[row, k].tolist() if unit not in (END, PADDING)),
                float(sums[row, k]),
                float(scores[row, k]),
            )
            for k in scores[row].argsort(descending=True, stable=True)[: settings.n_best].tolist()
        ]
        for row in range(len(batch))
    ]


def best_lengths(model: MaskedLanguageModel, source: Tensor, settings: DecodingSettings) -> Tensor:
    """Source ids [B, S] -> the lengths [B] of the best hypotheses, including END."""
    lengths, _, sums = _hypotheses(model, source, settings)
    best = (sums / lengths).argmax(1, keepdim=True)
    return lengths.gather(1, best)[:, 0]


def _hypotheses(
    model: MaskedLanguageModel, source: Tensor, settings: DecodingSettings
) -> tuple[Tensor, Tensor, Tensor]:
    """Source ids [B, S] -> lengths [B, K], their hypotheses [B, K, T], and sums of log-probabilities [B, K]."""
    memory, logits = model.encode_with_length(source)
    if logits.isnan().any():
        raise UserError("the model's output is not a number; did its training diverge?")
    lengths = logits.topk(min(settings.length_beam, logits.size(1) - 1)).indices.clamp(min=SHORTEST_LENGTH)
    tokens, log_probabilities = mask_predict(model, memory, lengths.flatten(), settings.iterations)
    return lengths, tokens.view(*lengths.shape, -1), log_probabilities.sum(1).view(lengths.shape)


def mask_predict(model: MaskedLanguageModel, memory: Memory, lengths: Tensor, iterations: int) -> tuple[Tensor, Tensor]:
    """Lengths of N = B * K targets, including END, K per sentence -> units and log-probabilities [N, T].

    The first iteration predicts all units. Iteration t of `iterations`, counted from 0, masks and predicts again the
    floor(length * (1 - t / iterations)) units, at least one, that had the lowest log-probability when they were last
    predicted. After its length, a target has PADDING, with log-probability 0.
    """
    real = torch.arange(int(lengths.max()), device=lengths.device) < lengths[:, None]
    tokens = torch.where(real, MASK, PADDING)
    scores = torch.zeros(tokens.shape, device=lengths.device)
    masked = real
    for iteration in range(iterations):
        if iteration:
            count = (lengths * (iterations - iteration) // iterations).clamp(min=1)
            ranks = scores.masked_fill(~real, torch.inf).argsort(dim=1, stable=True).argsort(dim=1)
            masked = ranks < count[:, None]
        units, log_probabilities = _predict(model, memory, tokens.masked_fill(masked, MASK), masked)
        tokens = tokens.masked_scatter(masked, units)
        scores = scores.masked_scatter(masked, log_probabilities.to(scores.dtype))
    return tokens, scores


def _predict(model: MaskedLanguageModel, memory: Memory, targets: Tensor, masked: Tensor) -> tuple[Tensor, Tensor]:
    """Return the best unit, except PADDING and MASK, and its log-probability at the M masked positions, [M] each."""
    states = model.decode(targets, memory)[masked]  # [M, D]
    units, log_probabilities = [], []
    for chunk in torch.split(states, LOGIT_POSITIONS):
        values = model.output(chunk).log_softmax(dim=-1, dtype=torch.promote_types(chunk.dtype, torch.float32))
        values[:, [PADDING, MASK]] = -torch.inf
        best = values.max(dim=-1)
        units.append(best.indices)
        log_probabilities.append(best.values)
    return torch.cat(units), torch.cat(log_probabilities)
