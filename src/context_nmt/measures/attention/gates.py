"""How far gates open that mix a context into queries, keys or values.

In context-aware self-attention it is lambda (Yang et al. 2019, figures 2 to 4), the share of the context in a query or
key; in lexical shortcuts r (Emelin et al. 2019), the share of the embeddings in a key or value.
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

    PLACE is encoder, decoder or cross, SIDE query, key or value. Values are means over sentences of a sentence's mean
    over heads or features and real positions; those of a tag are means over words of the mean over layers and units.
    `tagged` has the words of each sentence, under `source` and `target` where they are known; words of the
    target are left out for a masked model, which does not follow the reference.
    """
    found = attentions(analysed.model)
    means = SentenceMeans()
    by_tag: dict[tuple[str, str], list[float]] = defaultdict(list)  # by metric and tag
    names = [name for one in found for name in one.shows.gates.values()]
    for batch in recorded(analysed, names):
        layers: dict[tuple[str, bool], list[Tensor]] = defaultdict(list)  # by metric, and whether it is of the source
        for one in found:
            for side, name in one.shows.gates.items():
                opened = batch.outputs[name].double().flatten(2).mean(2)  # [B, T]
                metric, of_memory = f"gate_{one.place}_{side}", one.place == "cross" and side != "query"
                real = batch.encoder if one.place == "encoder" else batch.source if of_memory else batch.target
                means.add(metric, one.layer, opened, real)
                layers[metric, one.place == "encoder" or of_memory].append(opened)
        for (metric, of_source), of_layers in layers.items():
            words = tagged.get("source" if of_source else "target")
            if words is None or (isinstance(analysed.model, MaskedLanguageModel) and not of_source):
                continue
            over_layers = torch.stack(of_layers).mean(0)
            first = over_layers.size(1) - batch.source.size(1) if of_source else 1  # after BEGIN
            for number, values in zip(batch.sentences, over_layers.tolist(), strict=True):
                for word in words[number]:
                    by_tag[metric, word.tag].append(fmean(values[first + word.start : first + word.end]))
    yield from means.rows(analysed.test)
    for (metric, tag), shares in sorted(by_tag.items()):
        yield row(analysed.test, metric, round(fmean(shares), 6), tag=tag)
