"""Hierarchical Attention Network over previous sentences (Miculicich et al., EMNLP 2018).

The paper's letters, for a position t with state h_t and previous sentences j = 1..k of states ctx_j:

    q_w = LN_w(h_t), q_s = LN_s(h_t)                      f_w and f_s; the linear maps are in MultiHead
    s_j = LN_1(MultiHead(q_w, ctx_j))                     word level, one sentence at a time         eq. 4
    d_t = MultiHead(q_s, [s_1 .. s_k])                    sentence level                             eq. 6
    d_t = d_t + FFN(LN(d_t))                                                                         eq. 6
    lam = sigmoid(W [h_t; d_t] + b)                       a gate per element                         eq. 7
    out = LN_out((1 - lam) h_t + lam d_t)                                                            eq. 8

The paper multiplies h_t by lam and has no b; these equations follow its code, where lam has the opposite meaning. Norms
divide by the sample standard deviation plus 1e-6, as in OpenNMT. A previous sentence without a known word counts as
missing. If all are missing, out = LN_out(h_t); the authors' code instead averages arbitrary words (`bypass: false`). By
default, gradients stop at the context and at both queries, as in the code.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from context_nmt.files import UserError
from context_nmt.settings import Checked, PositiveInteger
from context_nmt.transformer.attention import (
    Dropout,
    Place,
    ScaledDotProduct,
    Shows,
    State,
    linear,
    merge_heads,
    split_heads,
)
from context_nmt.transformer.facts import Facts, set_gate
from context_nmt.transformer.sentence_context import SentenceContext

SLOTS = ("encoder_output", "decoder_output")
EPSILON = 1e-6  # added to standard deviations


@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    """The previous sentences, and the states to read from them."""

    sentences: PositiveInteger = 3  # k, the number of previous sentences
    # states to read after the decoder: decoder states (target, the default), encoder states or the output of the last
    # cross-attention; must be left out after the encoder
    context: Literal["target", "source", "alignment"] | None = None
    detach_context: bool = True  # stop gradients at the previous sentences
    detach_query: bool = True  # stop gradients at both queries
    # without a previous sentence, keep the state; false: as in the code, results depend on the rest of the batch
    bypass: bool = True
    gate_bias: float = 0.0  # b at the start; with -2, the context starts with a share of 0.12, not 0.5


def build(settings: Settings, place: Place) -> "HierarchicalAttention":
    """Build the module after one stack; raise UserError for a `context` after the encoder."""
    if place.slot == "encoder_output" and settings.context is not None:
        raise UserError(
            f"context is {settings.context}; after the encoder only the source is known, so leave this key out"
        )
    return HierarchicalAttention(settings, place)


class HierarchicalAttention(nn.Module):
    """[B, T, D] -> [B, T, D]."""

    shows = Shows(earlier_words="word_attention.attend.weights", earlier_sentences="sentence_attention.attend.weights")

    def __init__(self, settings: Settings, place: Place) -> None:
        super().__init__()
        self.settings, self.sentences = settings, settings.sentences
        self.reads = "source" if place.slot == "encoder_output" else settings.context or "target"
        width = place.width
        self.context_norm = Norm(width) if self.reads == "alignment" else nn.Identity()
        self.word_norm = Norm(width)
        self.word_attention = ProjectedAttention(place)
        self.word_output_norm = Norm(width)
        self.sentence_norm = Norm(width)
        self.sentence_attention = ProjectedAttention(place)
        self.feed_forward = nn.Sequential(
            Norm(width),
            linear(width, place.feed_forward_width, bias=True),
            nn.ReLU(),
            Dropout(place.dropout),
            linear(place.feed_forward_width, width, bias=True),
            Dropout(place.dropout),
        )
        self.gate = nn.Sequential(linear(2 * width, width, bias=True), nn.Sigmoid())
        nn.init.constant_(self.gate.get_parameter("0.bias"), settings.gate_bias)
        self.output_norm = Norm(width)

    def forward(self, states: Tensor, context: SentenceContext) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        memory, words = self._context(context)
        present = words.any(-1)  # [B, k]
        any_present = present.any(-1)  # [B]
        queries = states.detach() if self.settings.detach_query else states
        has_context = (any_present | self.settings.bypass)[:, None, None]
        summaries = self._summarize_words(queries, memory, words | ~present[..., None], has_context, context.state)
        summary = self._summarize_sentences(queries, summaries, present | ~any_present[:, None], has_context)
        summary = summary + self.feed_forward(summary)
        gate = self.gate(torch.cat([states, summary], -1))
        mixed = (1 - gate) * states + gate * summary
        if self.settings.bypass:
            mixed = torch.where(any_present[:, None, None], mixed, states)
        return self.output_norm(mixed)

    def _context(self, context: SentenceContext) -> tuple[Tensor, Tensor]:
        """Return the states [B, k, S, D] that are read, and a mask of words [B, k, S]."""
        before = context.before
        if self.reads == "source":
            memory, words = before["source"], before["source_words"]
        else:
            memory, words = before["cross_output" if self.reads == "alignment" else "target"], before["target_words"]
        memory, words = memory[:, -self.sentences :], words[:, -self.sentences :]
        return self.context_norm(memory.detach() if self.settings.detach_context else memory), words

    def _summarize_words(
        self, queries: Tensor, memory: Tensor, mask: Tensor, has_context: Tensor, state: State | None
    ) -> Tensor:
        """Return a summary of each sentence for each position, [B, k, T, D]."""
        attention, count = self.word_attention, memory.size(1)
        state = {} if state is None else state
        if "keys" not in state:
            state["keys"], state["values"] = attention.key(memory), attention.value(memory)
        heads = (attention.query(self.word_norm(queries)) * has_context)[:, None].expand(-1, count, -1, -1)
        keys, values = state["keys"], state["values"]
        attended = attention(
            *(tensor.flatten(0, 1) for tensor in (heads, keys, values)), mask.flatten(0, 1)[:, None, None]
        )
        return self.word_output_norm(attended.unflatten(0, (-1, count)))

    def _summarize_sentences(self, queries: Tensor, summaries: Tensor, mask: Tensor, has_context: Tensor) -> Tensor:
        """Return a summary of all sentences for each position, [B, T, D]."""
        attention, length = self.sentence_attention, queries.size(1)
        heads = (attention.query(self.sentence_norm(queries)) * has_context).flatten(0, 1)[:, None]  # [B * T, 1, D]
        summaries = summaries.transpose(1, 2).flatten(0, 1)  # [B * T, k, D]
        mask = mask.repeat_interleave(length, dim=0)[:, None, None]
        attended = attention(heads, attention.key(summaries), attention.value(summaries), mask)
        return attended.view_as(queries)


class ProjectedAttention(nn.Module):
    """Multi-head attention; the caller applies `query`, `key` and `value`."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.heads = place.heads
        self.query, self.key, self.value, self.output = (linear(place.width, place.width, bias=True) for _ in range(4))
        self.attend = ScaledDotProduct(dropout=place.attention_dropout)

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """Projected queries [N, T, D], keys and values [N, S, D], mask bool [N, 1, 1, S] -> [N, T, D]."""
        heads = (split_heads(states, self.heads) for states in (queries, keys, values))
        return self.output(merge_heads(self.attend(*heads, mask)))


class Norm(nn.Module):
    """a (x - mean) / (std + 1e-6) + b over the last dimension, with the sample standard deviation."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, states: Tensor) -> Tensor:
        """[..., D] -> [..., D]."""
        standardized = _Standardized.apply(  # type: ignore[no-untyped-call]
            states.to(torch.promote_types(states.dtype, torch.float32))
        )
        return torch.addcmul(self.bias, standardized, self.weight).to(self.weight.dtype)


class _Standardized(torch.autograd.Function):
    """(x - mean) / (std + 1e-6), as PyTorch's layer norm times the ratio of the two deviations.

    The formula's own operations take more than twice the time.
    """

    @staticmethod
    def forward(ctx: Any, states: Tensor) -> Tensor:
        size = states.size(-1)
        normalized, mean, rate = torch.native_layer_norm(states, [size], None, None, 1e-30)  # rate: 1 / deviation
        ctx.save_for_backward(states, normalized, mean, rate)
        return normalized * _ratio(size, rate)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        states, normalized, mean, rate = ctx.saved_tensors
        size, ratio = states.size(-1), _ratio(states.size(-1), rate)
        of_states, _, _ = torch.ops.aten.native_layer_norm_backward(
            gradient * ratio, states, [size], mean, rate, None, None, [True, False, False]
        )
        # The ratio depends on the deviation: with c^2 = (D - 1) / D, its derivative is EPSILON c (ratio rate)^2.
        # The derivative of the deviation is c normalized / (D - 1).
        slope = EPSILON * (ratio * rate).square() / size
        return of_states + normalized * (slope * (gradient * normalized).sum(-1, keepdim=True))


def _ratio(size: int, rate: Tensor) -> Tensor:
    """Return deviation / (sample standard deviation + 1e-6) of D = `size` values, given rate = 1 / deviation."""
    share = math.sqrt((size - 1) / size)
    return share / (1 + EPSILON * share * rate)


class _OutputNorm(Norm):
    """Only LN_out."""

    def forward(self, states: Tensor, context: SentenceContext | None = None) -> Tensor:
        return super().forward(states)


def _parameters(place: Place) -> int:
    """Two attentions with biases, the gate, the feed-forward network and five norms; 4,730,880 for 512 and 2,048."""
    width, hidden = place.width, place.feed_forward_width
    return 2 * 4 * (width**2 + width) + 2 * width**2 + width + 2 * width * hidden + hidden + width + 5 * 2 * width


def _with_a_closed_gate(module: nn.Module, norm: nn.Module) -> None:
    """Close the gate: no context."""
    module.get_submodule("output_norm").load_state_dict(norm.state_dict())
    set_gate(module.get_submodule("gate"), -1e4)


FACTS = Facts(
    settings={"sentences": 2},
    other_settings=({"gate_bias": -2.0},),
    parameters=_parameters,
    neutral=_with_a_closed_gate,
    equals=lambda place: _OutputNorm(place.width),
    refused=(({"sentences": 0}, "sentences: "),),
    dropping=frozenset({"dropout", "attention_dropout"}),
)
