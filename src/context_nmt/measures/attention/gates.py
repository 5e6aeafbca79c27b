"""How far gates open that mix a context into queries, keys or values.

In context-aware self-attention it is lambda (Yang et al. 2019, figures 2 to 4), the share of the context in a query or
key; in lexical shortcuts r (Emelin et al. 2019), the share of the embeddings in a key or value.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

import torch
from torch import Tensor

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.measures.attention.recording import Batch, SentenceMeans, follows_the_reference, of_layers, recorded
from context_nmt.measures.attention.submodules import attentions, gates_of
from context_nmt.measures.attention.tagged_words import TaggedWord
from context_nmt.models.model import Model
from context_nmt.settings.decoding import DecodingSettings

Tagged = Sequence[Sequence[TaggedWord]]  # of each sentence of a split


def gates(
    model: Model, corpus: BinarizedCorpus, split: str, settings: DecodingSettings, tagged: Mapping[str, Tagged]
) -> dict[str, float]:
    """Measure `gate_PLACE_SIDE_LAYER`, the mean over layers `gate_PLACE_SIDE`, and of a tag `gate_PLACE_SIDE_TAG`.

    PLACE is encoder, decoder or cross, SIDE query, key or value. Values are means over sentences of a sentence's mean
    over heads or features and real positions; those of a tag are means over words of the mean over layers and units.
    `tagged` has the words of the source or the target, where they are known; those of a target are left out where the
    model does not follow it.
    """
    found = [(place, layer, gates_of(model, path)) for place, layer, path in attentions(model)]
    names = [name for _, _, sides in found for name in sides.values()]
    means, words = SentenceMeans(), _Words(tagged, follows=follows_the_reference(model))
    for batch in recorded(model, corpus, split, names, settings):
        layers: dict[tuple[str, str], list[Tensor]] = defaultdict(list)
        for place, layer, sides in found:
            for side, name in sides.items():
                opened = batch.outputs[name].double().flatten(2).mean(2)  # [B, T]
                means.add(f"gate_{place}_{side}_{layer}", opened, _real(batch, place, side))
                layers[place, side].append(opened)
        for (place, side), opened_by_layer in layers.items():
            words.add(place, side, torch.stack(opened_by_layer).mean(0), batch)
    measures = dict.fromkeys(f"gate_{place}_{side}" for place, _, sides in found for side in sides)
    return {name: round(value, 6) for name, value in (of_layers(means(), measures) | words.means()).items()}


def _of_source(place: str, side: str) -> bool:
    return place == "encoder" or (place == "cross" and side != "query")


def _real(batch: Batch, place: str, side: str) -> Tensor:
    if place == "encoder":
        return batch.encoder
    return batch.source if _of_source(place, side) else batch.target


class _Words:
    """Collects by tag what the gates of a word are at."""

    def __init__(self, tagged: Mapping[str, Tagged], *, follows: bool) -> None:
        self._tagged = tagged
        self._follows = follows
        self._found: dict[str, list[float]] = defaultdict(list)

    def add(self, place: str, side: str, opened: Tensor, batch: Batch) -> None:
        """Take [B, T] of a batch."""
        of_source = _of_source(place, side)
        tagged = self._tagged.get("source" if of_source else "target")
        if tagged is None or not (of_source or self._follows):
            return
        first = opened.size(1) - batch.source.size(1) if of_source else 1  # behind BEGIN
        for number, values in zip(batch.sentences, opened.tolist(), strict=True):
            for word in tagged[number]:
                value = fmean(values[first + word.start : first + word.end])
                self._found[f"gate_{place}_{side}_{word.tag}"].append(value)

    def means(self) -> dict[str, float]:
        return {name: fmean(values) for name, values in sorted(self._found.items())}
