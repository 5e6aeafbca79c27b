"""How far the maps of two attentions of one layer are apart (Ampomah et al. 2021, eq. 10 to 13, figure 4).

The paper's map of a unit is the maximum over its heads, which is read here as that of each element, made a distribution
again; beside it stands the mean over pairs of heads of the same number. JS is half the relative entropy of each map to
their mean, plus that of the other, in nats: from 0 to ln 2.
"""

import math

from torch import Tensor

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.measures.attention.locality import entropy
from context_nmt.measures.attention.recording import SentenceMeans, of_layers, recorded
from context_nmt.measures.attention.submodules import attentions, weights_of
from context_nmt.models.model import Model
from context_nmt.settings.decoding import DecodingSettings

OF_MAXIMA, OF_HEADS = "divergence", "head_divergence"


def divergence(model: Model, corpus: BinarizedCorpus, split: str, settings: DecodingSettings) -> dict[str, float]:
    """Measure `divergence_PLACE_LAYER` and `head_divergence_PLACE_LAYER`, and means over layers, `…_PLACE`.

    PLACE is encoder or decoder. Self-attentions with exactly two submodules that weights pass through are measured;
    values are means over sentences of a sentence's mean over real queries.
    """
    units = [(place, layer, weights_of(model, path)) for place, layer, path in attentions(model) if place != "cross"]
    units = [(place, layer, names) for place, layer, names in units if len(names) == 2]
    means = SentenceMeans()
    for batch in recorded(model, corpus, split, [name for _, _, names in units for name in names], settings):
        for place, layer, names in units:
            one, other = (batch.outputs[name].double() for name in names)
            real = batch.encoder if place == "encoder" else batch.target
            means.add(f"{OF_MAXIMA}_{place}_{layer}", jensen_shannon(_maximum(one), _maximum(other)), real)
            means.add(f"{OF_HEADS}_{place}_{layer}", jensen_shannon(one, other).mean(1), real)
    wholes = [f"{measure}_{place}" for measure in (OF_MAXIMA, OF_HEADS) for place in ("encoder", "decoder")]
    return {name: round(value, 6) for name, value in of_layers(means(), wholes).items()}


def _maximum(weights: Tensor) -> Tensor:
    """[B, H, T, S] -> the greatest weight of any head, [B, T, S], that add up to 1."""
    greatest = weights.amax(1)
    return greatest / greatest.sum(-1, keepdim=True)


def jensen_shannon(one: Tensor, other: Tensor) -> Tensor:
    """Distributions [..., S] -> JS of the pairs [...] in nats, with 0 log 0 = 0."""
    mean = (one + other) / 2
    return (entropy(mean) - (entropy(one) + entropy(other)) / 2).clamp(min=0) * math.log(2)
