"""A continuous cache of translated words after the decoder (Tu et al., TACL 2018), the baseline of Miculicich et al.

The paper's letters, for a position t with decoder state s_t and cross-attention output c_t:

    (c_i, s_i)                                          a cell for each of the last translated words
    m_t   = sum_i softmax_i(c_t c_i) s_i                key matching, value reading
    lam   = sigmoid(U s_t + V c_t + W m_t + b)          a gate per element
    out   = (1 - lam) s_t + lam m_t

A sentence's words enter the cache when it is complete. The cell of a word that is already in the cache becomes the mean
of its content and the new c and s; a new word takes the cell of the least recently used word. There are two
simplifications: the cache is filled only from the last `sentences` sentences, so older content of a cell is forgotten;
and a word that re-enters the cache regains its earlier uses. Gradients stop at the cells. Without a
previous sentence, out = s_t.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from context_nmt.settings import Checked, PositiveInteger
from context_nmt.transformer.attention import Place, linear
from context_nmt.transformer.facts import Facts, set_gate
from context_nmt.transformer.sentence_context import SentenceContext

SLOTS = ("decoder_output",)


@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    """The size of the cache."""

    cells: PositiveInteger = 25  # words in the cache
    sentences: PositiveInteger = 7  # previous sentences that fill the cache; 7 usually suffice for 25 cells


def build(settings: Settings, place: Place) -> "CacheMemory":
    """Build the module after the decoder."""
    return CacheMemory(settings, place)


class CacheMemory(nn.Module):
    """[B, T, D] -> [B, T, D]; hook `weights` to read softmax_i(c_t c_i), [B, T, words]."""

    def __init__(self, settings: Settings, place: Place) -> None:
        super().__init__()
        self.cells, self.sentences = settings.cells, settings.sentences
        self.gate = nn.Sequential(linear(3 * place.width, place.width, bias=True), nn.Sigmoid())  # U, V, W
        self.weights = nn.Identity()

    def forward(self, states: Tensor, context: SentenceContext) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        keys, values, filled = self._cells(context)
        cross_output = context.current_cross_output
        assert cross_output is not None  # after a decoder
        any_filled = filled.any(-1)[:, None, None]
        with torch.autocast("cuda" if states.is_cuda else "cpu", enabled=False):  # sums over D are not scaled
            precise = torch.promote_types(cross_output.dtype, torch.float32)
            scores = cross_output.to(precise) @ keys.to(precise).transpose(1, 2)
            read = self.weights(
                scores.masked_fill(~(filled[:, None] | ~any_filled), -torch.inf).softmax(-1)
            ) @ values.to(precise)
        read = read.to(states.dtype)
        gate = self.gate(torch.cat([states, cross_output, read], -1))
        return torch.where(any_filled, (1 - gate) * states + gate * read, states)

    def _cells(self, context: SentenceContext) -> tuple[Tensor, Tensor, Tensor]:
        """Return keys and values [B, M, D] of the M previous positions, and a mask of the cells, bool [B, M]."""
        state = {} if context.state is None else context.state
        if "keys" not in state:
            before = context.before
            # the word that each position produced; the last position of a sentence produced no word
            words, real = (
                tensor.roll(-1, dims=-1)[:, -self.sentences :].flatten(1)
                for tensor in (before["inputs"], before["target_words"])
            )
            shares, state["filled"] = cells(words, real, self.cells)
            for name, states in {"keys": before["cross_output"], "values": before["target"]}.items():
                uses = states.detach()[:, -self.sentences :].flatten(1, 2)
                state[name] = shares.to(uses.dtype) @ uses
        return state["keys"], state["values"], state["filled"]


def cells(words: Tensor, real: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Ids [B, M] in the order of use, and a mask of real words -> shares [B, M, M], and a mask of cells [B, M].

    A cell is the last use of one of the `count` most recently used words. Row i of the shares mixes the uses of word i:
    1/2 for the last use, 1/4 for the use before, and so on, with equal shares for the first two uses.
    """
    same = (words[:, :, None] == words[:, None]) & real[:, :, None] & real[:, None]  # [B, M, M]
    later = same.triu(1).sum(-1)  # number of later uses of each position's word
    last = real & (later == 0)
    newer = last.flip(1).cumsum(1).flip(1) - last.int()  # number of words whose last use is later than this position
    first = same.tril(-1).sum(-1) == 0
    share = 0.5 ** (later + (~first).int())  # of each position in its word's cell
    return same * share[:, None], last & (newer < count)


class _Unchanged(nn.Module):
    def forward(self, states: Tensor, _: SentenceContext) -> Tensor:
        return states


FACTS = Facts(
    settings={"cells": 3, "sentences": 2},
    parameters=lambda place: 3 * place.width**2 + place.width,
    neutral=lambda module, _: set_gate(module.get_submodule("gate"), -1e4),
    equals=lambda _: _Unchanged(),
    refused=(({"cells": 0}, "cells: "),),
    dropping=frozenset(),
)
