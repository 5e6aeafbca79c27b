"""What a mechanism behind a stack may look at: the K sentences before each sentence of a batch, oldest first.

In the shapes, … is N for sentences in a row, and B, K for the previous ones of each of B. Words are positions with a
unit of the text: neither padding nor BEGIN, END and unknown. Where a previous sentence is missing, there is no word.
"""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from context_nmt.transformer.attention import State


@dataclass(frozen=True, kw_only=True)
class SourceStates:
    """Source sentences, encoded without any context."""

    states: Tensor  # […, S, D] before the encoder's output slot
    words: Tensor  # bool […, S]


@dataclass(frozen=True, kw_only=True)
class TargetStates:
    """Their translations, as the decoder has read them."""

    inputs: Tensor  # ids […, T], BEGIN first
    words: Tensor  # bool […, T] of the inputs
    states: Tensor  # […, T, D] before the decoder's output slot
    crossed: Tensor  # […, T, D] what the last layer's cross-attention gave


@dataclass(frozen=True, kw_only=True)
class SentenceContext:
    """The previous sentences of each of B, and what belongs to the present one."""

    source: SourceStates
    target: TargetStates | None = None  # None behind the encoder, which comes before any target
    own_crossed: Tensor | None = None  # [B, T, D] what the last layer's cross-attention gave, behind the decoder
    state: State | None = None  # in decoding a dict with a row per sentence, which the mechanism owns


class OutputContext(Protocol):
    """What sits behind a stack: its output [B, T, D] -> [B, T, D].

    A position of the result depends on that position of `states` and `own_crossed`, and on the previous sentences:
    decoding shows it the hypotheses of a sentence as positions of one row. `sentences` says how many previous ones it
    looks at.
    """

    sentences: int

    def __call__(self, states: Tensor, context: SentenceContext) -> Tensor: ...
