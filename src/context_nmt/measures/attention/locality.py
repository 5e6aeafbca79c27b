"""How narrowly cross-attention looks: locality entropy (Ding et al. 2020, table 2) and the local gate (figure 2a)."""

from collections.abc import Iterator

from torch import Tensor

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.measures.attention.recording import Outputs, SentenceMeans, of_layers, recorded
from context_nmt.measures.attention.submodules import weights_of
from context_nmt.models.model import Model
from context_nmt.settings.decoding import DecodingSettings

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
    means = SentenceMeans()
    for batch in recorded(model, corpus, split, names, settings):
        for number, layer in enumerate(hooks, start=1):
            for measure, values in _measures(layer, batch.outputs):
                means.add(f"{measure}_{number}", values, batch.target)
    by_layer = means()
    numbers = range(1, 1 + len(hooks))
    shown = [one for one in (ENTROPY, OF_MEAN_MAP) if all(f"{one}_{number}" in by_layer for number in numbers)]
    return {name: round(value, 6) for name, value in of_layers(by_layer, shown).items()}


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
    """The names of the submodules of an attention that are read: its weights if they are the only ones, and its gate.

    `gate` puts out the share of global attention [B, H, T, 1].
    """
    weights = weights_of(model, path)
    found = {"weights": weights[0]} if len(weights) == 1 else {}
    return found | {name: f"{path}.{name}" for name, _ in model.get_submodule(path).named_children() if name == "gate"}
