"""The layers and stacks of the Transformer (Vaswani et al. 2017); each layer is given its attention."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from context_nmt.transformer.attention import Dropout, LayerContext, LayerMechanism, State, attend_to_memory


class Residual(nn.Module):
    """x + dropout(f(x)), with a norm before f (pre) or after the addition (post)."""

    def __init__(self, norm: nn.Module, *, pre: bool, dropout: float) -> None:
        super().__init__()
        self.pre = pre
        self.norm = norm
        self.dropout = Dropout(dropout)

    def enter(self, states: Tensor) -> Tensor:
        """X [B, T, D] -> the input of f, [B, T, D]."""
        return self.norm(states) if self.pre else states

    def leave(self, states: Tensor, output: Tensor) -> Tensor:
        """X and the output of f, [B, T, D] each -> the sublayer's result, [B, T, D]."""
        states = states + self.dropout(output)
        return states if self.pre else self.norm(states)


def _residual_input(attention: LayerMechanism, states: Tensor, queries: Tensor) -> Tensor:
    """Return the tensor that an attention's output is added to; see LayerMechanism."""
    return queries if getattr(attention, "residual_of_queries", False) else states


class FeedForward(nn.Module):
    """A layer's feed-forward network with the residual connection around it."""

    def __init__(self, *, network: LayerMechanism, residual: Residual) -> None:
        super().__init__()
        self.residual = residual
        self.network = network

    def forward(self, states: Tensor, context: LayerContext) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        return self.residual.leave(states, self.network(self.residual.enter(states), context))


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward."""

    def __init__(self, *, self_attention: LayerMechanism, residual: Residual, feed_forward: FeedForward) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.residual = residual
        self.feed_forward = feed_forward

    def forward(self, states: Tensor, context: LayerContext) -> tuple[Tensor, Tensor]:
        """States [B, S, D] -> next states and queries of the self-attention, [B, S, D] each."""
        queries = self.residual.enter(states)
        context = context.with_queries(queries)
        attended = self.self_attention(queries, context)
        states = self.residual.leave(_residual_input(self.self_attention, states, queries), attended)
        return self.feed_forward(states, context), queries


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention over the memory, and feed-forward."""

    def __init__(
        self,
        *,
        self_attention: LayerMechanism,
        residual: Residual,
        cross_attention: LayerMechanism,
        cross_residual: Residual,
        feed_forward: FeedForward,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.residual = residual
        self.cross_attention = cross_attention
        self.cross_residual = cross_residual
        self.feed_forward = feed_forward

    def forward(
        self, states: Tensor, context: LayerContext, cross_context: LayerContext, feed_forward_context: LayerContext
    ) -> tuple[Tensor, Tensor, Tensor]:
        """States [B, T, D] -> next states, queries of self-attention, output of cross-attention, [B, T, D] each.

        The contexts are for the self-attention, the cross-attention and the feed-forward network.
        """
        queries = self.residual.enter(states)
        attended = self.self_attention(queries, context.with_queries(queries))
        states = self.residual.leave(_residual_input(self.self_attention, states, queries), attended)
        cross_queries = self.cross_residual.enter(states)
        cross_output = attend_to_memory(self.cross_attention, cross_queries, cross_context.with_queries(queries))
        states = self.cross_residual.leave(_residual_input(self.cross_attention, states, cross_queries), cross_output)
        return self.feed_forward(states, feed_forward_context.with_queries(queries)), queries, cross_output


@dataclass(frozen=True)
class Memory:
    """The encoder's output, which the decoder attends to."""

    states: tuple[Tensor, ...]  # [B, S, D] each: [0] embeddings, [i] output of layer i, [-1] the encoder's output
    real_tokens: Tensor  # bool [B, S], True = real token
    ids: Tensor  # [B, S] units

    @property
    def mask(self) -> Tensor:
        """The real tokens, as an attention mask [B, 1, 1, S]."""
        return self.real_tokens[:, None, None, :]

    def repeated(self, times: int) -> "Memory":
        """Return a memory with each row repeated `times` times."""
        if times == 1:
            return self
        return Memory(
            tuple(states.repeat_interleave(times, dim=0) for states in self.states),
            self.real_tokens.repeat_interleave(times, dim=0),
            self.ids.repeat_interleave(times, dim=0),
        )


class Encoder(nn.Module):
    """A stack of layers, and a final norm if the layers are pre-norm."""

    def __init__(self, layers: Sequence[EncoderLayer], final_norm: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm

    def forward(self, embedded: Tensor, real_tokens: Tensor, ids: Tensor) -> Memory:
        """Embedded source [B, S, D], real tokens [B, S], ids [B, S] -> memory."""
        states: tuple[Tensor, ...] = (embedded,)
        inputs: tuple[Tensor, ...] = ()
        for layer in self.layers:
            mask = real_tokens[:, None, None, :]
            context = LayerContext(states, inputs, mask, causal=False, real_tokens=real_tokens, ids=ids)
            output, queries = layer(states[-1], context)
            states, inputs = (*states, output), (*inputs, queries)
        return Memory((*states[:-1], self.final_norm(states[-1])), real_tokens, ids)


class Decoded(NamedTuple):
    """The decoder's output."""

    states: Tensor  # [B, T, D]
    cross_output: Tensor  # [B, T, D] output of the last layer's cross-attention, before its residual


class Decoder(nn.Module):
    """A stack of layers over the encoder's memory, and a final norm if the layers are pre-norm."""

    def __init__(self, layers: Sequence[DecoderLayer], final_norm: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm

    def new_state(self) -> tuple[list[dict[str, State]], list[dict[str, State]]]:
        """Return empty decoding states of each layer's sublayers: those with a row per sentence, and per hypothesis."""
        sentences: list[dict[str, State]] = []
        hypotheses: list[dict[str, State]] = []
        for is_independent in self._have_independent_queries():
            sentences.append({"cross_attention": {}} if is_independent else {})
            hypotheses.append({"self_attention": {}, "feed_forward": {}})
            if not is_independent:
                hypotheses[-1]["cross_attention"] = {}
        return sentences, hypotheses

    def _have_independent_queries(self) -> list[bool]:
        """Return, for each layer, whether its cross-attention takes a sentence's hypotheses as positions of one row."""
        return [getattr(layer.cross_attention, "independent_queries", False) for layer in self.layers]

    def forward(
        self,
        embedded: Tensor,
        *,
        real_tokens: Tensor,
        ids: Tensor,
        mask: Tensor,
        causal: bool,
        memory: Memory,
        state: list[dict[str, State]] | None = None,
    ) -> Decoded:
        """Embedded target [B, T, D] -> states; with a decoding state, T is 1, and the state grows by one position.

        In decoding, B may be K times the number of rows of the memory: K hypotheses of each sentence in a row.
        """
        independent = self._have_independent_queries()
        repeated = memory if all(independent) else memory.repeated(len(embedded) // len(memory.real_tokens))
        states: tuple[Tensor, ...] = (embedded,)
        inputs: tuple[Tensor, ...] = ()
        cross_output = embedded
        for index, layer in enumerate(self.layers):
            layer_state: dict[str, State | None] = {} if state is None else {**state[index]}
            context = LayerContext(
                states,
                inputs,
                mask,
                causal=causal,
                real_tokens=real_tokens,
                ids=ids,
                state=layer_state.get("self_attention"),
            )
            layer_memory = memory if independent[index] else repeated
            cross_context = context.over_memory(
                layer_memory.states, layer_memory.ids, layer_memory.mask, layer_state.get("cross_attention")
            )
            feed_forward_context = replace(context, state=layer_state.get("feed_forward"))
            output, queries, cross_output = layer(states[-1], context, cross_context, feed_forward_context)
            states, inputs = (*states, output), (*inputs, queries)
        return Decoded(self.final_norm(states[-1]), cross_output)


def causal_mask(length: int, device: torch.device) -> Tensor:
    """Return the mask [1, 1, T, T] that lets each position attend to itself and earlier ones."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()[None, None]
