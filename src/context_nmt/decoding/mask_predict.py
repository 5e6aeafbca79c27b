"""Mask-predict (Ghazvininejad et al. 2019, section 4): all units at once, then the least certain of them again.

It knows no model. Letters: N targets, each of a given length, END included; T the longest.
"""

from collections.abc import Callable

import torch
from torch import Tensor

# Targets [N, T] and which of their positions are wanted, bool [N, T] with M of them -> the best unit of each [M], and
# its natural log-probability [M].
Predict = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def mask_predict(
    predict: Predict, lengths: Tensor, *, iterations: int, mask: int, padding: int
) -> tuple[Tensor, Tensor]:
    """Targets of the given lengths [N] -> their units [N, T] and log-probabilities [N, T], 0 behind the end.

    The first iteration predicts all units; iteration t of T, from 0, masks floor(length * (1 - t / T)) units again, one
    at least: those whose log-probability, from the last time that they were predicted, is the least.
    """
    real = torch.arange(int(lengths.max()), device=lengths.device) < lengths[:, None]
    tokens = torch.where(real, mask, padding)
    certainty = torch.zeros(tokens.shape, device=lengths.device)
    chosen = real
    for iteration in range(iterations):
        if iteration:
            count = (lengths * (iterations - iteration) // iterations).clamp(min=1)
            chosen = _least(certainty.masked_fill(~real, torch.inf), count)
        units, log_probabilities = predict(tokens.masked_fill(chosen, mask), chosen)
        tokens = tokens.masked_scatter(chosen, units)
        certainty = certainty.masked_scatter(chosen, log_probabilities.to(certainty.dtype))
    return tokens, certainty


def _least(values: Tensor, count: Tensor) -> Tensor:
    """Where the `count` [N] least values of each row [N, T] are; of equals the first."""
    ranks = values.argsort(dim=1, stable=True).argsort(dim=1)
    return ranks < count[:, None]
