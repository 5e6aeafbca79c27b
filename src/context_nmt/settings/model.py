"""The keys under model, and the slots that mechanisms fill."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from context_nmt.settings import Checked, NonNegativeInteger, PositiveInteger, PositiveNumber, ShareBelowOne, require

LayerSlot = Literal["encoder_self_attention", "decoder_self_attention", "cross_attention"]  # in every layer
OutputSlot = Literal["encoder_output", "decoder_output"]  # after a stack, over the previous sentences; mostly empty
Slot = Literal[LayerSlot, OutputSlot]


JOINED = ("previous_sources", "previous_targets")  # keys of model that only concatenation has


def output_slots(slots: Iterable[str]) -> list[str]:
    """Return the slots after a stack, where a mechanism looks at previous sentences."""
    return sorted(set(slots) & set(get_args(OutputSlot)))


@dataclass(frozen=True, kw_only=True)
class ModelSettings(Checked):
    """Kind, size and layer conventions of the Transformer (Vaswani et al. 2017)."""

    # autoregressive: predicts one target unit after the other; masked: predicts masked units given the others (CMLM,
    # Ghazvininejad et al. 2019); concatenation: autoregressive, on a sentence joined with those before it
    kind: Literal["autoregressive", "masked", "concatenation"] = "autoregressive"
    # concatenation: how many sentences before it in its document are joined with a source, at least 1
    previous_sources: NonNegativeInteger = 0
    previous_targets: NonNegativeInteger = 0  # and with its target, at most as many
    width: PositiveInteger = 512  # size of embeddings and states, d_model; divisible by heads
    feed_forward_width: PositiveInteger = 2048  # size of the feed-forward's hidden layer
    heads: PositiveInteger = 8  # attention heads per layer
    encoder_layers: PositiveInteger = 6  # number of encoder layers
    decoder_layers: PositiveInteger = 6  # number of decoder layers
    norm: Literal["pre", "post"] = "pre"  # layer norm before each sublayer or after the residual addition
    attention_bias: bool = False  # biases in the projections of attentions
    # shared embeddings: decoder: target embedding and output; all: the source embedding, too (needs units.joint)
    tying: Literal["none", "decoder", "all"] = "all"
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"  # encoding of positions
    # number of learned positions, and of lengths that a masked model predicts
    maximum_positions: PositiveInteger = 1024
    embedding_scale: bool = True  # multiply embeddings by the square root of the width
    # normal: N(0, 1/width); glorot: uniform; bert: N(0, 0.02)
    embedding_initialisation: Literal["normal", "glorot", "bert"] = "normal"
    # of linear maps; bert: N(0, 0.02), except queries, keys and values
    initialisation: Literal["glorot", "bert"] = "glorot"
    source_embedding_bias: bool = False  # add a learned vector to every source embedding
    activation: Literal["relu", "gelu"] = "relu"  # of the feed-forward's hidden layer
    layer_norm_epsilon: PositiveNumber = 1e-5  # added to the variance
    dropout: ShareBelowOne = 0.1  # of a sublayer's output, before the residual addition
    embedding_dropout: ShareBelowOne = 0.1  # of embeddings with positions
    attention_dropout: ShareBelowOne = 0.0  # of attention weights
    feed_forward_dropout: ShareBelowOne = 0.0  # of the feed-forward's hidden layer

    def __post_init__(self) -> None:
        require(self.width % self.heads == 0, f"width is {self.width}; it must be divisible by heads ({self.heads})")
        require(
            self.width % 2 == 0 or self.positions == "learned",
            f"width is {self.width}; it must be even where positions is sinusoidal",
        )
        sources, targets = self.previous_sources, self.previous_targets
        require(
            self.kind != "concatenation" or sources > 0,
            "previous_sources is 0, but kind is concatenation; it must be at least 1, the number of previous sentences"
            " that are joined with each",
        )
        require(
            self.kind == "concatenation" or not (sources or targets),
            f"previous_{'sources' if sources else 'targets'} is {sources or targets}, but kind is {self.kind}; only"
            " concatenation joins sentences",
        )
        require(
            targets <= sources,
            f"previous_targets is {targets}; it must be at most previous_sources ({sources}), since previous sentences"
            " are translated, too",
        )
