"""From the tensors that mechanisms show to the words of one sentence; only `shows` and plain attributes are known."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from context_nmt.corpus.binarized import Ids
from context_nmt.corpus.vocabulary import BEGIN, SPECIALS, Vocabulary
from context_nmt.explorer.axes import Axes, Token, joined_tokens, members, over_words, own_words
from context_nmt.explorer.data import Earlier, Gate, Shares, Side, View, Window
from context_nmt.measures.attention.recording import PLACES, Outputs, shown
from context_nmt.models.model import Model
from context_nmt.transformer.attention import Shows

TITLES = {
    "encoder": "Encoder, self-attention",
    "decoder": "Decoder, self-attention",
    "cross": "Cross-attention",
    "encoder_output": "After the encoder",
    "decoder_output": "After the decoder",
}
CONTEXTS = {True: "the embeddings", False: "a lower layer", None: "the context"}  # by the module's attribute `lexical`
NO_NAMES = ("attend", "weights")  # parts of the name of a submodule that say nothing about it


def numbers(tensor: Tensor) -> Shares:
    """Return a tensor's values in float64."""
    values: NDArray[Any] = tensor.double().cpu().numpy()
    return values


@dataclass(frozen=True)
class Layer:
    """An attention of a model."""

    place: str  # encoder, decoder or cross
    number: int  # from 1
    path: str
    module: nn.Module
    shows: Shows  # with full names


def layers_of(model: Model) -> Iterator[Layer]:
    """Yield every attention of a model."""
    for place, stack, attention in PLACES:
        for number in range(1, len(getattr(model, stack).layers) + 1):
            path = f"{stack}.layers.{number - 1}.{attention}"
            yield Layer(place, number, path, model.get_submodule(path), shown(model, path))


def modules_with_earlier(model: Model) -> dict[str, tuple[str, str]]:
    """Return the submodules that attend to words and sentences of earlier sentences, with the names of both weights."""
    hooks = {}
    for name, _ in model.named_modules():
        shows = shown(model, name)
        if shows.earlier_words and shows.earlier_sentences:
            hooks[name] = (shows.earlier_words, shows.earlier_sentences)
    return hooks


def names_shown(model: Model) -> list[str]:
    """Return the submodules to record."""
    of_layers = [
        name
        for layer in layers_of(model)
        for name in (*layer.shows.weights, *layer.shows.gates.values(), layer.shows.global_share)
        if name
    ]
    return [*of_layers, *(name for hooks in modules_with_earlier(model).values() for name in hooks)]


def views(model: Model, outputs: Outputs, axes: Axes) -> list[View]:
    """Return the attention of the first sentence of a batch, by place and the name that `shows` gives."""
    found: dict[tuple[Any, ...], list[tuple[int, Shares, NDArray[np.uint16] | None]]] = defaultdict(list)
    for layer in layers_of(model):
        keys, queries = axes.keys(layer.place), axes.queries(layer.place)
        size = getattr(layer.module, "window", None) if layer.shows.global_share else None
        for name in layer.shows.weights:
            weights = numbers(outputs[name][0])  # [H, T, S]
            own_name = [part for part in name.removeprefix(f"{layer.path}.").split(".") if part not in NO_NAMES]
            title = ", ".join([TITLES[layer.place], *own_name]).replace("_", " ")
            words = over_words(weights, queries) @ members(keys, weights.shape[-1])
            centers = None if size is None else _centers(layer.module, weights, queries, keys)
            found[layer.place, title, size, len(weights)].append((layer.number, words, centers))
    return [
        View(
            place=place,
            title=title,
            queries="source" if place == "encoder" else "target",
            keys=[token.key for token in axes.keys(place)],
            layers=[number for number, _, _ in layers],
            heads=heads,
            weights=np.stack([words for _, words, _ in layers]),
            window=None
            if size is None
            else Window(size=size, centers=np.stack([centers for _, _, centers in layers if centers is not None])),
        )
        for (place, title, size, heads), layers in found.items()
    ]


def _centers(module: nn.Module, weights: Shares, queries: list[Token], keys: list[Token]) -> NDArray[np.uint16]:
    """Return the key at the centre of each word's window [H, Q]: the target's position, or that of the largest weight.

    Within a window all weights grow in proportion, so the largest is that of the scores, which the window is around.
    """
    first = np.array([token.positions[0] for token in queries], dtype=np.int64)
    if getattr(module, "center", None) == "target":
        last = max(position for token in keys for position in token.positions)
        positions = np.broadcast_to(np.minimum(first, last), (len(weights), len(first)))
    else:
        positions = weights[:, first].argmax(-1)
    return members(keys, weights.shape[-1]).argmax(1)[positions].astype(np.uint16)


def gates(model: Model, outputs: Outputs, axes: Axes) -> list[Gate]:
    """Return the gates of the first sentence of a batch, by place and by what they are a gate of."""
    found: dict[tuple[str, Side], list[tuple[int, Shares]]] = defaultdict(list)
    for layer in layers_of(model):
        title, queries = TITLES[layer.place], axes.queries(layer.place)
        of_queries: Side = "source" if layer.place == "encoder" else "target"
        of_keys: Side = "target" if layer.place == "decoder" else "source"
        for part, name in layer.shows.gates.items():
            lexical = getattr(layer.module, "lexical", None)
            context = CONTEXTS[lexical if isinstance(lexical, bool) else None]
            tokens = queries if part == "query" else own_words(axes.keys(layer.place))
            openness = numbers(outputs[name][0].flatten(1)).mean(1, keepdims=True)  # [T, 1]
            kind = f"{title}, {part}: share of {context}", of_queries if part == "query" else of_keys
            found[kind].append((layer.number, over_words(openness, tokens)[:, 0]))
        if layer.shows.global_share:
            openness = numbers(outputs[layer.shows.global_share][0]).mean(0)  # [T, 1]
            kind = f"{title}: share of the attention to all words", of_queries
            found[kind].append((layer.number, over_words(openness, queries)[:, 0]))
    return [
        Gate(
            title=title,
            side=side,
            layers=[number for number, _ in layers],
            values=np.stack([words for _, words in layers]),
        )
        for (title, side), layers in found.items()
    ]


def earlier(
    model: Model,
    outputs: Outputs,
    axes: Axes,
    *,
    rows: int,
    first: int,
    before: dict[Side, Sequence[Ids]],
    vocabularies: dict[Side, Vocabulary],
) -> list[Earlier]:
    """Return the attention of the first of `rows` sentences of a batch to earlier ones, by module.

    `before` has the sentences before it in its document, oldest first, as the model read them; `first` is the oldest
    one's number on the page. A module that has seen no word is left out.
    """
    found = []
    for name, hooks in modules_with_earlier(model).items():
        words, shares = (numbers(outputs[hook]).mean(1) for hook in hooks)  # [B * K, T, S], [B * T, 1, K]
        words, shares = words[: len(words) // rows], shares[: len(shares) // rows, 0]
        own: Side = "source" if name.startswith("encoder") else "target"
        seen: Side = "source" if getattr(model.get_submodule(name), "reads", None) == "source" else "target"
        queries = axes.queries(name)
        sentences = before[seen][-len(words) :]
        known = [bool((ids >= len(SPECIALS)).any()) for ids in sentences]
        if not any(known):
            continue
        begin = SPECIALS[BEGIN] if seen == "target" else None
        tokens = [own_words(joined_tokens([ids], vocabularies[seen], seen, before=begin)) for ids in sentences]
        attended = [over_words(weights, queries) for weights in words[len(words) - len(sentences) :]]
        found.append(
            Earlier(
                title=TITLES.get(name, name),
                own=own,
                seen=seen,
                first=first + len(before[seen]) - len(sentences),
                sentences=over_words(shares[:, shares.shape[1] - len(sentences) :], queries),
                words=[
                    is_known * (weights @ members(words_seen, weights.shape[-1]))
                    for is_known, weights, words_seen in zip(known, attended, tokens, strict=True)
                ],
            )
        )
    return found
