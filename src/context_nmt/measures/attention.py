"""Measures of attention: locality, divergence and the openness of gates.

Locality is that of cross-attention: the locality entropy (Ding et al. 2020, table 2) and the local gate (figure 2a).

Divergence is the Jensen-Shannon divergence (JS) of a layer's two attention maps (Ampomah et al. 2021, eq. 10 to 13,
figure 4). In the paper, the map of a unit is the maximum over its heads: here the elementwise maximum, renormalized,
since JS is defined for distributions, and as it is, the literal reading. A third measure is the mean over pairs of
heads with the same number. JS is the mean of the relative entropies of the two maps to their average, in nats.

A gate mixes context into queries, keys or values: lambda in context-aware self-attention (Yang et al. 2019, figures 2
to 4), the share of the context in a query or key, and r in lexical shortcuts (Emelin et al. 2019), the share of the
embeddings in a key or value.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

import torch
from torch import Tensor

from context_nmt.measures.parts_of_speech import TaggedWord
from context_nmt.measures.recording import Analysed, SentenceMeans, attentions, recorded
from context_nmt.measures.rows import Row, row
from context_nmt.models.kinds.masked import MaskedLanguageModel

MAPS = {"encoder": 2, "decoder": 2, "cross": 1}  # that an attention at a place must show to be measured
LOCALITY = ("locality_entropy", "locality_entropy_of_mean_map")


def attention_measures(analysed: Analysed, tagged: Mapping[str, Sequence[Sequence[TaggedWord]]]) -> Iterator[Row]:
    """Measure the attentions of a model by layer, and in means over the layers that have a measure.

    PLACE is encoder, decoder or cross, SIDE query, key or value. Values are averaged over the heads or features and the
    real positions of each sentence, then over sentences. A masked model is measured in its last iteration, an
    autoregressive model on the reference.

    locality_entropy              entropy of each head of the cross-attention over the source, in bits
    locality_entropy_of_mean_map  the same of the mean map of all heads; both without a mean over layers unless all
                                  layers of the decoder show one map
    local_share                   1 - g, by layer only
    divergence_PLACE              JS of the maps of a self-attention that shows exactly two
    literal_divergence_PLACE      the same of maxima that are not renormalized
    head_divergence_PLACE         the same of pairs of heads
    gate_PLACE_SIDE               openness of a gate; by tag, a mean over the layers and units of each word, then words

    `tagged` has the words of each sentence under `source` and `target`, where they are known. Target words are left out
    for a masked model, which does not follow the reference.
    """
    found = attentions(analysed.model)
    with_maps = [one for one in found if len(one.shows.weights) == MAPS[one.place]]
    names = [name for one in with_maps for name in (*one.shows.weights, one.shows.global_share) if name]
    names += [name for one in found for name in one.shows.gates.values()]
    means = SentenceMeans()
    by_tag: dict[tuple[str, str], list[float]] = defaultdict(list)  # by metric and tag
    for batch in recorded(analysed, names):
        for attention in with_maps:
            place, layer, shows = attention.place, attention.layer, attention.shows
            queries = batch.encoder if place == "encoder" else batch.target
            maps = [batch.outputs[name].double() for name in shows.weights]  # [B, H, T, S] each
            if place == "cross":
                (weights,) = maps
                means.add("locality_entropy", layer, entropy(weights).mean(1), queries)
                means.add("locality_entropy_of_mean_map", layer, entropy(weights.mean(1)), queries)
                if shows.global_share:
                    share = batch.outputs[shows.global_share].double()
                    means.add("local_share", layer, 1 - share.squeeze(-1).mean(1), queries)
            else:
                greatest = [weights.amax(1) for weights in maps]
                distributions = [weights / weights.sum(-1, keepdim=True) for weights in greatest]
                means.add(f"divergence_{place}", layer, jensen_shannon(*distributions), queries)
                means.add(f"literal_divergence_{place}", layer, jensen_shannon(*greatest), queries)
                means.add(f"head_divergence_{place}", layer, jensen_shannon(*maps).mean(1), queries)
        gates: dict[tuple[str, bool], list[Tensor]] = defaultdict(list)  # by metric, and whether on the source side
        for attention in found:
            place, layer, shows = attention.place, attention.layer, attention.shows
            queries = batch.encoder if place == "encoder" else batch.target
            for side, name in shows.gates.items():
                openness = batch.outputs[name].double().flatten(2).mean(2)  # [B, T]
                of_memory = place == "cross" and side != "query"
                means.add(f"gate_{place}_{side}", layer, openness, batch.source if of_memory else queries)
                gates[f"gate_{place}_{side}", place == "encoder" or of_memory].append(openness)
        for (metric, of_source), layers in gates.items():
            words = tagged.get("source" if of_source else "target")
            if words is None or (isinstance(analysed.model, MaskedLanguageModel) and not of_source):
                continue
            means_over_layers = torch.stack(layers).mean(0)
            first_unit = means_over_layers.size(1) - batch.source.size(1) if of_source else 1  # after BEGIN
            for number, values in zip(batch.sentences, means_over_layers.tolist(), strict=True):
                for word in words[number]:
                    by_tag[metric, word.tag].append(fmean(values[first_unit + word.start : first_unit + word.end]))
    all_show_one_map = all(one in with_maps for one in found if one.place == "cross")
    yield from means.rows(analysed.test, without_mean={"local_share", *(() if all_show_one_map else LOCALITY)})
    for (metric, tag), openings in sorted(by_tag.items()):
        yield row(analysed.test, metric, round(fmean(openings), 6), tag=tag)


def entropy(weights: Tensor) -> Tensor:
    """Return the entropies [...] of distributions [..., S] in bits, with 0 log 0 = 0."""
    return -(weights * weights.clamp(min=1e-300).log2()).sum(-1)


def jensen_shannon(one: Tensor, other: Tensor) -> Tensor:
    """Return the JS divergence [...] of paired weights [..., S] in nats, by its formula, with 0 log 0 = 0."""
    mean = (one + other) / 2
    return (entropy(mean) - (entropy(one) + entropy(other)) / 2).clamp(min=0) * math.log(2)
