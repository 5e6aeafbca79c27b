"""The keys under model, and the slots that mechanisms fill."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from context_nmt.settings import Checked, PositiveInteger, PositiveNumber, ShareBelowOne, require

LayerSlot = Literal["encoder_self_attention", "decoder_self_attention", "cross_attention"]  # in every layer
OutputSlot = Literal["encoder_output", "decoder_output"]  # after a stack, over the previous sentences; mostly empty
Slot = Literal[LayerSlot, OutputSlot]


def output_slots(slots: Iterable[str]) -> list[str]:
    """Return the slots after a stack, where a mechanism looks at previous sentences."""
    return sorted(set(slots) & set(get_args(OutputSlot)))


@dataclass(frozen=True, kw_only=True)
class ModelSettings(Checked):
    """Kind, size and layer conventions of the Transformer (Vaswani et al. 2017)."""

    # Predicts one target unit after the other, or masked ones given the others (CMLM, Ghazvininejad et al. 2019).
    kind: Literal["autoregressive", "masked"] = "autoregressive"
    width: PositiveInteger = 512
    feed_forward_width: PositiveInteger = 2048
    heads: PositiveInteger = 8
    encoder_layers: PositiveInteger = 6
    decoder_layers: PositiveInteger = 6
    norm: Literal["pre", "post"] = "pre"
    attention_bias: bool = False
    tying: Literal["none", "decoder", "all"] = "all"
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    maximum_positions: PositiveInteger = 1024  # of learned positions, and of lengths that a masked model predicts
    embedding_scale: bool = True  # embeddings times the square root of the width
    embedding_initialisation: Literal["normal", "glorot", "bert"] = "normal"  # N(0, 1/width), uniform, N(0, 0.02)
    initialisation: Literal["glorot", "bert"] = "glorot"  # bert: N(0, 0.02), except queries, keys and values
    source_embedding_bias: bool = False  # a learned vector added to every source embedding
    activation: Literal["relu", "gelu"] = "relu"
    layer_norm_epsilon: PositiveNumber = 1e-5
    dropout: ShareBelowOne = 0.1  # of a sublayer's output, before the residual addition
    embedding_dropout: ShareBelowOne = 0.1
    attention_dropout: ShareBelowOne = 0.0
    feed_forward_dropout: ShareBelowOne = 0.0  # of the feed-forward's hidden layer

    def __post_init__(self) -> None:
        require(self.width % self.heads == 0, f"width is {self.width}; it must be divisible by heads ({self.heads})")
        require(
            self.width % 2 == 0 or self.positions == "learned",
            f"width is {self.width}; it must be even where positions is sinusoidal",
        )
