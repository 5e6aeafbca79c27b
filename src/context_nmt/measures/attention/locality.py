"""How narrowly cross-attention looks: locality entropy (Ding et al. 2020, table 2) and the local gate (figure 2a)."""

from collections.abc import Iterator

from torch import Tensor

from context_nmt.measures.attention.recording import Analysed, SentenceMeans, attentions, recorded
from context_nmt.measures.rows import Row


def locality(analysed: Analysed) -> Iterator[Row]:
    """Measure the cross-attention of each decoder layer, and its mean over all layers if each shows its weights.

    `locality_entropy` is that of each head over the source, `locality_entropy_of_mean_map` that of the heads' mean map,
    in bits; `local_share` is 1 - g. All are means over sentences of a sentence's mean over heads and real target
    positions. A masked model is read in its last iteration, an autoregressive one on the reference.
    """
    cross = [one for one in attentions(analysed.model) if one.place == "cross"]
    shown = {one.layer: one.shows for one in cross if len(one.shows.weights) == 1}
    names = [name for shows in shown.values() for name in (*shows.weights, shows.global_share) if name]
    means, shares = SentenceMeans(), SentenceMeans()
    for batch in recorded(analysed, names):
        for layer, shows in shown.items():
            weights = batch.outputs[shows.weights[0]].double()  # [B, H, T, S]
            means.add("locality_entropy", layer, entropy(weights).mean(1), batch.target)
            means.add("locality_entropy_of_mean_map", layer, entropy(weights.mean(1)), batch.target)
            if shows.global_share:
                share = batch.outputs[shows.global_share].double()
                shares.add("local_share", layer, 1 - share.squeeze(-1).mean(1), batch.target)
    yield from means.rows(analysed.test, with_means=len(shown) == len(cross))
    yield from shares.rows(analysed.test, with_means=False)


def entropy(weights: Tensor) -> Tensor:
    """Distributions [..., S] -> their entropies [...] in bits, with 0 log 0 = 0."""
    return -(weights * weights.clamp(min=1e-300).log2()).sum(-1)
