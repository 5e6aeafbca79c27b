"""How far gates open that mix a context into queries, keys or values.

In context-aware self-attention it is lambda (Yang et al. 2019, figures 2 to 4), the share of the context in a query or
key; in lexical shortcuts r (Emelin et al. 2019), the share of the embeddings in a key or value.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

import torch
from torch import Tensor

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.measures.attention.recording import (
    Batch,
    SentenceMeans,
    attentions,
    follows_the_reference,
    recorded,
)
from context_nmt.measures.attention.tagged_words import TaggedWord
from context_nmt.measures.rows import Row, row
from context_nmt.models.model import Model
from context_nmt.settings.decoding import DecodingSettings

Tagged = Sequence[Sequence[TaggedWord]]  # of each sentence of a split


def gates(
    model: Model, corpus: BinarizedCorpus, split: str, settings: DecodingSettings, tagged: Mapping[str, Tagged]
) -> Iterator[Row]:
    """Measure `gate_PLACE_SIDE` by layer, its mean over layers, and by tag.

    PLACE is encoder, decoder or cross, SIDE query, key or value. Values are means over sentences of a sentence's mean
    over heads or features and real positions; those of a tag are means over words of the mean over layers and units.
    `tagged` has the words of the source or the target, where they are known; those of a target are left out where the
    model does not follow it.
    """
    found = attentions(model)
    names = [name for one in found for name in one.shows.gates.values()]
    means, words = SentenceMeans(), _Words(tagged, follows=follows_the_reference(model))
    for batch in recorded(model, corpus, split, names, settings):
        layers: dict[tuple[str, str], list[Tensor]] = defaultdict(list)
        for one in found:
            for side, name in one.shows.gates.items():
                opened = batch.outputs[name].double().flatten(2).mean(2)  # [B, T]
                means.add(f"gate_{one.place}_{side}", one.layer, opened, _real(batch, one.place, side))
                layers[one.place, side].append(opened)
        for (place, side), opened_by_layer in layers.items():
            words.add(place, side, torch.stack(opened_by_layer).mean(0), batch)
    yield from means.rows(split)
    yield from words.rows(split)


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
        self._found: dict[tuple[str, str], list[float]] = defaultdict(list)  # by metric and tag

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
                self._found[f"gate_{place}_{side}", word.tag].append(value)

    def rows(self, test_set: str) -> Iterator[Row]:
        """Yield the mean of each tag."""
        for (metric, tag), values in sorted(self._found.items()):
            yield row(test_set, metric, round(fmean(values), 6), tag=tag)
