"""The words of a sentence, and where their units are in the tensors of a model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from context_nmt.corpus.binarized import Ids
from context_nmt.corpus.vocabulary import BEGIN, END, MASK, SPECIALS, Vocabulary
from context_nmt.explorer.data import Key, Shares, Side

BREAK_TEXT, LENGTH_TEXT, MASK_TEXT = "<break>", "<length>", "␣"


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


def joined_tokens(
    sentences: Sequence[Ids], vocabulary: Vocabulary, side: Side, *, before: str | None = None, after: str | None = None
) -> list[Token]:
    """Return the words of sentences that are joined by breaks, the own one last; tokens may be before and after."""
    tokens = [] if before is None else [Token({"text": before}, [0])]
    start = len(tokens)
    for offset, ids in zip(range(1 - len(sentences), 1), sentences, strict=True):
        if offset > 1 - len(sentences):
            tokens.append(Token({"text": BREAK_TEXT}, [start]))
            start += 1
        for word, positions in enumerate(word_positions(ids, vocabulary)):
            key: Key = {"sentence": offset, "side": side, "word": word}
            tokens.append(Token(key, [start + position for position in positions]))
        start += len(ids)
    return tokens if after is None else [*tokens, Token({"text": after}, [start])]


def word_positions(ids: Ids, vocabulary: Vocabulary) -> list[range]:
    """Return the positions of each word of a sentence."""
    return [range(*span) for span in vocabulary.word_spans([vocabulary.units[unit] for unit in ids.tolist()])]


def autoregressive_axes(sources: Sequence[Ids], targets: Sequence[Ids], vocabularies: dict[Side, Vocabulary]) -> Axes:
    """Return the axes of a sentence; it is the last of those that are joined on each side."""
    memory = joined_tokens(sources, vocabularies["source"], "source", after=SPECIALS[END])
    # a position produces the unit that is the input of the next one
    outputs = own_words(joined_tokens(targets, vocabularies["target"], "target"))
    inputs = joined_tokens(targets, vocabularies["target"], "target", before=SPECIALS[BEGIN])
    return Axes(encoder=memory, memory=memory, inputs=inputs, outputs=outputs)


def masked_axes(source: Ids, read: Ids, produced: Ids, vocabularies: dict[Side, Vocabulary]) -> Axes:
    """Return the axes of the iteration that reads a target with masks; END may be anywhere among the produced units."""
    kept, masks = np.flatnonzero(produced != END), np.flatnonzero(read == MASK)
    outputs = [
        Token({"sentence": 0, "side": "target", "word": word}, kept[list(positions)].tolist())
        for word, positions in enumerate(word_positions(produced[kept], vocabularies["target"]))
    ]
    known = [Token(token.key, [place for place in token.positions if read[place] != MASK]) for token in outputs]
    inputs = [token for token in known if token.positions]
    for text, places in ((SPECIALS[END], np.flatnonzero(read == END)), (MASK_TEXT, masks)):
        inputs += [Token({"text": text}, [place]) for place in places.tolist()]
    memory = joined_tokens([source], vocabularies["source"], "source", after=SPECIALS[END])
    return Axes(
        encoder=joined_tokens([source], vocabularies["source"], "source", before=LENGTH_TEXT, after=SPECIALS[END]),
        memory=memory,
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
