"""Beam search over a step function and an opaque state, independent of models and mechanisms.

Letters: B sentences still searched, K beam, V vocabulary. Each step keeps the K best continuations; those that end in
END are finished, the others are live, and the next step fills all K slots again from them. K = 1 is greedy search.
|Y|, a hypothesis's length, counts its END. Maximum lengths do not: a hypothesis of maximum length can only be continued
with END, at the cost of its log-probability.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
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
    """Take rows `indices` of every tensor in a tree of dicts, lists, tuples and dataclasses; keep ints and None."""
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
    longest = penalty(length_penalty, weight, maximum_lengths + 1.0)  # [B]
    words = torch.full((batch, 1), begin, device=device)  # [B, K]; K is 1 before the first step
    sums = torch.zeros(batch, 1, device=device)  # [B, K] log-probabilities; impossible: not live
    finished = torch.full((batch, n_best), IMPOSSIBLE, device=device)  # best scores, sorted
    # What the program itself looks at is on the CPU; a step waits for a GPU once, to read `taken`.
    sentences = np.arange(batch)  # [B] number of the sentence in each row
    most = maximum_lengths.cpu().numpy()  # [B]
    tokens = np.full((batch, 1, 1), begin)  # [B, K, 1 + length]

    while len(sentences) > 0:
        length = tokens.shape[2]  # |Y| of a hypothesis that ends in this step
        logits, state = step(words.flatten(), state)
        at_maximum = maximum_lengths < length if (most < length).any() else None
        candidates, units = _best(_log_probabilities(logits, forbidden, end, at_maximum), beam)
        rows, width = candidates.shape
        continued = (candidates.view(*sums.shape, width) + sums[:, :, None]).flatten(1)
        sums, best = continued.topk(min(beam, continued.shape[1]))  # [B, K], sorted
        parents, words = best // width, units.view(continued.shape).gather(1, best)

        ended = (words == end) & (sums > IMPOSSIBLE)
        scores = torch.where(ended, sums / penalty(length_penalty, weight, float(length)), IMPOSSIBLE)
        finished = torch.cat([finished, scores], dim=1).topk(n_best).values
        live = sums.masked_fill(ended, IMPOSSIBLE)
        # Log-probabilities only fall: no hypothesis can beat its current sum divided by the penalty at maximum length.
        hopeful = live.amax(dim=1, keepdim=True) / longest[:, None] > finished[:, -1:]
        taken = torch.stack([parents, words, sums, scores, hopeful.expand_as(sums)]).to(torch.float64).cpu().numpy()
        if np.isnan(taken[2]).any():
            raise UserError("the model's output is not a number; did its training diverge?")
        origins = taken[0].astype(np.int64)
        prefixes = np.take_along_axis(tokens, origins[:, :, None], axis=1)
        tokens = np.concatenate([prefixes, taken[1].astype(np.int64)[:, :, None]], axis=2)
        for row, place in np.argwhere(taken[3] > IMPOSSIBLE).tolist():
            ids, (log_probability, score) = tokens[row, place].tolist(), taken[2:4, row, place].tolist()
            results[sentences[row]].append(Hypothesis(tuple(ids[1:-1]), log_probability, score))

        goes_on = taken[4, :, 0] > 0
        if stop == "beam":
            goes_on &= np.array([len(results[sentence]) < beam for sentence in sentences])
        active = np.flatnonzero(goes_on)
        kept = (active[:, None] * (rows // len(sentences)) + origins[active]).flatten()
        sums = live
        if not np.array_equal(kept, np.arange(rows)):
            state = {**state, "hypotheses": reorder(state["hypotheses"], _sent(kept, device))}
        if len(active) < len(sentences):
            index = _sent(active, device)
            state = {**state, "sentences": reorder(state["sentences"], index)}
            words, sums, finished, longest, maximum_lengths = (
                tensor.index_select(0, index) for tensor in (words, sums, finished, longest, maximum_lengths)
            )
            sentences, most, tokens = sentences[active], most[active], tokens[active]

    return [sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)[:n_best] for hypotheses in results]


def _sent(indices: NDArray[np.int64], device: torch.device) -> Tensor:
    """Return the indices on a device; the program goes on while a GPU copies."""
    tensor = torch.from_numpy(indices)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


def _log_probabilities(logits: Tensor, forbidden: Collection[int], end: int, at_maximum: Tensor | None) -> Tensor:
    """Normalise [B * K, V], then rule out forbidden units, and all but END in sentences at their maximum length [B]."""
    precision = torch.promote_types(logits.dtype, torch.float32)
    log_probabilities = logits.log_softmax(dim=-1, dtype=precision)
    for unit in forbidden:
        log_probabilities[:, unit] = IMPOSSIBLE
    if at_maximum is not None:
        rows = at_maximum.repeat_interleave(len(logits) // len(at_maximum))[:, None]
        log_probabilities[:, :end].masked_fill_(rows, IMPOSSIBLE)
        log_probabilities[:, end + 1 :].masked_fill_(rows, IMPOSSIBLE)
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
