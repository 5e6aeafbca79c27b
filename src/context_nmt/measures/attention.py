"""Measures of attention: locality, divergence and the openness of gates.

Locality is measured in the cross-attention: its entropy (Ding et al. 2020, table 2) and its local gate (figure 2a).

Divergence is the Jensen-Shannon divergence (JS), in nats, of a layer's two attention maps (Ampomah et al. 2021, eq. 10
to 13, figure 4): the mean relative entropy of each map to their average. In the paper, the map of a unit is the maximum
over its heads. Maxima are not distributions, for which JS is defined, so they are measured twice: renormalized, and
literally. A third measure is the mean over pairs of heads with the same number.

A gate mixes context into queries, keys or values. In context-aware self-attention (Yang et al. 2019, figures 2 to 4),
its openness is lambda, the share of the context in a query or key; in lexical shortcuts (Emelin et al. 2019), it is r,
the share of the embeddings in a key or value.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

import torch
from torch import Tensor

from context_nmt.measures.parts_of_speech import TaggedWord
from context_nmt.measures.recording import AnalysisInput, SentenceMeans, attention_sites, record_batches
from context_nmt.measures.rows import Row, row
from context_nmt.models.kinds.masked import MaskedLanguageModel

REQUIRED_MAPS = {"encoder": 2, "decoder": 2, "cross": 1}  # number of maps that an attention must show to be measured
LOCALITY_METRICS = ("locality_entropy", "locality_entropy_of_mean_map")


def attention_measures(analysed: AnalysisInput, tagged: Mapping[str, Sequence[Sequence[TaggedWord]]]) -> Iterator[Row]:
    """Measure the attentions of a model by layer, and in means over the layers that have a measure.

    KIND is encoder, decoder or cross; SIDE is query, key or value. Values are averaged over the heads or features and
    the real positions of each sentence, then over sentences. A masked model is measured in its last iteration, an
    autoregressive model on the reference.

    locality_entropy              entropy of each head of the cross-attention over the source, in bits
    locality_entropy_of_mean_map  entropy of the mean map of all heads; like locality_entropy, it has a mean over layers
                                  only if all layers of the decoder show one map
    local_share                   1 - g, by layer only
    divergence_KIND               JS of the renormalized maxima of a self-attention that shows exactly two maps
    literal_divergence_KIND       JS of the maxima as they are
    head_divergence_KIND          mean JS of pairs of heads
    gate_KIND_SIDE                openness of a gate; by tag, a mean over the layers and units of each word, then words

    `tagged` has the words of each sentence under `source` and `target`, where they are known. A masked model does not
    follow the reference, so its target words are left out.
    """
    sites = attention_sites(analysed.model)
    sites_with_maps = [site for site in sites if len(site.shows.weights) == REQUIRED_MAPS[site.kind]]
    names = [name for site in sites_with_maps for name in (*site.shows.weights, site.shows.global_share) if name]
    names += [name for site in sites for name in site.shows.gates.values()]
    means = SentenceMeans()
    by_tag: dict[tuple[str, str], list[float]] = defaultdict(list)  # by metric and tag
    for batch in record_batches(analysed, names):
        for site in sites_with_maps:
            kind, layer, shows = site.kind, site.layer, site.shows
            queries = batch.encoder if kind == "encoder" else batch.target
            maps = [batch.outputs[name].double() for name in shows.weights]  # [B, H, T, S] each
            if kind == "cross":
                (weights,) = maps
                means.add("locality_entropy", layer, entropy(weights).mean(1), queries)
                means.add("locality_entropy_of_mean_map", layer, entropy(weights.mean(1)), queries)
                if shows.global_share:
                    share = batch.outputs[shows.global_share].double()
                    means.add("local_share", layer, 1 - share.squeeze(-1).mean(1), queries)
            else:
                greatest = [weights.amax(1) for weights in maps]
                distributions = [weights / weights.sum(-1, keepdim=True) for weights in greatest]
                means.add(f"divergence_{kind}", layer, jensen_shannon(*distributions), queries)
                means.add(f"literal_divergence_{kind}", layer, jensen_shannon(*greatest), queries)
                means.add(f"head_divergence_{kind}", layer, jensen_shannon(*maps).mean(1), queries)
        gates: dict[tuple[str, bool], list[Tensor]] = defaultdict(list)  # by metric, and whether on the source side
        for site in sites:
            kind, layer, shows = site.kind, site.layer, site.shows
            queries = batch.encoder if kind == "encoder" else batch.target
            for side, name in shows.gates.items():
                openness = batch.outputs[name].double().flatten(2).mean(2)  # [B, T]
                is_of_memory = kind == "cross" and side != "query"
                means.add(f"gate_{kind}_{side}", layer, openness, batch.source if is_of_memory else queries)
                gates[f"gate_{kind}_{side}", kind == "encoder" or is_of_memory].append(openness)
        for (metric, is_of_source), layers in gates.items():
            words = tagged.get("source" if is_of_source else "target")
            if words is None or (isinstance(analysed.model, MaskedLanguageModel) and not is_of_source):
                continue
            means_over_layers = torch.stack(layers).mean(0)
            first_unit = means_over_layers.size(1) - batch.source.size(1) if is_of_source else 1  # after BEGIN
            for number, values in zip(batch.sentences, means_over_layers.tolist(), strict=True):
                for word in words[number]:
                    by_tag[metric, word.tag].append(fmean(values[first_unit + word.start : first_unit + word.end]))
    all_show_one_map = all(site in sites_with_maps for site in sites if site.kind == "cross")
    yield from means.rows(analysed.test, without_mean={"local_share", *(() if all_show_one_map else LOCALITY_METRICS)})
    for (metric, tag), openings in sorted(by_tag.items()):
        yield row(analysed.test, metric, round(fmean(openings), 6), tag=tag)


def entropy(weights: Tensor) -> Tensor:
    """Return the entropies [...] of distributions [..., S] in bits, with 0 log 0 = 0."""
    return -(weights * weights.clamp(min=1e-300).log2()).sum(-1)


def jensen_shannon(p: Tensor, q: Tensor) -> Tensor:
    """Return the JS divergence [...] of paired weights [..., S] in nats, by its formula, with 0 log 0 = 0."""
    mean = (p + q) / 2
    return (entropy(mean) - (entropy(p) + entropy(q)) / 2).clamp(min=0) * math.log(2)
