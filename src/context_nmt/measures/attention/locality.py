"""Locality of cross-attention: locality entropy (Ding et al. 2020, table 2) and the local gate (figure 2a)."""

from collections.abc import Iterator

from torch import Tensor

from context_nmt.measures.attention.recording import Analysed, SentenceMeans, attentions, recorded
from context_nmt.measures.rows import Row


def locality(analysed: Analysed) -> Iterator[Row]:
    """Measure the cross-attention of each decoder layer, and the mean over layers if all of them expose their weights.

    `locality_entropy` is the entropy of each head over the source, `locality_entropy_of_mean_map` the entropy of the
    mean map of all heads, in bits; `local_share` is 1 - g. Values are averaged over the heads and real target positions
    of each sentence, then over sentences. A masked model is measured in its last iteration, an autoregressive model on
    the reference.
    """
    cross_attentions = [attention for attention in attentions(analysed.model) if attention.place == "cross"]
    shows_by_layer = {
        attention.layer: attention.shows for attention in cross_attentions if len(attention.shows.weights) == 1
    }
    names = [name for shows in shows_by_layer.values() for name in (*shows.weights, shows.global_share) if name]
    means, shares = SentenceMeans(), SentenceMeans()
    for batch in recorded(analysed, names):
        for layer, shows in shows_by_layer.items():
            weights = batch.outputs[shows.weights[0]].double()  # [B, H, T, S]
            means.add("locality_entropy", layer, entropy(weights).mean(1), batch.target)
            means.add("locality_entropy_of_mean_map", layer, entropy(weights.mean(1)), batch.target)
            if shows.global_share:
                share = batch.outputs[shows.global_share].double()
                shares.add("local_share", layer, 1 - share.squeeze(-1).mean(1), batch.target)
    yield from means.rows(analysed.test, with_means=len(shows_by_layer) == len(cross_attentions))
    yield from shares.rows(analysed.test, with_means=False)


def entropy(weights: Tensor) -> Tensor:
    """Return the entropies [...] of distributions [..., S] in bits, with 0 log 0 = 0."""
    return -(weights * weights.clamp(min=1e-300).log2()).sum(-1)
