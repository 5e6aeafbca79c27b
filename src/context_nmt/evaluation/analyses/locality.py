"""How narrowly cross-attention looks: locality entropy (Ding et al. 2020, table 2) and the local gate (figure 2a)."""

from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from torch import Tensor

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.evaluation.analyses.recording import recorded
from context_nmt.models.building import Model
from context_nmt.settings import DecodingSettings


@dataclass
class Layer:
    """Sentence by sentence, what one decoder layer does."""

    entropy: list[float] = field(default_factory=list)  # bits, mean over heads and target positions
    of_mean: list[float] = field(default_factory=list)  # bits, of the heads' mean map
    local: list[float] = field(default_factory=list)  # 1 - g, mean over heads and target positions


def locality(model: Model, corpus: BinarizedCorpus, split: str, settings: DecodingSettings) -> dict[str, Any]:
    """Entropy of cross-attention over the source in bits, by layer and over all; and how much is local, if it is gated.

    Means over sentences of a sentence's mean over heads and real target positions. A masked model is read in its last
    iteration, an autoregressive one on the reference.
    """
    places = _places(model)
    layers = [Layer() for _ in places]
    names = [name for place in places for name in place.values()]
    for outputs, _, real in recorded(model, corpus, split, names, settings):
        for layer, place in zip(layers, places, strict=True):
            weights = outputs[place["weights"]].double()  # [B, H, T, S]
            layer.entropy += _sentence_means(entropy(weights).mean(1), real)
            layer.of_mean += _sentence_means(entropy(weights.mean(1)), real)
            if "gate" in place:
                layer.local += _sentence_means(1 - outputs[place["gate"]].double().squeeze(-1).mean(1), real)
    return {
        "entropy": fmean(fmean(layer.entropy) for layer in layers),
        "entropy_of_mean_map": fmean(fmean(layer.of_mean) for layer in layers),
        "layers": [
            {
                "entropy": fmean(layer.entropy),
                "entropy_of_mean_map": fmean(layer.of_mean),
                "local": fmean(layer.local) if layer.local else None,
            }
            for layer in layers
        ],
    }


def entropy(weights: Tensor) -> Tensor:
    """Distributions [..., S] -> their entropies [...] in bits, with 0 log 0 = 0."""
    return -(weights * weights.clamp(min=1e-300).log2()).sum(-1)


def _sentence_means(values: Tensor, real: Tensor) -> list[float]:
    """Values [B, T] -> each sentence's mean over its real positions."""
    means: list[float] = ((values * real).sum(1) / real.sum(1)).tolist()
    return means


def _places(model: Model) -> list[dict[str, str]]:
    """For each decoder layer, the names of its cross-attention's weights and, where it has a local one, its gate."""
    places = []
    for number in range(len(model.decoder.layers)):
        start = f"decoder.layers.{number}.cross_attention."
        inside = dict(model.get_submodule(start.rstrip(".")).named_modules())
        (weights,) = [name for name in inside if name.rpartition(".")[2] == "weights"]
        gate = {"gate": f"{start}gate"} if "gate" in inside else {}
        places.append({"weights": start + weights, **gate})
    return places
