"""What the page shows, and its JSON.

Letters for shapes: L layers, H heads, Q words that attend, K words and other tokens that are attended to, W words.
In JSON, arrays are base64 of their bytes, compressed as raw deflate: shares as uint16, in 65535ths, indices as uint16.
"""

import base64
import json
import zlib
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Side = Literal["source", "target"]
Shares = NDArray[np.float64]  # from 0 to 1
Key = dict[str, str | int]  # a word: sentence (0 its own, -1 the one before …), side, word; another token: text


@dataclass(frozen=True, kw_only=True)
class Window:
    """The words that a local attention looks at closely."""

    size: int  # units on each side of the centre
    centers: NDArray[np.uint16]  # [L, H, Q], of each word's first unit: an index into the keys


@dataclass(frozen=True, kw_only=True)
class View:
    """Attention of the words of a sentence: mean over a word's units, sum over the units of a word attended to."""

    place: Literal["encoder", "decoder", "cross"]
    title: str
    queries: Side
    keys: list[Key]
    layers: list[int]  # from 1
    heads: int
    weights: Shares  # [L, H, Q, K]; a row sums to 1
    window: Window | None = None


@dataclass(frozen=True, kw_only=True)
class Gate:
    """Shares of something in a word's query, key or value: means over units, and over elements or heads."""

    title: str
    side: Side  # of the words
    layers: list[int]  # from 1
    values: Shares  # [L, W]


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """Attention of a sentence's words to k earlier sentences and to their words; means over heads."""

    title: str
    own: Side  # of the words that attend
    seen: Side  # of the words that are attended to
    first: int  # the oldest earlier sentence: an index into the page's sentences
    sentences: Shares  # [W, k], oldest first; a row sums to 1
    words: list[Shares]  # k of [W, words of the sentence]; a row sums to 1, or is 0 if no word is known


@dataclass(frozen=True, kw_only=True)
class Translated:
    """A sentence's translation by one system, and what the system looked at."""

    target: list[str]
    seen_target: list[str] | None = None  # what later sentences see, if it is not the translation
    scores: list[float] | None = None  # of the candidates: log-probabilities in nats; the largest wins
    # of a masked model: what it read in each iteration, where "␣" is a mask, and the translation
    iterations: list[list[str]] | None = None
    views: list[View] = field(default_factory=list)
    gates: list[Gate] = field(default_factory=list)
    earlier: list[Earlier] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One system; its sentences are those of the page."""

    name: str  # VARIANT-SEED
    label: str
    sentences: list[Translated]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A translation that the systems score."""

    text: list[str]
    correct: bool


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A sentence as words of the vocabulary, which the models read."""

    line: int  # of its file, or of what a user typed, from 1
    source: list[str]
    reference: list[str] | None
    candidates: list[Candidate] | None = None


@dataclass(frozen=True, kw_only=True)
class Selected:
    """The word that is selected when the page opens."""

    sentence: int
    run: int
    side: Side
    word: int


@dataclass(frozen=True, kw_only=True)
class Explored:
    """All of a page."""

    title: str
    languages: dict[Side, str]
    select: Selected | None
    pronouns: dict[Side, list[str]]  # in lower case
    sentences: list[Sentence]
    runs: list[Run]


def to_json(explored: Explored) -> str:
    """Return the page's data as JSON without "<", which could end the element that contains it."""
    return json.dumps(explored, default=_encoded, ensure_ascii=False).replace("<", "\\u003c")


def _encoded(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return vars(value)
    if value.dtype.kind == "f":
        value = np.rint(65535 * value).astype(np.uint16)
    deflated = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    content = deflated.compress(value.astype(value.dtype.newbyteorder("<")).tobytes()) + deflated.flush()
    return base64.b64encode(content).decode("ascii")
