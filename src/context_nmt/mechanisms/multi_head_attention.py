"""Plain attention (Vaswani et al. 2017, section 3.2.2), the default for every attention slot."""

from dataclasses import dataclass

from context_nmt.settings import Checked
from context_nmt.transformer.attention import MultiHeadAttention, Place
from context_nmt.transformer.facts import Facts, copy_parts, plain_parameters

SLOTS = ("encoder_self_attention", "decoder_self_attention", "cross_attention")


@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    """No settings: sizes, biases and dropout are keys of model."""


def build(settings: Settings, place: Place) -> MultiHeadAttention:
    """Build the attention of one layer."""
    return MultiHeadAttention(
        width=place.width,
        heads=place.heads,
        bias=place.bias,
        dropout=place.attention_dropout,
        independent_queries=True,
    )


FACTS = Facts(
    parameters=plain_parameters,
    neutral=lambda attention, plain: copy_parts(attention, plain, "query", "key", "value", "output"),
)
