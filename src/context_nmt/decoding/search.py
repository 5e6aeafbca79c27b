"""Beam search over a step function and an opaque state: it knows no model and no mechanism.

Letters: B sentences still searched, K beam, V vocabulary. Each step keeps the K best continuations; those that end in
END are finished, the others live on, and the next step fills all K slots again from them. K = 1 is greedy search.
|Y|, a hypothesis's length, counts its END. Maximum lengths do not: a hypothesis that has reached its maximum length can
only go on with END, and pays for it.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

from context_nmt.files import UserError

State = TypeVar("State")
Length = TypeVar("Length", float, Tensor)
Step = Callable[[Tensor, State], tuple[Tensor, State]]  # tokens [N], state -> logits [N, V], next state
LengthPenalty = Literal["gnmt", "fairseq", "none"]

IMPOSSIBLE = -torch.inf


@dataclass(frozen=True)
class Hypothesis:
    """One translation: `tokens` without BEGIN and END; the natural `log_probability` includes END's."""

    tokens: tuple[int, ...]
    log_probability: float
    score: float  # the log-probability divided by the length penalty


def reorder(tree: State, indices: Tensor) -> State:
    """Take rows `indices` of every tensor (batch first) in a tree of dicts, lists and tuples; ints and None pass."""
    return _reorder(tree, indices)


def _reorder(tree: Any, indices: Tensor) -> Any:
    if isinstance(tree, Tensor):
        return tree.index_select(0, indices)
    if isinstance(tree, dict):
        return {key: _reorder(value, indices) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(_reorder(value, indices) for value in tree)
    if tree is None or isinstance(tree, int):
        return tree
    raise TypeError(f"a decoding state holds tensors, ints and None in dicts, lists and tuples, not {type(tree)}")


def penalty(kind: LengthPenalty, weight: float, length: Length) -> Length:
    """Return what divides a log-probability: ((5 + |Y|) / 6) ** weight (Wu et al. 2016), |Y| ** weight (fairseq), 1."""
    divisor: Length = ((5 + length) / 6) ** weight if kind == "gnmt" else length ** (weight if kind == "fairseq" else 0)
    return divisor


def beam_search(
    step: Step[State],
    state: State,
    *,
    batch: int,
    beam: int,
    length_penalty: LengthPenalty,
    weight: float,
    maximum_lengths: Tensor,
    n_best: int,
    begin: int,
    end: int,
    forbidden: Collection[int],
) -> list[list[Hypothesis]]:
    """Return the `n_best` best hypotheses of each of `batch` sentences, best first.

    `state` has a row per sentence, and `maximum_lengths` [B] counts tokens before END. A sentence ends when no live
    hypothesis can still beat its n_best-th finished one, so its result does not depend on the rest of the batch.
    A sentence with fewer than `n_best` possible hypotheses gets fewer. Raises UserError for logits that are no numbers.
    """
    device = maximum_lengths.device
    found: list[list[Hypothesis]] = [[] for _ in range(batch)]
    sentences = torch.arange(batch, device=device)  # [B] which sentence a row of the batch is
    state = reorder(state, sentences.repeat_interleave(beam))  # B * K rows
    tokens = torch.full((batch, beam, 1), begin, device=device)  # [B, K, 1 + length]
    sums = torch.full((batch, beam), IMPOSSIBLE, device=device)  # [B, K] log-probabilities; impossible: not live
    sums[:, 0] = 0.0
    finished = torch.full((batch, n_best), IMPOSSIBLE, device=device)  # best scores, sorted
    longest = penalty(length_penalty, weight, maximum_lengths + 1.0)  # [B]

    while len(sentences) > 0:
        length = tokens.shape[2]  # |Y| of what ends in this step
        logits, state = step(tokens[:, :, -1].flatten(), state)
        vocabulary = logits.shape[-1]
        continued = _log_probabilities(logits, forbidden).view(-1, beam, vocabulary) + sums[:, :, None]
        _only_end(continued, end, at_maximum=maximum_lengths < length)
        sums, best = continued.flatten(1).topk(beam)  # [B, K], sorted
        if sums.isnan().any():
            raise UserError("the model's output is not a number; did its training diverge?")
        parents, words = best // vocabulary, best % vocabulary
        tokens = torch.cat([_take(tokens, parents), words[:, :, None]], dim=2)

        ended = (words == end) & (sums > IMPOSSIBLE)
        scores = torch.where(ended, sums / penalty(length_penalty, weight, float(length)), IMPOSSIBLE)
        _collect(found, sentences, ended, tokens, sums, scores)
        finished = torch.cat([finished, scores], dim=1).topk(n_best).values
        sums = sums.masked_fill(ended, IMPOSSIBLE)

        # Log-probabilities only fall, so none ends better than with its present one at the longest length.
        going = (sums.amax(dim=1) / longest > finished[:, -1]).nonzero().flatten()
        rows = (going[:, None] * beam + parents[going]).flatten()
        if not torch.equal(rows, torch.arange(logits.shape[0], device=device)):
            state = reorder(state, rows)
        sentences, tokens, sums, finished = sentences[going], tokens[going], sums[going], finished[going]
        longest, maximum_lengths = longest[going], maximum_lengths[going]

    return [sorted(hypotheses, key=lambda one: -one.score)[:n_best] for hypotheses in found]


def _log_probabilities(logits: Tensor, forbidden: Collection[int]) -> Tensor:
    """Normalise over the whole vocabulary [N, V], then rule out what may never be produced."""
    precision = torch.promote_types(logits.dtype, torch.float32)
    log_probabilities = logits.log_softmax(dim=-1, dtype=precision)
    log_probabilities[:, list(forbidden)] = IMPOSSIBLE
    return log_probabilities


def _only_end(continued: Tensor, end: int, *, at_maximum: Tensor) -> None:
    """Rule out all but END, in place [B, K, V], for the sentences that are at their maximum length [B]."""
    if at_maximum.any():
        continued[at_maximum, :, :end] = IMPOSSIBLE
        continued[at_maximum, :, end + 1 :] = IMPOSSIBLE


def _take(tokens: Tensor, parents: Tensor) -> Tensor:
    """Hypotheses [B, K, T] by their slots [B, K]."""
    return tokens.gather(1, parents[:, :, None].expand(-1, -1, tokens.shape[2]))


def _collect(
    found: list[list[Hypothesis]], sentences: Tensor, ended: Tensor, tokens: Tensor, sums: Tensor, scores: Tensor
) -> None:
    """Append the hypotheses that ended [B, K] to those found for their sentences."""
    row, _ = ended.nonzero(as_tuple=True)
    values = sentences[row].tolist(), tokens[ended].tolist(), sums[ended].tolist(), scores[ended].tolist()
    for sentence, units, log_probability, score in zip(*values, strict=True):
        found[sentence].append(Hypothesis(tuple(units[1:-1]), log_probability, score))
