"""The context of a mechanism after a stack: the K sentences before each sentence of a batch, oldest first.

In shapes, … stands for N, a list of sentences, or for B, K, the previous sentences of a batch. Words are positions with
a unit of the text, not padding, BEGIN, END or the unknown unit. A missing previous sentence has no words.
"""

from dataclasses import dataclass
from typing import Protocol, TypedDict

from torch import Tensor

from context_nmt.transformer.attention import State


class PreviousSentences(TypedDict, total=False):
    """Source sentences, encoded without context; after a decoder also their translations, as the decoder read them."""

    source: Tensor  # […, S, D] states before the encoder's output slot
    source_words: Tensor  # bool […, S]
    inputs: Tensor  # […, T] target ids, BEGIN first
    target_words: Tensor  # bool […, T] of the inputs
    target: Tensor  # […, T, D] states before the decoder's output slot
    cross_output: Tensor  # […, T, D] output of the last layer's cross-attention


@dataclass(frozen=True, kw_only=True)
class SentenceContext:
    """The previous sentences of each of B sentences, and the states of the current one."""

    before: PreviousSentences
    current_cross_output: Tensor | None = None  # [B, T, D] after the decoder: of the last layer's cross-attention
    state: State | None = None  # in decoding, a dict that the mechanism owns, with a row per sentence


class OutputMechanism(Protocol):
    """A mechanism after a stack: the stack's output [B, T, D] -> [B, T, D].

    A position of the result depends only on the same position of `states` and `current_cross_output`, and on previous
    sentences: in decoding, the hypotheses of a sentence are positions of one row.
    """

    sentences: int  # number of previous sentences that it reads

    def __call__(self, states: Tensor, context: SentenceContext) -> Tensor: ...
