"""The context of a mechanism after a stack: the K sentences before each sentence of a batch, oldest first.

In the shapes, … is N for a list of sentences, and B, K for the previous ones of each of B. Words are positions with a
unit of the text: not padding, BEGIN, END or the unknown unit. A missing previous sentence has no words.
"""

from dataclasses import dataclass
from typing import Protocol, TypedDict

from torch import Tensor

from context_nmt.transformer.attention import State


class PreviousSentences(TypedDict, total=False):
    """Source sentences, encoded without any context, and after a decoder also their translations, as it read them."""

    source: Tensor  # […, S, D] before the encoder's output slot
    source_words: Tensor  # bool […, S]
    inputs: Tensor  # target ids […, T], BEGIN first
    target_words: Tensor  # bool […, T] of the inputs
    target: Tensor  # […, T, D] before the decoder's output slot
    crossed: Tensor  # […, T, D] output of the last layer's cross-attention


@dataclass(frozen=True, kw_only=True)
class SentenceContext:
    """The previous sentences of each of B sentences, and the states of the current one."""

    before: PreviousSentences
    own_crossed: Tensor | None = None  # [B, T, D] after the decoder: output of the last layer's cross-attention
    state: State | None = None  # in decoding a dict with a row per sentence, which the mechanism owns


class OutputContext(Protocol):
    """A mechanism after a stack: the stack's output [B, T, D] -> [B, T, D].

    A position of the result depends on that position of `states` and `own_crossed`, and on the previous sentences:
    in decoding, the hypotheses of a sentence are positions of one row. It looks at `sentences` previous ones.
    """

    sentences: int

    def __call__(self, states: Tensor, context: SentenceContext) -> Tensor: ...
