"""Jensen-Shannon divergence of a layer's two attention maps (Ampomah et al. 2021, eq. 10 to 13, figure 4).

In the paper, the map of a unit is the maximum over its heads: here the elementwise maximum, renormalized, since JS is
defined for distributions, and as it is, the literal reading. A third measure is the mean over pairs of heads with the
same number. JS is the mean of the relative entropies of
the two maps to their average, in nats: from 0 to ln 2.
"""

import math
from collections.abc import Iterator

from torch import Tensor

from context_nmt.measures.attention.locality import entropy
from context_nmt.measures.attention.recording import Analysed, SentenceMeans, attentions, recorded
from context_nmt.measures.rows import Row


def divergence(analysed: Analysed) -> Iterator[Row]:
    """Measure `divergence_PLACE`, `literal_divergence_PLACE` and `head_divergence_PLACE` by layer, and over layers.

    PLACE is encoder or decoder. Only self-attentions that expose exactly two maps are measured. Values are averaged
    over the real queries of each sentence, then over sentences.
    """
    with_two_maps = [one for one in attentions(analysed.model) if one.place != "cross" and len(one.shows.weights) == 2]
    means = SentenceMeans()
    for batch in recorded(analysed, [name for one in with_two_maps for name in one.shows.weights]):
        for attention in with_two_maps:
            one, other = (batch.outputs[name].double() for name in attention.shows.weights)
            place, layer = attention.place, attention.layer
            real = batch.encoder if place == "encoder" else batch.target
            means.add(f"divergence_{place}", layer, jensen_shannon(_maximum(one), _maximum(other)), real)
            means.add(f"literal_divergence_{place}", layer, jensen_shannon(one.amax(1), other.amax(1)), real)
            means.add(f"head_divergence_{place}", layer, jensen_shannon(one, other).mean(1), real)
    yield from means.rows(analysed.test)


def _maximum(weights: Tensor) -> Tensor:
    """[B, H, T, S] -> maximum over heads, renormalized, [B, T, S]."""
    greatest = weights.amax(1)
    return greatest / greatest.sum(-1, keepdim=True)


def jensen_shannon(one: Tensor, other: Tensor) -> Tensor:
    """Return the JS divergence [...] of paired weights [..., S] in nats, by its formula, with 0 log 0 = 0."""
    mean = (one + other) / 2
    return (entropy(mean) - (entropy(one) + entropy(other)) / 2).clamp(min=0) * math.log(2)
