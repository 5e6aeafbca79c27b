"""Beam search over a step function and an opaque state, independent of models and mechanisms.

Letters: B sentences still searched, K beam, V vocabulary. Each step keeps the K best continuations. Continuations with
END are finished; the others are live, and the next step fills all K slots from them. K = 1 is greedy search. |Y|, the
length of a hypothesis, includes END. Maximum lengths do not: a hypothesis of maximum length can only be continued with
END, whose log-probability counts.
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
State = dict[str, Any]  # "sentences": a tree with B rows; "hypotheses": a tree with B * K rows, K per sentence
Step = Callable[[Tensor, State], tuple[Tensor, State]]  # tokens [B * K], state -> logits [B * K, V], next state
LengthPenalty = Literal["gnmt", "fairseq", "none"]

IMPOSSIBLE = -torch.inf
VOCABULARY_CHUNK = 64  # units per chunk, see `_top_units`


@dataclass(frozen=True)
class Hypothesis:
    """A translation: `tokens` without BEGIN and END; `log_probability` in nats, including END."""

    tokens: tuple[int, ...]
    log_probability: float
    score: float  # the log-probability divided by the length penalty


def reorder(tree: Any, indices: Tensor) -> Any:
    """Select rows `indices` of every tensor in a tree of dicts, lists, tuples and dataclasses; keep ints and None."""
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
        f"a decoding state has tensors, ints and None in dicts, lists, tuples and dataclasses, not {type(tree)}"
    )


def penalty(kind: LengthPenalty, weight: float, length: Length) -> Length:
    """Return the divisor of sums: ((5 + |Y|) / 6) ** weight (Wu et al. 2016), |Y| ** weight (fairseq) or 1."""
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
    """Return the `n_best` best hypotheses of each of `batch` sentences, or all if there are fewer, best first.

    `state` has one hypothesis per sentence; `maximum_lengths` [B] count tokens before END. The search of a sentence
    ends when no live hypothesis can still beat its n_best-th finished one, or, if `stop` is beam, also when `beam`
    hypotheses have finished. A result does not depend on the rest of the batch. Raise UserError for logits that are not
    numbers.
    """
    device = maximum_lengths.device
    results: list[list[Hypothesis]] = [[] for _ in range(batch)]
    last_penalty = penalty(length_penalty, weight, maximum_lengths + 1.0)  # [B]
    words = torch.full((batch, 1), begin, device=device)  # [B, K]; K is 1 before the first step
    sums = torch.zeros(batch, 1, device=device)  # [B, K] log-probabilities; IMPOSSIBLE = not live
    finished = torch.full((batch, n_best), IMPOSSIBLE, device=device)  # best scores, sorted
    # The following arrays are on the CPU. Each step waits for a GPU once, to copy its results.
    sentences = np.arange(batch)  # [B] sentence number of each row
    limits = maximum_lengths.cpu().numpy()  # [B]
    tokens = np.full((batch, 1, 1), begin)  # [B, K, 1 + length]

    while len(sentences) > 0:
        length = tokens.shape[2]  # |Y| of a hypothesis that ends in this step
        logits, state = step(words.flatten(), state)
        at_maximum = maximum_lengths < length if (limits < length).any() else None
        candidates, units = _top_units(_log_probabilities(logits, forbidden, end, at_maximum), beam)
        rows, width = candidates.shape
        continued = (candidates.view(*sums.shape, width) + sums[:, :, None]).flatten(1)
        sums, best = continued.topk(min(beam, continued.shape[1]))  # [B, K], sorted
        parents, words = best // width, units.view(continued.shape).gather(1, best)

        ended = (words == end) & (sums > IMPOSSIBLE)
        scores = torch.where(ended, sums / penalty(length_penalty, weight, float(length)), IMPOSSIBLE)
        finished = torch.cat([finished, scores], dim=1).topk(n_best).values
        live = sums.masked_fill(ended, IMPOSSIBLE)
        # Sums only fall, so no hypothesis can beat its current sum divided by the penalty at maximum length.
        hopeful = live.amax(dim=1, keepdim=True) / last_penalty[:, None] > finished[:, -1:]
        on_device = torch.stack([parents, words, sums, scores, hopeful.expand_as(sums)])
        origins, new_tokens, new_sums, new_scores, is_hopeful = on_device.to(torch.float64).cpu().numpy()
        if np.isnan(new_sums).any():
            raise UserError("the model's output is not a number; did its training diverge?")
        origins = origins.astype(np.int64)
        prefixes = np.take_along_axis(tokens, origins[:, :, None], axis=1)
        tokens = np.concatenate([prefixes, new_tokens.astype(np.int64)[:, :, None]], axis=2)
        for row, slot in np.argwhere(new_scores > IMPOSSIBLE).tolist():
            ids = tokens[row, slot, 1:-1].tolist()
            hypothesis = Hypothesis(tuple(ids), float(new_sums[row, slot]), float(new_scores[row, slot]))
            results[sentences[row]].append(hypothesis)

        is_active = is_hopeful[:, 0] > 0
        if stop == "beam":
            is_active &= np.array([len(results[sentence]) < beam for sentence in sentences])
        active = np.flatnonzero(is_active)
        kept = (active[:, None] * (rows // len(sentences)) + origins[active]).flatten()
        sums = live
        if not np.array_equal(kept, np.arange(rows)):
            state = {**state, "hypotheses": reorder(state["hypotheses"], _to_device(kept, device))}
        if len(active) < len(sentences):
            index = _to_device(active, device)
            state = {**state, "sentences": reorder(state["sentences"], index)}
            words, sums, finished, last_penalty, maximum_lengths = (
                tensor.index_select(0, index) for tensor in (words, sums, finished, last_penalty, maximum_lengths)
            )
            sentences, limits, tokens = sentences[active], limits[active], tokens[active]

    return [sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)[:n_best] for hypotheses in results]


def _to_device(indices: NDArray[np.int64], device: torch.device) -> Tensor:
    """Copy indices to a device, for a GPU asynchronously."""
    tensor = torch.from_numpy(indices)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


def _log_probabilities(logits: Tensor, forbidden: Collection[int], end: int, at_maximum: Tensor | None) -> Tensor:
    """Normalise logits [B * K, V]; rule out forbidden units, and all but END in sentences at maximum length [B]."""
    precision = torch.promote_types(logits.dtype, torch.float32)
    log_probabilities = logits.log_softmax(dim=-1, dtype=precision)
    for unit in forbidden:
        log_probabilities[:, unit] = IMPOSSIBLE
    if at_maximum is not None:
        rows = at_maximum.repeat_interleave(len(logits) // len(at_maximum))[:, None]
        log_probabilities[:, :end].masked_fill_(rows, IMPOSSIBLE)
        log_probabilities[:, end + 1 :].masked_fill_(rows, IMPOSSIBLE)
    return log_probabilities


def _top_units(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` best of each row of scores [N, V] and their indices, [N, count] each; all if V is smaller.

    The best scores are in the `count` chunks with the highest maxima. On a CPU, searching only these chunks of 8000
    units takes a quarter of the time of `topk`.
    """
    rows, size = scores.shape
    chunks = size // VOCABULARY_CHUNK
    if chunks <= 2 * count:
        values, indices = scores.topk(min(count, size))
        return values, indices
    maxima = scores[:, : chunks * VOCABULARY_CHUNK].reshape(rows, chunks, VOCABULARY_CHUNK).amax(2)
    offsets = torch.arange(VOCABULARY_CHUNK, device=scores.device)
    rest = torch.arange(chunks * VOCABULARY_CHUNK, size, device=scores.device)
    positions = (maxima.topk(count).indices[:, :, None] * VOCABULARY_CHUNK + offsets).flatten(1)
    positions = torch.cat([positions, rest.expand(rows, -1)], dim=1)
    values, indices = scores.gather(1, positions).topk(count)
    return values, positions.gather(1, indices)
