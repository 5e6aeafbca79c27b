"""Plain attention, the interface of mechanisms, and the parts that they share.

Letters for shapes, in all files: B sentences, S source length, T target length, D width, H heads, V vocabulary size.
Tensors are batch first. Masks are boolean, True = may attend.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

State = dict[str, Any]
DROPOUT_LEVELS = 2**16  # dropout probabilities are multiples of 1 / DROPOUT_LEVELS


@dataclass(frozen=True)
class LayerContext:
    """The inputs of a sublayer besides its queries.

    In a decoder layer, the cross-attention gets the same stack as the self-attention before it.
    """

    stack_states: tuple[Tensor, ...]  # [B, T, D] each: [0] embeddings, [i] output of layer i, [-1] this layer's input
    stack_inputs: tuple[Tensor, ...]  # [i] queries of the self-attention in layer i + 1, [-1] this layer's queries
    mask: Tensor  # bool [B or 1, 1, T_query or 1, T_key]
    causal: bool  # whether position t must not depend on later ones; the mask then hides only those
    real_tokens: Tensor  # bool [B, T] of the queries, True = real token
    ids: Tensor  # [B, T] units of the queries
    memory_states: tuple[Tensor, ...] = ()  # for cross-attention: encoder states, [0] embeddings, [-1] output
    memory_ids: Tensor | None = None  # for cross-attention: units of the source, [B, S]
    state: State | None = None  # None = the whole sequence; a dict = one decoding step, owned by this sublayer

    def with_queries(self, queries: Tensor) -> "LayerContext":
        """Add this layer's queries [B, T, D] to the inputs of the stack."""
        return replace(self, stack_inputs=(*self.stack_inputs, queries))

    def over_memory(
        self, memory_states: tuple[Tensor, ...], ids: Tensor, mask: Tensor, state: State | None
    ) -> "LayerContext":
        """Return the context of the cross-attention in the same layer."""
        return replace(self, memory_states=memory_states, memory_ids=ids, mask=mask, state=state, causal=False)


class LayerMechanism(Protocol):
    """The attention or the feed-forward network of a layer: queries [B, T, D] -> [B, T, D].

    Optional attributes:

    - `independent_queries = True`, for a cross-attention whose output at a query depends only on that query and the
      memory, and whose state depends only on the memory: decoding then copies no memory.
    - `residual_of_queries = True`, for an attention: the output is added to the queries, not to the states that they
      come from. Under pre-norm the residual then adds normalized states.
    - `shows`: the values that analyses can read.
    - `auxiliary_loss`, set in each forward pass: a sum over the real tokens in nats, which training adds to the loss.
    - a non-persistent buffer `update`: in training, the number of the update; otherwise infinity.
    """

    def __call__(self, queries: Tensor, context: LayerContext) -> Tensor: ...


@dataclass(frozen=True, kw_only=True)
class Shows:
    """A mechanism's attribute `shows`: the names of the submodules whose outputs analyses read with hooks."""

    weights: tuple[str, ...] = ()  # attention weights, [B, H, T, S]
    gates: Mapping[str, str] = field(default_factory=dict)  # for query, key or value: share of a context, [B, T, ...]
    global_share: str | None = None  # share of attention to all positions, not only to near ones, [B, H, T, 1]
    earlier_words: str | None = None  # weights of the words in K previous sentences, [B * K, H, T, S]
    earlier_sentences: str | None = None  # weights of these sentences, [B * T, H, 1, K]


@dataclass(frozen=True, kw_only=True)
class Place:
    """The position of a mechanism in the model, and the model's sizes and probabilities."""

    slot: str
    layer: int  # from 1; 1 after a stack
    causal: bool  # in the decoder, where no position may depend on later ones; False in masked models, and for `norm`
    width: int
    feed_forward_width: int
    heads: int
    bias: bool
    dropout: float  # of a sublayer's output
    attention_dropout: float
    feed_forward_dropout: float = 0.0
    activation: str = "relu"
    layer_norm_epsilon: float = 1e-5


def linear(inputs: int, outputs: int, *, bias: bool) -> nn.Linear:
    """Return a linear map with Glorot-uniform weights and a bias of 0."""
    layer = nn.Linear(inputs, outputs, bias=bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


class Dropout(nn.Module):
    """In training, set elements to 0 with a probability, rounded to 1/65536, and scale up the others.

    On a CPU it draws 16 random bits per element, and is six times as fast as PyTorch's dropout, which draws 64.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, states: Tensor) -> Tensor:
        """States of any shape -> states of the same shape."""
        if not self.training or self.probability == 0:
            return states
        if states.device.type != "cpu":
            return functional.dropout(states, self.probability)
        dropped_levels = round(self.probability * DROPOUT_LEVELS)
        draws = torch.empty((states.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
        bits = draws.view(torch.int16)[: states.numel()].view(states.shape)
        is_kept = (bits >= dropped_levels - DROPOUT_LEVELS // 2).to(states.dtype)
        return states * is_kept.mul_(DROPOUT_LEVELS / (DROPOUT_LEVELS - dropped_levels))


def split_heads(states: Tensor, heads: int) -> Tensor:
    """[B, T, D] -> [B, H, T, D/H]."""
    return states.reshape(*states.shape[:2], heads, -1).transpose(1, 2)


def merge_heads(states: Tensor) -> Tensor:
    """[B, H, T, D/H] -> [B, T, D]."""
    return states.transpose(1, 2).flatten(2)


def attend_to_memory(attention: LayerMechanism, queries: Tensor, context: LayerContext) -> Tensor:
    """Queries [B * K, T, D] over a memory of B rows -> [B * K, T, D]; K hypotheses become K * T positions of one row.

    If K > 1, the attention must have `independent_queries`. With K = 6 this halves the time of cross-attention, because
    the memory's keys and values are read once per sentence and never copied.
    """
    rows = len(context.memory_states[-1])
    if rows == len(queries):
        return attention(queries, context)

    def fold(states: Tensor) -> Tensor:
        return states.reshape(rows, -1, states.size(-1))

    folded = replace(
        context,
        stack_states=tuple(map(fold, context.stack_states)),
        stack_inputs=tuple(map(fold, context.stack_inputs)),
        real_tokens=context.real_tokens.reshape(rows, -1),
        ids=context.ids.reshape(rows, -1),
    )
    return attention(fold(queries), folded).reshape(queries.shape)


def with_earlier_steps(state: State | None, name: str, new: Tensor) -> Tensor:
    """Append `new` [B, H, 1, D/H] to `state[name]`, the tensor of earlier decoding steps, and return the result."""
    if state is None:
        return new
    state[name] = torch.cat([state[name], new], dim=2) if name in state else new
    return state[name]


class ScaledDotProduct(nn.Module):
    """softmax(Q K^T / sqrt(D/H)) V, Vaswani et al. (2017) eq. 1; hook `weights` to read the softmax [B, H, T, S]."""

    def __init__(self, *, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.weights = nn.Identity()

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor,
        *,
        causal: bool = False,
        bias: Tensor | None = None,
    ) -> Tensor:
        """Queries [B, H, T, D/H], keys and values [B, H, S, D/H], mask [B or 1, 1, T or 1, S] -> [B, H, T, D/H].

        With `causal`, the mask must hide only later positions, so that a GPU can do without it. A bias
        [B or 1, H or 1, T, S] is added to the scores.
        """
        if torch.is_autocast_enabled("cpu") and torch.is_grad_enabled():
            # On a CPU, the backward pass of PyTorch's kernel takes 27 ms in bf16 and 2 ms in fp32.
            with torch.autocast("cpu", enabled=False):
                return self(queries.float(), keys.float(), values.float(), mask, causal=causal, bias=bias)
        dropout = self.dropout if self.training else 0.0
        on_gpu = queries.device.type != "cpu"
        drops_mask = causal and on_gpu and bias is None
        # In a decoding step, a single query sees all positions; on a GPU, plain products beat the attention kernels.
        step = causal and on_gpu and queries.size(2) == 1
        if not self.weights._forward_hooks and not step:
            visible = mask if bias is None else bias.to(queries.dtype).masked_fill(~mask, -math.inf)
            return functional.scaled_dot_product_attention(
                queries,
                keys,
                values,
                attn_mask=None if drops_mask else visible,
                dropout_p=dropout,
                is_causal=drops_mask,
            )
        scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.size(-1))  # [B, H, T, S]
        if bias is not None:
            scores = scores + bias
        weights = self.weights((scores if step else scores.masked_fill(~mask, -math.inf)).softmax(-1))
        return functional.dropout(weights, dropout) @ values


class MultiHeadAttention(nn.Module):
    """Multi-head self-attention, or cross-attention if the context has a memory."""

    shows = Shows(weights=("attend.weights",))

    def __init__(
        self, *, width: int, heads: int, bias: bool, dropout: float, independent_queries: bool = False
    ) -> None:
        super().__init__()
        self.independent_queries = independent_queries  # not inherited: each subclass sets it, see LayerMechanism
        self.heads = heads
        self.query = linear(width, width, bias=bias)
        self.key = linear(width, width, bias=bias)
        self.value = linear(width, width, bias=bias)
        self.output = linear(width, width, bias=bias)
        self.attend = ScaledDotProduct(dropout=dropout)

    def forward(self, queries: Tensor, context: LayerContext) -> Tensor:
        """Queries [B, T, D] -> [B, T, D]."""
        return self.output(merge_heads(self.attended(queries, context)))

    def attended(self, queries: Tensor, context: LayerContext) -> Tensor:
        """Queries [B, T, D] -> the output of each head before the output map, [B, H, T, D/H]."""
        keys, values = self.keys_and_values(queries, context)
        heads = split_heads(self.query(queries), self.heads)
        return self.attend(heads, keys, values, context.mask, causal=context.causal)

    def keys_and_values(self, queries: Tensor, context: LayerContext) -> tuple[Tensor, Tensor]:
        """Return keys and values of the memory, or of the queries and all earlier steps, [B, H, S, D/H] each."""
        return self._over_memory(context) if context.memory_states else self._over_self(queries, context)

    def _over_self(self, inputs: Tensor, context: LayerContext) -> tuple[Tensor, Tensor]:
        keys = with_earlier_steps(context.state, "keys", split_heads(self.key(inputs), self.heads))
        values = with_earlier_steps(context.state, "values", split_heads(self.value(inputs), self.heads))
        return keys, values

    def _over_memory(self, context: LayerContext) -> tuple[Tensor, Tensor]:
        state = {} if context.state is None else context.state
        if "keys" not in state:
            state["keys"] = split_heads(self.key(context.memory_states[-1]), self.heads)
            state["values"] = split_heads(self.value(context.memory_states[-1]), self.heads)
        return state["keys"], state["values"]
