"""The keys under model, and the slots that mechanisms fill."""

from dataclasses import dataclass
from typing import Literal

from context_nmt.settings import Checked, require

LayerSlot = Literal["encoder_self_attention", "decoder_self_attention", "cross_attention"]  # in every layer
OutputSlot = Literal["encoder_output", "decoder_output"]  # behind a stack, over the sentences before; most are empty
Slot = Literal[
    "encoder_self_attention", "decoder_self_attention", "cross_attention", "encoder_output", "decoder_output"
]


@dataclass(frozen=True, kw_only=True)
class ModelSettings(Checked):
    """Size and layer conventions of the Transformer (Vaswani et al. 2017), and what it models."""

    # One target unit after the other, or the masked ones given the others (CMLM, Ghazvininejad et al. 2019).
    kind: Literal["autoregressive", "masked"] = "autoregressive"
    width: int = 512
    feed_forward_width: int = 2048
    heads: int = 8
    encoder_layers: int = 6
    decoder_layers: int = 6
    norm: Literal["pre", "post"] = "pre"
    attention_bias: bool = False
    tying: Literal["none", "decoder", "all"] = "all"
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    maximum_positions: int = 1024  # of learned positions, and of the lengths that a masked model predicts
    embedding_scale: bool = True  # embeddings times the square root of the width
    embedding_initialisation: Literal["normal", "glorot", "bert"] = "normal"  # N(0, 1/width), uniform, N(0, 0.02)
    initialisation: Literal["glorot", "bert"] = "glorot"  # bert: maps N(0, 0.02) but for queries, keys and values
    source_embedding_bias: bool = False  # a learned vector added to every source embedding
    activation: Literal["relu", "gelu"] = "relu"
    layer_norm_epsilon: float = 1e-5
    dropout: float = 0.1  # of a sublayer's output, before the residual addition
    embedding_dropout: float = 0.1
    attention_dropout: float = 0.0
    feed_forward_dropout: float = 0.0  # of the feed-forward's hidden layer

    def __post_init__(self) -> None:
        for name in ("width", "feed_forward_width", "heads", "encoder_layers", "decoder_layers", "maximum_positions"):
            require(getattr(self, name) >= 1, f"{name} is {getattr(self, name)}; it must be at least 1")
        require(self.width % self.heads == 0, f"width ({self.width}) must be divisible by heads ({self.heads})")
        require(
            self.width % 2 == 0 or self.positions == "learned", f"width is {self.width}; sinusoids need an even one"
        )
        for name in ("dropout", "embedding_dropout", "attention_dropout", "feed_forward_dropout"):
            require(0 <= getattr(self, name) < 1, f"{name} is {getattr(self, name)}; it must be in [0, 1)")
        require(self.layer_norm_epsilon > 0, f"layer_norm_epsilon is {self.layer_norm_epsilon}; it must be positive")
