"""Cosines of each layer's states and the embeddings, per token and per sentence (Emelin et al. 2019, figures 6 and 7).

The paper's code takes a sentence's states as one vector, with all its positions; per token it is the mean over tokens.
BEGIN and END are left out.
"""

from torch import Tensor

from context_nmt.measures.probes.states import Layers


def cosines(layers: Layers) -> list[tuple[Tensor, Tensor]]:
    """For each layer from 1 the cosines to layer 0: of every real position [N], and of every sentence [B]."""
    embeddings = layers.states[0].double()
    return [_cosines(embeddings, states.double(), layers.real) for states in layers.states[1:]]


def _cosines(embeddings: Tensor, states: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
    products, norms, others = (
        ((one * other).sum(-1) * real)  # [B, T], 0 where there is no unit
        for one, other in ((embeddings, states), (embeddings, embeddings), (states, states))
    )
    tokens = products[real] / (norms[real] * others[real]).sqrt()
    there = real.any(1)
    sums = [values[there].sum(1) for values in (products, norms, others)]
    return tokens, sums[0] / (sums[1] * sums[2]).sqrt()
