"""How narrowly cross-attention looks: locality entropy (Ding et al. 2020, table 2) and the local gate (figure 2a)."""

from collections import defaultdict
from collections.abc import Iterator
from statistics import fmean

from torch import Tensor, nn

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.evaluation.analyses.recording import Outputs, recorded
from context_nmt.models.building import Model
from context_nmt.settings import DecodingSettings

ENTROPY, OF_MEAN_MAP = "locality_entropy", "locality_entropy_of_mean_map"  # bits
LOCAL = "local_share"  # 1 - g


def locality(model: Model, corpus: BinarizedCorpus, split: str, settings: DecodingSettings) -> dict[str, float]:
    """Measure each decoder layer's cross-attention, `MEASURE_LAYER`, and its mean over all layers if each has one.

    Entropies are those of each head over the source, and those of the map that is the heads' mean. All are means over
    sentences of a sentence's mean over heads and real target positions. A masked model is read in its last iteration,
    an autoregressive one on the reference. An attention that does not show its weights has no measures, see `_hooks`.
    """
    hooks = [_hooks(model, f"decoder.layers.{number}.cross_attention") for number in range(len(model.decoder.layers))]
    names = [name for layer in hooks for name in layer.values()]
    sentences: list[dict[str, list[float]]] = [defaultdict(list) for _ in hooks]
    for outputs, real in recorded(model, corpus, split, names, settings):
        for layer, found in zip(hooks, sentences, strict=True):
            for measure, values in _measures(layer, outputs):
                found[measure] += ((values * real).sum(1) / real.sum(1)).tolist()
    layers = [{measure: fmean(values) for measure, values in found.items()} for found in sentences]
    overall = {
        measure: fmean(layer[measure] for layer in layers)
        for measure in (ENTROPY, OF_MEAN_MAP)
        if all(measure in layer for layer in layers)
    }
    by_layer = {
        f"{measure}_{number}": value for number, layer in enumerate(layers, start=1) for measure, value in layer.items()
    }
    return {name: round(value, 6) for name, value in (overall | by_layer).items()}


def _measures(hooks: dict[str, str], outputs: Outputs) -> Iterator[tuple[str, Tensor]]:
    """Yield what a layer's outputs say of every target position, [B, T]."""
    weights = outputs.get(hooks.get("weights", ""))  # [B, H, T, S]
    if weights is None:
        return
    yield ENTROPY, entropy(weights.double()).mean(1)
    yield OF_MEAN_MAP, entropy(weights.double().mean(1))
    gate = outputs.get(hooks.get("gate", ""))
    if gate is not None and gate.shape == (*weights.shape[:-1], 1):
        yield LOCAL, 1 - gate.double().squeeze(-1).mean(1)


def entropy(weights: Tensor) -> Tensor:
    """Distributions [..., S] -> their entropies [...] in bits, with 0 log 0 = 0."""
    return -(weights * weights.clamp(min=1e-300).log2()).sum(-1)


def _hooks(model: Model, path: str) -> dict[str, str]:
    """The names of the submodules of an attention that are read.

    `weights` is an nn.Identity that the weights [B, H, T, S] pass through, at any depth, if it is the only one of that
    name; `gate` puts out the share of global attention [B, H, T, 1].
    """
    attention = model.get_submodule(path)
    weights = [
        f"{path}.{name}"
        for name, module in attention.named_modules()
        if name.rpartition(".")[2] == "weights" and isinstance(module, nn.Identity)
    ]
    found = {"weights": weights[0]} if len(weights) == 1 else {}
    return found | {name: f"{path}.{name}" for name, _ in attention.named_children() if name == "gate"}
