"""The data of the explorer's page, and its two forms: JSON within HTML, and a picture of one word.

Letters for shapes: L layers, H heads, Q words that attend, K words and other tokens that are attended to, W words.
In JSON, an array is the base64 of its bytes, compressed as raw deflate; shares are uint16, in 65535ths, indices uint16.
"""

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from context_nmt.files import UserError, replacing
from context_nmt.report.formats import render, write_page

SCRIPTS = ("numbers.js", "text.js", "selection.js", "pieces.js", "panel.js", "start.js")  # in one scope

Side = Literal["source", "target"]
Shares = NDArray[np.float64]  # from 0 to 1
Key = dict[str, str | int]  # a word: sentence (0 current, -1 previous …), side, word; another token: text


@dataclass(frozen=True, kw_only=True)
class Window:
    """The words that a local attention looks at closely."""

    size: int  # units on each side of the centre
    centers: NDArray[np.uint16]  # [L, H, Q], of each word's first unit: an index into the keys


@dataclass(frozen=True, kw_only=True)
class View:
    """Attention of a sentence's words: mean over the units of a query word, sum over the units of a key word."""

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
    """Shares of a context in a word's query, key or value: means over units, and over elements or heads."""

    title: str
    side: Side  # of the words
    layers: list[int]  # from 1
    values: Shares  # [L, W]


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """Attention of a sentence's words to k earlier sentences and to the words in them; means over heads."""

    title: str
    own: Side  # of the words that attend
    seen: Side  # of the words that are attended to
    first: int  # the oldest earlier sentence: an index into the page's sentences
    sentences: Shares  # [W, k], oldest first; a row sums to 1
    words: list[Shares]  # k of [W, words of the earlier sentence]; a row sums to 1, or 0 if the sentence has no words


@dataclass(frozen=True, kw_only=True)
class Translation:
    """A sentence's translation by one system, and what the system looked at for it."""

    target: list[str]
    seen_target: list[str] | None = None  # what later sentences see, if it is not the translation
    scores: list[float] | None = None  # log-probabilities of the candidates in nats; the largest wins
    # of a masked model: its input in each iteration, with "␣" for a mask, and the translation
    iterations: list[list[str]] | None = None
    views: list[View] = field(default_factory=list)
    gates: list[Gate] = field(default_factory=list)
    earlier: list[Earlier] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One system, with a translation of each sentence of the page."""

    name: str  # VARIANT-SEED
    label: str
    sentences: list[Translation]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A translation that the systems score."""

    text: list[str]
    correct: bool


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A sentence in words of the vocabulary, as models read them."""

    line: int  # its line, from 1, in its file or in the typed text
    source: list[str]
    reference: list[str] | None
    candidates: list[Candidate] | None = None


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The word that the page selects when it opens."""

    sentence: int
    run: int
    side: Side
    word: int


@dataclass(frozen=True, kw_only=True)
class ExploredText:
    """All data of a page."""

    title: str
    languages: dict[Side, str]
    select: Selection | None
    pronouns: dict[Side, list[str]]  # in lower case
    sentences: list[Sentence]
    runs: list[Run]


def to_json(explored: ExploredText) -> str:
    """Return the page's data as JSON without "<", which could end the element that contains it."""
    return json.dumps(explored, default=_encode, ensure_ascii=False).replace("<", "\\u003c")


def _encode(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return vars(value)
    if value.dtype.kind == "f":
        value = np.rint(65535 * value).astype(np.uint16)
    deflated = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    content = deflated.compress(value.astype(value.dtype.newbyteorder("<")).tobytes()) + deflated.flush()
    return base64.b64encode(content).decode("ascii")


def page_text(explored: ExploredText | None, *, title: str, limits: dict[str, int] | None = None) -> str:
    """Return the page of an explored text; with `limits`, it has a field to type a text for a server."""
    data = Markup("null" if explored is None else to_json(explored))  # noqa: S704 (to_json escapes "<")
    values = {"title": title, "data": data, "scripts": SCRIPTS, "limits": limits}
    return render("page.html.j2", "context_nmt.explorer", **values)


def write_explorer(path: Path, explored: ExploredText) -> None:
    """Write the page of an explored text as one file that needs no other."""
    with replacing(path) as temporary:
        temporary.write_text(page_text(explored, title=explored.title), encoding="utf-8", newline="")


@dataclass(frozen=True)
class _PictureLine:
    """A line of the picture."""

    label: str
    side: str  # source, target
    words: list[str]
    shares: Sequence[float]  # of the attention; in the sentence itself, 1 for a word in colour
    weight: float | None = None  # of a previous sentence

    @property
    def starts(self) -> list[int]:
        """The column of each word's first character."""
        return list(accumulate((len(word) + 1 for word in self.words[:-1]), initial=0))


def write_picture(path: Path, explored: ExploredText, word: str | None = None) -> None:
    """Draw which earlier sentences and words a word of the first run's last sentence attended to.

    The default is the sentence's first pronoun. The picture shows the first module that attends to earlier sentences.
    Raise UserError if the sentence does not have the word, or if the run attends to no earlier sentence.
    """
    run, count = explored.runs[0], len(explored.sentences)
    sentence, translated = explored.sentences[-1], run.sentences[-1]
    if not translated.earlier:
        raise UserError(
            f"{run.name} shows no attention to a sentence before sentence {count}; choose a run with hierarchical"
            " attention, or a later sentence with --sentences"
        )
    earlier = translated.earlier[0]
    words = sentence.source if earlier.own == "source" else translated.target
    searched = [word.lower()] if word else explored.pronouns[earlier.own]
    position = next((index for index, text in enumerate(words) if text.lower() in searched), None)
    if position is None:
        raise UserError(
            f"sentence {count} has no {f'word {word!r}' if word else 'pronoun'}: {' '.join(words)};"
            " choose with --word, or another sentence with --sentences"
        )
    lines = []
    for number, (weights, shares) in enumerate(zip(earlier.sentences.T, earlier.words, strict=True), earlier.first):
        seen = run.sentences[number].seen_target or run.sentences[number].target
        texts = explored.sentences[number].source if earlier.seen == "source" else seen
        label = f"{count - 1 - number} back"
        lines.append(_PictureLine(label, earlier.seen, texts, shares[position].tolist(), weights[position]))
    current_lines: list[tuple[str, Side, list[str]]] = [
        ("source", "source", sentence.source),
        ("translation", "target", translated.target),
        ("reference", "target", sentence.reference or []),
    ]
    for label, side, texts in current_lines:
        marks = [
            index == position if texts is words else text.lower() in explored.pronouns[side]
            for index, text in enumerate(texts)
        ]
        lines.append(_PictureLine(label, side, texts, marks))
    write_page(
        path,
        "attention.svg.j2",
        title=f"{run.name}, {explored.title}: where “{words[position]}” looks",
        lines=lines,
        languages=explored.languages,
        characters=max(len(" ".join(line.words)) for line in lines),
    )
