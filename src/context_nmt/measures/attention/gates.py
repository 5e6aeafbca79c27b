"""Mean openness of the gates that mix context into queries, keys or values.

The gate is lambda in context-aware self-attention (Yang et al. 2019, figures 2 to 4), the share of the context in a
query or key, and r in lexical shortcuts (Emelin et al. 2019), the share of the embeddings in a key or value.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

import torch
from torch import Tensor

from context_nmt.measures.attention.recording import Analysed, SentenceMeans, attentions, recorded
from context_nmt.measures.parts_of_speech import TaggedWord
from context_nmt.measures.rows import Row, row
from context_nmt.models.kinds.masked import MaskedLanguageModel


def gates(analysed: Analysed, tagged: Mapping[str, Sequence[Sequence[TaggedWord]]]) -> Iterator[Row]:
    """Measure `gate_PLACE_SIDE` by layer, its mean over layers, and by tag.

    PLACE is encoder, decoder or cross, SIDE query, key or value. Values are averaged over the heads or features and
    real positions of each sentence, then over sentences; those of a tag over the layers and units of each word, then
    over words. `tagged` has the words of each sentence under `source` and `target`, where they are known. Target words
    are left out for a masked model, which does not follow the reference.
    """
    all_attentions = attentions(analysed.model)
    means = SentenceMeans()
    by_tag: dict[tuple[str, str], list[float]] = defaultdict(list)  # by metric and tag
    names = [name for attention in all_attentions for name in attention.shows.gates.values()]
    for batch in recorded(analysed, names):
        layers: dict[tuple[str, bool], list[Tensor]] = defaultdict(list)  # by metric, and whether on the source side
        for attention in all_attentions:
            for side, name in attention.shows.gates.items():
                openness = batch.outputs[name].double().flatten(2).mean(2)  # [B, T]
                metric, of_memory = f"gate_{attention.place}_{side}", attention.place == "cross" and side != "query"
                real = batch.encoder if attention.place == "encoder" else batch.source if of_memory else batch.target
                means.add(metric, attention.layer, openness, real)
                layers[metric, attention.place == "encoder" or of_memory].append(openness)
        for (metric, of_source), layer_values in layers.items():
            words = tagged.get("source" if of_source else "target")
            if words is None or (isinstance(analysed.model, MaskedLanguageModel) and not of_source):
                continue
            means_over_layers = torch.stack(layer_values).mean(0)
            first_unit = means_over_layers.size(1) - batch.source.size(1) if of_source else 1  # after BEGIN
            for number, values in zip(batch.sentences, means_over_layers.tolist(), strict=True):
                for word in words[number]:
                    by_tag[metric, word.tag].append(fmean(values[first_unit + word.start : first_unit + word.end]))
    yield from means.rows(analysed.test)
    for (metric, tag), openings in sorted(by_tag.items()):
        yield row(analysed.test, metric, round(fmean(openings), 6), tag=tag)
