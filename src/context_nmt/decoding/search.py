"""Beam search over a step function and an opaque state, independent of models and mechanisms.

Letters: B sentences still searched, K beam, V vocabulary. Each step keeps the K best continuations; those that end in
END are finished, the others are live, and the next step fills all K slots again from them. K = 1 is greedy search.
|Y|, a hypothesis's length, counts its END. Maximum lengths do not: a hypothesis of maximum length can only be continued
with END, at the cost of its log-probability.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

from context_nmt.files import UserError

Length = TypeVar("Length", float, Tensor)
State = dict[str, Any]  # "sentences": a tree with B rows, "hypotheses": a tree with B * K rows, K in a row per sentence
Step = Callable[[Tensor, State], tuple[Tensor, State]]  # tokens [B * K], state -> logits [B * K, V], next state
LengthPenalty = Literal["gnmt", "fairseq", "none"]

IMPOSSIBLE = -torch.inf
CHUNK = 64  # units of the vocabulary


@dataclass(frozen=True)
class Hypothesis:
    """One translation: `tokens` without BEGIN and END; `log_probability` is natural and includes END's."""

    tokens: tuple[int, ...]
    log_probability: float
    score: float  # the log-probability divided by the length penalty


def reorder(tree: Any, indices: Tensor) -> Any:
    """Take rows `indices` of every tensor (batch first) in a tree of dicts, lists, tuples and dataclasses.

    Ints and None stay as they are; other values raise a TypeError.
    """
    if isinstance(tree, Tensor):
        return tree.index_select(0, indices)
    if isinstance(tree, dict):
        return {key: reorder(value, indices) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(reorder(value, indices) for value in tree)
    if is_dataclass(tree) and not isinstance(tree, type):
        return replace(tree, **{field.name: reorder(getattr(tree, field.name), indices) for field in fields(tree)})
    if tree is None or isinstance(tree, int):
        return tree
    raise TypeError(
        f"a decoding state holds tensors, ints and None in dicts, lists, tuples and dataclasses, not {type(tree)}"
    )


def penalty(kind: LengthPenalty, weight: float, length: Length) -> Length:
    """Return the log-probability's divisor: ((5 + |Y|) / 6) ** weight (Wu et al. 2016), |Y| ** weight (fairseq), 1."""
    divisor: Length = ((5 + length) / 6) ** weight if kind == "gnmt" else length ** (weight if kind == "fairseq" else 0)
    return divisor


def beam_search(
    step: Step,
    state: State,
    *,
    batch: int,
    beam: int,
    length_penalty: LengthPenalty,
    weight: float,
    maximum_lengths: Tensor,
    n_best: int,
    stop: Literal["exact", "beam"] = "exact",
    begin: int,
    end: int,
    forbidden: Collection[int],
) -> list[list[Hypothesis]]:
    """Return the `n_best` best hypotheses of each of `batch` sentences, best first.

    `state` has one hypothesis per sentence, and `maximum_lengths` [B] counts tokens before END. A sentence ends when no
    live hypothesis can still beat its n_best-th finished one, or with `stop` beam already when `beam` have ended; its
    result does not depend on the rest of the batch.
    A sentence with fewer than `n_best` possible hypotheses gets fewer. Raise UserError for logits that are not numbers.
    """
    device = maximum_lengths.device
    results: list[list[Hypothesis]] = [[] for _ in range(batch)]
    sentences = torch.arange(batch, device=device)  # [B] number of the sentence in each row
    tokens = torch.full((batch, 1, 1), begin, device=device)  # [B, K, 1 + length]; K is 1 before the first step
    sums = torch.zeros(batch, 1, device=device)  # [B, K] log-probabilities; impossible: not live
    finished = torch.full((batch, n_best), IMPOSSIBLE, device=device)  # best scores, sorted
    longest = penalty(length_penalty, weight, maximum_lengths + 1.0)  # [B]

    while len(sentences) > 0:
        length = tokens.shape[2]  # |Y| of a hypothesis that ends in this step
        logits, state = step(tokens[:, :, -1].flatten(), state)
        candidates, units = _best(_log_probabilities(logits, forbidden, end, maximum_lengths < length), beam)
        rows, width = candidates.shape
        continued = (candidates.view(*sums.shape, width) + sums[:, :, None]).flatten(1)
        sums, best = continued.topk(min(beam, continued.shape[1]))  # [B, K], sorted
        if sums.isnan().any():
            raise UserError("the model's output is not a number; did its training diverge?")
        parents, words = best // width, units.view(continued.shape).gather(1, best)
        prefixes = tokens.gather(1, parents[:, :, None].expand(-1, -1, length))
        tokens = torch.cat([prefixes, words[:, :, None]], dim=2)

        ended = (words == end) & (sums > IMPOSSIBLE)
        scores = torch.where(ended, sums / penalty(length_penalty, weight, float(length)), IMPOSSIBLE)
        owners = sentences[:, None].expand_as(ended)
        values = (tensor[ended].tolist() for tensor in (owners, tokens, sums, scores))
        for sentence, ids, log_probability, score in zip(*values, strict=True):
            results[sentence].append(Hypothesis(tuple(ids[1:-1]), log_probability, score))
        finished = torch.cat([finished, scores], dim=1).topk(n_best).values
        sums = sums.masked_fill(ended, IMPOSSIBLE)

        # Log-probabilities only fall: no hypothesis can beat its current sum divided by the penalty at maximum length.
        hopeful = sums.amax(dim=1) / longest > finished[:, -1]
        if stop == "beam":
            hopeful &= torch.tensor([len(results[sentence]) < beam for sentence in sentences.tolist()], device=device)
        active = hopeful.nonzero().flatten()
        kept = (active[:, None] * (rows // len(sentences)) + parents[active]).flatten()
        if not torch.equal(kept, torch.arange(rows, device=device)):
            state = {**state, "hypotheses": reorder(state["hypotheses"], kept)}
        if len(active) < len(sentences):
            state = {**state, "sentences": reorder(state["sentences"], active)}
        sentences, tokens, sums, finished = sentences[active], tokens[active], sums[active], finished[active]
        longest, maximum_lengths = longest[active], maximum_lengths[active]

    return [sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)[:n_best] for hypotheses in results]


def _log_probabilities(logits: Tensor, forbidden: Collection[int], end: int, at_maximum: Tensor) -> Tensor:
    """Normalise [B * K, V] over the whole vocabulary, then rule out forbidden units.

    Only END can follow in sentences at their maximum length [B].
    """
    precision = torch.promote_types(logits.dtype, torch.float32)
    log_probabilities = logits.log_softmax(dim=-1, dtype=precision)
    log_probabilities[:, list(forbidden)] = IMPOSSIBLE
    if at_maximum.any():
        rows = at_maximum.repeat_interleave(len(logits) // len(at_maximum))
        log_probabilities[rows, :end] = IMPOSSIBLE
        log_probabilities[rows, end + 1 :] = IMPOSSIBLE
    return log_probabilities


def _best(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` best [N, count] of each row of scores [N, V] and their indices; all if V is smaller.

    The best are in the `count` chunks with the highest maxima. Searching only these takes a quarter of the time of
    `topk` for 8000 units on a CPU.
    """
    rows, size = scores.shape
    chunks = size // CHUNK
    if chunks <= 2 * count:
        values, indices = scores.topk(min(count, size))
        return values, indices
    maxima = scores[:, : chunks * CHUNK].reshape(rows, chunks, CHUNK).amax(2)
    offsets = torch.arange(CHUNK, device=scores.device)
    rest = torch.arange(chunks * CHUNK, size, device=scores.device)
    positions = (maxima.topk(count).indices[:, :, None] * CHUNK + offsets).flatten(1)
    positions = torch.cat([positions, rest.expand(rows, -1)], dim=1)
    values, indices = scores.gather(1, positions).topk(count)
    return values, positions.gather(1, indices)
