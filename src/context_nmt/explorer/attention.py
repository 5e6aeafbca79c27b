"""What a model attends to, from the positions of its tensors to the words of one sentence.

Of mechanisms only `shows` and plain attributes are known.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from context_nmt.corpus.binarized import Ids
from context_nmt.corpus.vocabulary import BEGIN, END, MASK, SPECIALS, Vocabulary
from context_nmt.explorer.page import Earlier, Gate, Key, Shares, Side, View, Window
from context_nmt.measures.recording import Outputs, attention_sites, qualified_shows
from context_nmt.models.model import Model

BREAK_TEXT, LENGTH_TEXT, MASK_TEXT = "<break>", "<length>", "␣"
TITLES = {
    "encoder": "Encoder, self-attention",
    "decoder": "Decoder, self-attention",
    "cross": "Cross-attention",
    "encoder_output": "After the encoder",
    "decoder_output": "After the decoder",
}
CONTEXTS = {True: "the embeddings", False: "a lower layer"}  # by the module's attribute `lexical`
NO_NAMES = ("attend", "weights")  # parts of the name of a submodule that say nothing about it

Vocabularies = dict[Side, Vocabulary]


@dataclass(frozen=True)
class Token:
    """A word, or another token, and its positions in a tensor."""

    key: Key
    positions: list[int]


@dataclass(frozen=True, kw_only=True)
class Axes:
    """The tokens at the positions of one sentence's tensors."""

    encoder: list[Token]
    memory: list[Token]  # the encoder's positions that the decoder sees
    inputs: list[Token]  # what the decoder reads
    outputs: list[Token]  # what its positions produce: the words of the sentence itself

    def keys(self, place: str) -> list[Token]:
        """Return what an attention looks at."""
        return {"encoder": self.encoder, "decoder": self.inputs, "cross": self.memory}[place]

    def queries(self, place: str) -> list[Token]:
        """Return the words of the sentence itself that an attention, or a module after a stack, attends from."""
        return own_words(self.encoder) if place.startswith("encoder") else self.outputs


def own_words(tokens: list[Token]) -> list[Token]:
    """Return the words of the sentence itself."""
    return [token for token in tokens if token.key.get("sentence") == 0]


def word_positions(ids: Ids, vocabulary: Vocabulary) -> list[range]:
    """Return the positions of each word of a sentence."""
    return [range(*span) for span in vocabulary.word_spans([vocabulary.units[unit] for unit in ids.tolist()])]


def joined_tokens(
    sentences: Sequence[Ids],
    vocabularies: Vocabularies,
    side: Side,
    *,
    before: str | None = None,
    after: str | None = None,
) -> list[Token]:
    """Return the words of sentences that are joined by breaks, the own one last; tokens may be before and after."""
    tokens = [] if before is None else [Token({"text": before}, [0])]
    start = len(tokens)
    for offset, ids in zip(range(1 - len(sentences), 1), sentences, strict=True):
        if offset > 1 - len(sentences):
            tokens.append(Token({"text": BREAK_TEXT}, [start]))
            start += 1
        for word, positions in enumerate(word_positions(ids, vocabularies[side])):
            key: Key = {"sentence": offset, "side": side, "word": word}
            tokens.append(Token(key, [start + position for position in positions]))
        start += len(ids)
    return tokens if after is None else [*tokens, Token({"text": after}, [start])]


def autoregressive_axes(sources: Sequence[Ids], targets: Sequence[Ids], vocabularies: Vocabularies) -> Axes:
    """Return the axes of a sentence; it is the last of those that are joined on each side."""
    memory = joined_tokens(sources, vocabularies, "source", after=SPECIALS[END])
    # a position produces the unit that is the input of the next one
    outputs = own_words(joined_tokens(targets, vocabularies, "target"))
    inputs = joined_tokens(targets, vocabularies, "target", before=SPECIALS[BEGIN])
    return Axes(encoder=memory, memory=memory, inputs=inputs, outputs=outputs)


def masked_axes(source: Ids, read: Ids, produced: Ids, vocabularies: Vocabularies) -> Axes:
    """Return the axes of the iteration that reads a target with masks; END may be anywhere among the produced units."""
    kept = np.flatnonzero(produced != END)
    outputs = [
        Token({"sentence": 0, "side": "target", "word": word}, kept[list(positions)].tolist())
        for word, positions in enumerate(word_positions(produced[kept], vocabularies["target"]))
    ]
    known = [Token(token.key, [place for place in token.positions if read[place] != MASK]) for token in outputs]
    inputs = [token for token in known if token.positions]
    for text, unit in ((SPECIALS[END], END), (MASK_TEXT, MASK)):
        inputs += [Token({"text": text}, [place]) for place in np.flatnonzero(read == unit).tolist()]
    return Axes(
        encoder=joined_tokens([source], vocabularies, "source", before=LENGTH_TEXT, after=SPECIALS[END]),
        memory=joined_tokens([source], vocabularies, "source", after=SPECIALS[END]),
        inputs=sorted(inputs, key=lambda token: token.positions),
        outputs=outputs,
    )


def members(tokens: list[Token], size: int) -> Shares:
    """Return which of `size` positions belong to which token, 0 or 1, [size, tokens]."""
    matrix = np.zeros((size, len(tokens)))
    for number, token in enumerate(tokens):
        matrix[token.positions, number] = 1
    return matrix


def over_words(values: Shares, tokens: list[Token]) -> Shares:
    """Values of positions [..., T, S] -> means over the units of each word [..., W, S]."""
    matrix = members(tokens, values.shape[-2])
    return (matrix / matrix.sum(0)).T @ values


def names_shown(model: Model) -> list[str]:
    """Return the submodules to record."""
    shows = [qualified_shows(model, name) for name, _ in model.named_modules()]
    names = [
        (*one.weights, *one.gates.values(), one.global_share, one.earlier_words, one.earlier_sentences) for one in shows
    ]
    return [name for of_module in names for name in of_module if name]


def views(model: Model, outputs: Outputs, axes: Axes) -> list[View]:
    """Return the attention of the first sentence of a batch, by place and the name that `shows` gives."""
    found: dict[tuple[Any, ...], list[tuple[int, Shares, NDArray[np.uint16]]]] = defaultdict(list)
    for attention in attention_sites(model):
        place, keys, queries = attention.kind, axes.keys(attention.kind), axes.queries(attention.kind)
        for name in attention.shows.weights:
            module, parts = _of_layer(model, name)
            weights = _numbers(outputs[name][0])  # [H, T, S]
            own_name = [part for part in parts if part not in NO_NAMES]
            title = ", ".join([TITLES[place], *own_name]).replace("_", " ")
            size = getattr(module, "window", None) if attention.shows.global_share else None
            words = over_words(weights, queries) @ members(keys, weights.shape[-1])
            centers = _centers(module, weights, queries, keys)
            found[place, title, size, len(weights)].append((attention.layer, words, centers))
    return [
        View(
            place=place,
            title=title,
            queries="source" if place == "encoder" else "target",
            keys=[token.key for token in axes.keys(place)],
            layers=[layer for layer, _, _ in layers],
            heads=heads,
            weights=np.stack([words for _, words, _ in layers]),
            window=None if size is None else Window(size=size, centers=np.stack([one for _, _, one in layers])),
        )
        for (place, title, size, heads), layers in found.items()
    ]


def _of_layer(model: Model, name: str) -> tuple[nn.Module, list[str]]:
    """Split the name of a submodule, such as `encoder.layers.0.self_attention.attend.weights`, after the attention."""
    parts = name.split(".")
    return model.get_submodule(".".join(parts[:4])), parts[4:]


def _numbers(tensor: Tensor) -> Shares:
    return np.asarray(tensor.double().cpu().numpy())


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
    for attention in attention_sites(model):
        place, shows = attention.kind, attention.shows
        of_queries: Side = "source" if place == "encoder" else "target"
        of_keys: Side = "target" if place == "decoder" else "source"
        for part, name in shows.gates.items():
            side = of_queries if part == "query" else of_keys
            tokens = axes.queries(place) if part == "query" else own_words(axes.keys(place))
            lexical = getattr(_of_layer(model, name)[0], "lexical", None)
            context = CONTEXTS[lexical] if isinstance(lexical, bool) else "the context"
            openness = _numbers(outputs[name][0].flatten(1)).mean(1, keepdims=True)  # [T, 1]
            title = f"{TITLES[place]}, {part}: share of {context}"
            found[title, side].append((attention.layer, over_words(openness, tokens)[:, 0]))
        if shows.global_share:
            openness = _numbers(outputs[shows.global_share][0]).mean(0)  # [T, 1]
            title = f"{TITLES[place]}: share of the attention to all words"
            found[title, of_queries].append((attention.layer, over_words(openness, axes.queries(place))[:, 0]))
    return [
        Gate(
            title=title,
            side=side,
            layers=[layer for layer, _ in layers],
            values=np.stack([words for _, words in layers]),
        )
        for (title, side), layers in found.items()
    ]


def earlier(
    model: Model,
    outputs: Outputs,
    axes: Axes,
    before: dict[Side, Sequence[Ids]],
    vocabularies: Vocabularies,
    *,
    rows: int,
    first: int,
) -> list[Earlier]:
    """Return the attention of the first of `rows` sentences of a batch to earlier ones, by module.

    `before` has the sentences before it in its document, oldest first, as the model read them; `first` is the oldest
    one's number on the page. A module that has seen no word is left out.
    """
    found = []
    for name, module in model.named_modules():
        shows = qualified_shows(model, name)
        if not (shows.earlier_words and shows.earlier_sentences):
            continue
        words = _numbers(outputs[shows.earlier_words]).mean(1)  # [B * K, T, S]
        shares = _numbers(outputs[shows.earlier_sentences]).mean(1)  # [B * T, 1, K]
        words, shares = words[: len(words) // rows], shares[: len(shares) // rows, 0]
        seen: Side = "source" if getattr(module, "reads", None) == "source" else "target"
        queries = axes.queries(name)
        sentences = before[seen][-len(words) :]
        known = [bool((ids >= len(SPECIALS)).any()) for ids in sentences]
        if not any(known):
            continue
        begin = SPECIALS[BEGIN] if seen == "target" else None
        tokens = [own_words(joined_tokens([ids], vocabularies, seen, before=begin)) for ids in sentences]
        attended = words[len(words) - len(sentences) :]
        found.append(
            Earlier(
                title=TITLES.get(name, name),
                own="source" if name.startswith("encoder") else "target",
                seen=seen,
                first=first + len(before[seen]) - len(sentences),
                sentences=over_words(shares[:, shares.shape[1] - len(sentences) :], queries),
                words=[
                    is_known * (over_words(weights, queries) @ members(words_seen, weights.shape[-1]))
                    for is_known, weights, words_seen in zip(known, attended, tokens, strict=True)
                ],
            )
        )
    return found
