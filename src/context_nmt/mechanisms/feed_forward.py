"""The plain feed-forward network (Vaswani et al. 2017, section 3.3): FFN(x) = act(x W_1 + b_1) W_2 + b_2."""

from dataclasses import dataclass

from torch import Tensor, nn

from context_nmt.settings import Checked
from context_nmt.transformer.attention import Dropout, LayerContext, Place, linear
from context_nmt.transformer.facts import Facts, copy_parts

SLOTS = ("encoder_feed_forward", "decoder_feed_forward")
ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU}


@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    """No settings: width, activation and dropout are keys of model."""


def build(settings: Settings, place: Place) -> "FeedForwardNetwork":
    """Build the network of one layer."""
    return FeedForwardNetwork(place)


class FeedForwardNetwork(nn.Module):
    """[B, T, D] -> [B, T, D], independently at each position."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.inner = linear(place.width, place.feed_forward_width, bias=True)
        self.activation = ACTIVATIONS[place.activation]()
        self.dropout = Dropout(place.feed_forward_dropout)
        self.outer = linear(place.feed_forward_width, place.width, bias=True)

    def forward(self, states: Tensor, context: LayerContext) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        return self.outer(self.dropout(self.activation(self.inner(states))))


FACTS = Facts(
    parameters=lambda place: (2 * place.width + 1) * place.feed_forward_width + place.width,
    neutral=lambda network, plain: copy_parts(network, plain, "inner", "outer"),
    dropping=frozenset({"feed_forward_dropout"}),
)
