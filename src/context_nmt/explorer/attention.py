"""Map a model's recorded attention from tensor positions to the words of one sentence.

Mechanisms are known only by `shows` and plain attributes.
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
PLACE_TITLES = {
    "encoder": "Encoder, self-attention",
    "decoder": "Decoder, self-attention",
    "cross": "Cross-attention",
    "encoder_output": "After the encoder",
    "decoder_output": "After the decoder",
}
CONTEXT_NAMES = {True: "the embeddings", False: "a lower layer"}  # by the module's attribute `lexical`
UNTITLED_PARTS = ("attend", "weights")  # parts of submodule names that are left out of titles

Vocabularies = dict[Side, Vocabulary]


@dataclass(frozen=True)
class Token:
    """A word or another token, with its positions in a tensor."""

    key: Key
    positions: list[int]


@dataclass(frozen=True, kw_only=True)
class Axes:
    """The tokens at the positions of one sentence's tensors."""

    encoder: list[Token]
    memory: list[Token]  # the encoder's positions that the decoder sees
    inputs: list[Token]  # the decoder's inputs
    outputs: list[Token]  # the words of the sentence itself, at the positions that produce them

    def keys(self, place: str) -> list[Token]:
        """Return the tokens that an attention looks at."""
        return {"encoder": self.encoder, "decoder": self.inputs, "cross": self.memory}[place]

    def queries(self, place: str) -> list[Token]:
        """Return the words of the sentence itself that an attention or a module after a stack attends from."""
        return current_words(self.encoder) if place.startswith("encoder") else self.outputs


def current_words(tokens: list[Token]) -> list[Token]:
    """Return the words of the sentence itself, without those of previous sentences and other tokens."""
    return [token for token in tokens if token.key.get("sentence") == 0]


def word_positions(ids: Ids, vocabulary: Vocabulary) -> list[range]:
    """Return the positions of each word of a sentence."""
    return [range(*span) for span in vocabulary.word_spans([vocabulary.units[unit] for unit in ids.tolist()])]


def concatenated_tokens(
    sentences: Sequence[Ids],
    vocabularies: Vocabularies,
    side: Side,
    *,
    before: str | None = None,
    after: str | None = None,
) -> list[Token]:
    """Return the words of a sentence after those of its previous ones, with breaks between sentences.

    `before` and `after` are the texts of tokens at the ends.
    """
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
    """Return the axes of the last of these sentences; the others are its previous ones."""
    memory = concatenated_tokens(sources, vocabularies, "source", after=SPECIALS[END])
    # a position produces the unit that the next position reads
    outputs = current_words(concatenated_tokens(targets, vocabularies, "target"))
    inputs = concatenated_tokens(targets, vocabularies, "target", before=SPECIALS[BEGIN])
    return Axes(encoder=memory, memory=memory, inputs=inputs, outputs=outputs)


def masked_axes(source: Ids, read: Ids, produced: Ids, vocabularies: Vocabularies) -> Axes:
    """Return the axes of an iteration that reads a target with masks; END may be anywhere among the produced units."""
    kept = np.flatnonzero(produced != END)
    outputs = [
        Token({"sentence": 0, "side": "target", "word": word}, kept[list(positions)].tolist())
        for word, positions in enumerate(word_positions(produced[kept], vocabularies["target"]))
    ]
    unmasked = [Token(token.key, [unit for unit in token.positions if read[unit] != MASK]) for token in outputs]
    inputs = [token for token in unmasked if token.positions]
    for text, special in ((SPECIALS[END], END), (MASK_TEXT, MASK)):
        inputs += [Token({"text": text}, [position]) for position in np.flatnonzero(read == special).tolist()]
    return Axes(
        encoder=concatenated_tokens([source], vocabularies, "source", before=LENGTH_TEXT, after=SPECIALS[END]),
        memory=concatenated_tokens([source], vocabularies, "source", after=SPECIALS[END]),
        inputs=sorted(inputs, key=lambda token: token.positions),
        outputs=outputs,
    )


def membership(tokens: list[Token], size: int) -> Shares:
    """Return a matrix [size, tokens] that has 1 where a position belongs to a token, else 0."""
    matrix = np.zeros((size, len(tokens)))
    for number, token in enumerate(tokens):
        matrix[token.positions, number] = 1
    return matrix


def mean_over_words(values: Shares, tokens: list[Token]) -> Shares:
    """Average values of positions [..., T, S] over the units of each word: [..., W, S]."""
    matrix = membership(tokens, values.shape[-2])
    return (matrix / matrix.sum(0)).T @ values


def names_to_record(model: Model) -> list[str]:
    """Return the names of the submodules whose outputs the page needs."""
    names = list[str | None]()
    for module_name, _ in model.named_modules():
        shows = qualified_shows(model, module_name)
        names += [*shows.weights, *shows.gates.values()]
        names += [shows.global_share, shows.earlier_words, shows.earlier_sentences]
    return [name for name in names if name]


def collect_views(model: Model, outputs: Outputs, axes: Axes) -> list[View]:
    """Return the attention of the first sentence of a batch, by place and the name that `shows` gives."""
    layers_of: dict[tuple[Any, ...], list[tuple[int, Shares, NDArray[np.uint16]]]] = defaultdict(list)
    for attention in attention_sites(model):
        place, keys, queries = attention.kind, axes.keys(attention.kind), axes.queries(attention.kind)
        for name in attention.shows.weights:
            module, parts = _split_at_attention(model, name)
            weights = _to_numpy(outputs[name][0])  # [H, T, S]
            titled_parts = [part for part in parts if part not in UNTITLED_PARTS]
            title = ", ".join([PLACE_TITLES[place], *titled_parts]).replace("_", " ")
            size = getattr(module, "window", None) if attention.shows.global_share else None
            words = mean_over_words(weights, queries) @ membership(keys, weights.shape[-1])
            centers = _window_centers(module, weights, queries, keys)
            layers_of[place, title, size, len(weights)].append((attention.layer, words, centers))
    return [
        View(
            place=place,
            title=title,
            queries="source" if place == "encoder" else "target",
            keys=[token.key for token in axes.keys(place)],
            layers=[layer for layer, _, _ in layers],
            heads=heads,
            weights=np.stack([words for _, words, _ in layers]),
            window=None if size is None else Window(size=size, centers=np.stack([centers for *_, centers in layers])),
        )
        for (place, title, size, heads), layers in layers_of.items()
    ]


def _split_at_attention(model: Model, name: str) -> tuple[nn.Module, list[str]]:
    """Return the attention that a submodule is part of, and the rest of the submodule's name.

    Names are like `encoder.layers.0.self_attention.attend.weights`, where the attention has the first four parts.
    """
    parts = name.split(".")
    return model.get_submodule(".".join(parts[:4])), parts[4:]


def _to_numpy(tensor: Tensor) -> Shares:
    return np.asarray(tensor.double().cpu().numpy())


def _window_centers(module: nn.Module, weights: Shares, queries: list[Token], keys: list[Token]) -> NDArray[np.uint16]:
    """Return the key at the centre of each word's window [H, Q]: the target position, or the largest weight.

    All weights within a window grow in proportion, so the largest weight belongs to the largest score, the centre.
    """
    first = np.array([token.positions[0] for token in queries], dtype=np.int64)
    if getattr(module, "center", None) == "target":
        last = max(position for token in keys for position in token.positions)
        positions = np.broadcast_to(np.minimum(first, last), (len(weights), len(first)))
    else:
        positions = weights[:, first].argmax(-1)
    return membership(keys, weights.shape[-1]).argmax(1)[positions].astype(np.uint16)


def collect_gates(model: Model, outputs: Outputs, axes: Axes) -> list[Gate]:
    """Return the gates of the first sentence of a batch, by place and by the part that they gate."""
    layers_of: dict[tuple[str, Side], list[tuple[int, Shares]]] = defaultdict(list)
    for attention in attention_sites(model):
        place, shows = attention.kind, attention.shows
        of_queries: Side = "source" if place == "encoder" else "target"
        of_keys: Side = "target" if place == "decoder" else "source"
        for part, name in shows.gates.items():
            side = of_queries if part == "query" else of_keys
            tokens = axes.queries(place) if part == "query" else current_words(axes.keys(place))
            lexical = getattr(_split_at_attention(model, name)[0], "lexical", None)
            context = CONTEXT_NAMES[lexical] if isinstance(lexical, bool) else "the context"
            openness = _to_numpy(outputs[name][0].flatten(1)).mean(1, keepdims=True)  # [T, 1]
            title = f"{PLACE_TITLES[place]}, {part}: share of {context}"
            layers_of[title, side].append((attention.layer, mean_over_words(openness, tokens)[:, 0]))
        if shows.global_share:
            openness = _to_numpy(outputs[shows.global_share][0]).mean(0)  # [T, 1]
            title = f"{PLACE_TITLES[place]}: share of the attention to all words"
            layers_of[title, of_queries].append((attention.layer, mean_over_words(openness, axes.queries(place))[:, 0]))
    return [
        Gate(
            title=title,
            side=side,
            layers=[layer for layer, _ in layers],
            values=np.stack([words for _, words in layers]),
        )
        for (title, side), layers in layers_of.items()
    ]


def collect_earlier(
    model: Model,
    outputs: Outputs,
    axes: Axes,
    previous: dict[Side, Sequence[Ids]],
    vocabularies: Vocabularies,
    *,
    rows: int,
    first: int,
) -> list[Earlier]:
    """Return the attention of the first of `rows` sentences of a batch to earlier sentences, by module.

    `previous` has the sentences before it in its document, oldest first, as the model read them; `first` is the number
    of the oldest on the page. A module that has seen no word is left out.
    """
    collected = []
    for name, module in model.named_modules():
        shows = qualified_shows(model, name)
        if not (shows.earlier_words and shows.earlier_sentences):
            continue
        words = _to_numpy(outputs[shows.earlier_words]).mean(1)  # [B * K, T, S]
        shares = _to_numpy(outputs[shows.earlier_sentences]).mean(1)  # [B * T, 1, K]
        words, shares = words[: len(words) // rows], shares[: len(shares) // rows, 0]
        seen: Side = "source" if getattr(module, "reads", None) == "source" else "target"
        queries = axes.queries(name)
        sentences = previous[seen][-len(words) :]
        has_words = [bool((ids >= len(SPECIALS)).any()) for ids in sentences]
        if not any(has_words):
            continue
        begin = SPECIALS[BEGIN] if seen == "target" else None
        tokens = [current_words(concatenated_tokens([ids], vocabularies, seen, before=begin)) for ids in sentences]
        attended = words[len(words) - len(sentences) :]
        collected.append(
            Earlier(
                title=PLACE_TITLES.get(name, name),
                own="source" if name.startswith("encoder") else "target",
                seen=seen,
                first=first + len(previous[seen]) - len(sentences),
                sentences=mean_over_words(shares[:, shares.shape[1] - len(sentences) :], queries),
                words=[
                    sentence_has_words * (mean_over_words(weights, queries) @ membership(words_seen, weights.shape[-1]))
                    for sentence_has_words, weights, words_seen in zip(has_words, attended, tokens, strict=True)
                ],
            )
        )
    return collected
