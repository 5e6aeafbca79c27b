"""Attentions that each break one clause of the contract, and keep all others."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import torch
from small_models import LAYERS, OUTPUT_SLOTS, SLOTS
from torch import nn

from context_nmt.mechanisms import multi_head_attention
from context_nmt.settings import Checked
from context_nmt.transformer.attention import MultiHeadAttention, merge_heads, split_heads


class TwoPositionsInAStep(MultiHeadAttention):
    """It returns two positions in a step; after the last layer, nothing reads the second."""

    def forward(self, queries, context):
        output = super().forward(queries, context)
        last = context.state is not None and len(context.stack_states) == LAYERS
        return output.repeat(1, 2, 1) if last else output


class PaddingAsText(MultiHeadAttention):
    """The softmax also runs over the padding."""

    def forward(self, queries, context):
        return super().forward(queries, replace(context, mask=torch.ones_like(context.mask)))


class LargeNumberForMinusInfinity(MultiHeadAttention):
    """exp(-30) is 1e-13: below any tolerance, but not 0."""

    def forward(self, queries, context):
        keys, values = self._over_self(queries, context)
        bias = torch.zeros(context.mask.shape, dtype=queries.dtype).masked_fill(~context.mask, -30.0)
        heads = split_heads(self.query(queries), self.heads)
        return self.output(merge_heads(self.attend(heads, keys, values, torch.ones_like(context.mask), bias=bias)))


class NoMemoryOfEarlierSteps(MultiHeadAttention):
    def forward(self, queries, context):
        if context.state is None:
            return super().forward(queries, context)
        return super().forward(queries, replace(context, state=None, mask=torch.ones(1, 1, 1, 1, dtype=torch.bool)))


class StateInTheModule(MultiHeadAttention):
    """Reordering the state does not reorder tensors that are kept elsewhere."""

    def forward(self, queries, context):
        if context.state is None:
            return super().forward(queries, context)
        if not context.state:
            self.kept = {}
            context.state["begun"] = 1
        return super().forward(queries, replace(context, state=self.kept))


class MixedHypotheses(MultiHeadAttention):
    """It claims to have independent queries, but in a step it mixes them."""

    def __init__(self, **sizes):
        super().__init__(**sizes, independent_queries=True)

    def forward(self, queries, context):
        if context.state is not None:
            queries = queries.mean(1, keepdim=True).expand_as(queries)
        return super().forward(queries, context)


class BatchMean(MultiHeadAttention):
    def forward(self, queries, context):
        return super().forward(queries + queries.mean(0), context)


class DetachedValues(MultiHeadAttention):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.value.register_forward_hook(lambda _, __, output: output.detach())


class MeanOfEarlierUpdates(MultiHeadAttention):
    """It adds the mean query of earlier training batches."""

    earlier = 0.0

    def forward(self, queries, context):
        output = super().forward(queries + self.earlier, context)
        if self.training:
            self.earlier = self.earlier + queries.detach().mean()
        return output


class CancellationInTheValues(MultiHeadAttention):
    """With the 53 bits of float64 little is lost; with the 8 bits of bf16 everything is."""

    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.value.register_forward_hook(lambda _, __, output: (output + 1000) - 1000)


class ExtraBias(MultiHeadAttention):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.bias = nn.Parameter(torch.zeros(sizes["width"]))

    def forward(self, queries, context):
        return super().forward(queries, context) + self.bias


class ScaledByTheWholeWidth(MultiHeadAttention):
    """It scales by 1 / sqrt(D), where the paper has 1 / sqrt(D / H)."""

    def forward(self, queries, context):
        return super().forward(queries / self.heads**0.5, context)


class AnotherWhenRecorded(MultiHeadAttention):
    """Analyses would show weights that translation does not use."""

    def forward(self, queries, context):
        output = super().forward(queries, context)
        return 2 * output if self.attend.weights._forward_hooks else output


@dataclass(frozen=True, kw_only=True)
class AnyValue(Checked):
    """A setting without a type accepts every value."""

    kernel: Any = 1


def mechanism(attention, settings=multi_head_attention.Settings):
    def build(_, place):
        return attention(width=place.width, heads=place.heads, bias=place.bias, dropout=place.attention_dropout)

    return SimpleNamespace(SLOTS=SLOTS, Settings=settings, build=build)


def output_mechanism(build):
    """A mechanism for the slots after a stack; `build` gets only the Place."""
    return SimpleNamespace(
        SLOTS=OUTPUT_SLOTS,
        Settings=multi_head_attention.Settings,
        build=lambda _, place: build(place),
    )


# By the clause that finds it, each broken mechanism and the slots in which it is found.
BROKEN = {
    "shape": (mechanism(TwoPositionsInAStep), ["decoder_self_attention", "cross_attention"]),
    "padding": (mechanism(PaddingAsText), ["encoder_self_attention", "cross_attention"]),
    "future": (mechanism(LargeNumberForMinusInfinity), ["decoder_self_attention"]),
    "steps": (mechanism(NoMemoryOfEarlierSteps), ["decoder_self_attention"]),
    "reorder": (mechanism(StateInTheModule), ["decoder_self_attention", "cross_attention"]),
    "hypotheses": (mechanism(MixedHypotheses), ["cross_attention"]),
    "alone": (mechanism(BatchMean), SLOTS),
    "gradient": (mechanism(DetachedValues), SLOTS),
    "updates": (mechanism(MeanOfEarlierUpdates), SLOTS),
    "precision": (mechanism(CancellationInTheValues), SLOTS),
    "recorded": (mechanism(AnotherWhenRecorded), SLOTS),
    "settings": (mechanism(MultiHeadAttention, AnyValue), SLOTS),
    "parameters": (mechanism(ExtraBias), SLOTS),
    "neutral": (mechanism(ScaledByTheWholeWidth), SLOTS),
}
