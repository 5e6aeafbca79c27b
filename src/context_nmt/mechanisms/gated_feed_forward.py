"""Feed-forward networks with a gate (Shazeer 2020, "GLU Variants Improve Transformer").

    FFN(x) = (act(x W) * x V) W_2, without biases       eq. 6; act is a sigmoid (GLU), Swish_1 (SwiGLU), GELU or ReLU

The paper keeps the number of parameters by reducing the hidden width to 2/3 (section 2): `hidden_share`.
"""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from context_nmt.settings import Checked, PositiveNumber
from context_nmt.transformer.attention import Dropout, LayerContext, Place, linear
from context_nmt.transformer.facts import Facts

SLOTS = ("encoder_feed_forward", "decoder_feed_forward")
ACTIVATIONS = {"swish": nn.SiLU, "gelu": nn.GELU, "relu": nn.ReLU, "sigmoid": nn.Sigmoid}


@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    """The gate, and the hidden width."""

    gate: Literal["swish", "gelu", "relu", "sigmoid"] = "swish"  # activation of the gate; swish is SwiGLU
    hidden_share: PositiveNumber = 2 / 3  # hidden width as a share of model.feed_forward_width, rounded


def build(settings: Settings, place: Place) -> "GatedFeedForward":
    """Build the network of one layer."""
    return GatedFeedForward(settings, place)


class GatedFeedForward(nn.Module):
    """[B, T, D] -> [B, T, D], independently at each position."""

    def __init__(self, settings: Settings, place: Place) -> None:
        super().__init__()
        hidden = round(settings.hidden_share * place.feed_forward_width)
        self.gate = nn.Sequential(linear(place.width, hidden, bias=False), ACTIVATIONS[settings.gate]())  # W
        self.inner = linear(place.width, hidden, bias=False)  # V
        self.dropout = Dropout(place.feed_forward_dropout)
        self.outer = linear(hidden, place.width, bias=False)  # W_2

    def forward(self, states: Tensor, context: LayerContext) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        return self.outer(self.dropout(self.gate(states) * self.inner(states)))


FACTS = Facts(
    settings={"hidden_share": 0.5},
    parameters=lambda place: 3 * place.width * (place.feed_forward_width // 2),
    other_settings=tuple({"gate": gate} for gate in ("gelu", "relu", "sigmoid")),
    refused=(({"hidden_share": 0}, "hidden_share: "),),
    dropping=frozenset({"feed_forward_dropout"}),
)
