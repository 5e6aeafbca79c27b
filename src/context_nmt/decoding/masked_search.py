"""Mask-predict (Ghazvininejad et al. 2019, section 4) with a masked language model and several candidate lengths."""

import torch
from torch import Tensor

from context_nmt.corpus.vocabulary import END, MASK, PADDING
from context_nmt.decoding.in_batches import Lengths, TranslationInput
from context_nmt.decoding.search import Hypothesis
from context_nmt.files import UserError
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.transformer.layers import Memory

SHORTEST = 2  # a unit and END, as in Mask-Predict
CHUNK = 1024  # positions whose logits are in memory at once


def search(
    model: MaskedLanguageModel, text: TranslationInput, batch: Lengths, settings: DecodingSettings
) -> list[list[Hypothesis]]:
    """Return a hypothesis per length for each sentence, best mean log-probability first.

    The lengths are the `settings.length_beam` most probable ones, END included. Every predicted END is left out of the
    hypothesis, wherever it is.
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
    """Source ids [B, S] -> the lengths [B] of the best hypotheses, END included."""
    lengths, _, sums = _hypotheses(model, source, settings)
    best = (sums / lengths).argmax(1, keepdim=True)
    return lengths.gather(1, best)[:, 0]


def _hypotheses(
    model: MaskedLanguageModel, source: Tensor, settings: DecodingSettings
) -> tuple[Tensor, Tensor, Tensor]:
    """Source ids [B, S] -> K lengths [B, K], their hypotheses [B, K, T], and sums of log-probabilities [B, K]."""
    memory, logits = model.encode_with_length(source)
    if logits.isnan().any():
        raise UserError("the model's output is not a number; did its training diverge?")
    lengths = logits.topk(min(settings.length_beam, logits.size(1) - 1)).indices.clamp(min=SHORTEST)
    tokens, log_probabilities = mask_predict(model, memory, lengths.flatten(), settings.iterations)
    return lengths, tokens.view(*lengths.shape, -1), log_probabilities.sum(1).view(lengths.shape)


def mask_predict(model: MaskedLanguageModel, memory: Memory, lengths: Tensor, iterations: int) -> tuple[Tensor, Tensor]:
    """Lengths of N = B * K targets, END included, K of each sentence -> units and log-probabilities [N, T].

    The first iteration predicts all units; iteration t of T, from 0, masks floor(length * (1 - t / T)) units again, at
    least one: those with the lowest log-probability when they were last predicted. After the end, the units are PADDING
    and their log-probabilities 0.
    """
    real = torch.arange(int(lengths.max()), device=lengths.device) < lengths[:, None]
    tokens = torch.where(real, MASK, PADDING)
    certainty = torch.zeros(tokens.shape, device=lengths.device)
    chosen = real
    for iteration in range(iterations):
        if iteration:
            count = (lengths * (iterations - iteration) // iterations).clamp(min=1)
            ranks = certainty.masked_fill(~real, torch.inf).argsort(dim=1, stable=True).argsort(dim=1)
            chosen = ranks < count[:, None]
        units, log_probabilities = _best(model, memory, tokens.masked_fill(chosen, MASK), chosen)
        tokens = tokens.masked_scatter(chosen, units)
        certainty = certainty.masked_scatter(chosen, log_probabilities.to(certainty.dtype))
    return tokens, certainty


def _best(model: MaskedLanguageModel, memory: Memory, targets: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Return the best unit, never padding or the mask, and its log-probability at the M wanted positions [M]."""
    states = model.decode(targets, memory)[wanted]  # [M, D]
    units, log_probabilities = [], []
    for chunk in torch.split(states, CHUNK):
        values = model.output(chunk).log_softmax(dim=-1, dtype=torch.promote_types(chunk.dtype, torch.float32))
        values[:, [PADDING, MASK]] = -torch.inf
        best = values.max(dim=-1)
        units.append(best.indices)
        log_probabilities.append(best.values)
    return torch.cat(units), torch.cat(log_probabilities)
