"""What the page shows, and how it is written: as JSON within HTML, or as a picture of one word.

Letters for shapes: L layers, H heads, Q words that attend, K words and other tokens that are attended to, W words.
In JSON, arrays are base64 of their bytes, compressed as raw deflate: shares as uint16, in 65535ths, indices as uint16.
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


def page_text(explored: Explored | None, *, title: str, limits: dict[str, int] | None = None) -> str:
    """Return the page of an explored text; with `limits`, it has a field for texts to send to a server."""
    data = Markup("null" if explored is None else to_json(explored))  # noqa: S704 (to_json escapes "<")
    values = {"title": title, "data": data, "scripts": SCRIPTS, "limits": limits}
    return render("page.html.j2", "context_nmt.explorer", **values)


def write_explorer(path: Path, explored: Explored) -> None:
    """Write the page of an explored text, which needs no other file."""
    with replacing(path) as temporary:
        temporary.write_text(page_text(explored, title=explored.title), encoding="utf-8", newline="")


@dataclass(frozen=True)
class _Line:
    """A line of the picture."""

    label: str
    side: str  # source, target
    words: list[str]
    shares: Sequence[float]  # of the word's attention; of the sentence itself, 1 for a word in colour
    weight: float | None = None  # of a previous sentence

    @property
    def starts(self) -> list[int]:
        """The column of each word's first character."""
        return list(accumulate((len(word) + 1 for word in self.words[:-1]), initial=0))


def write_picture(path: Path, explored: Explored, word: str | None = None) -> None:
    """Draw which earlier sentences and words a word of the first run's last sentence attended to.

    The default is the sentence's first pronoun, and the module the first that attends to earlier sentences. Raise
    UserError if the sentence has no such word, or none before it, and for a run without such a module.
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
    wanted = [word.lower()] if word else explored.pronouns[earlier.own]
    place = next((place for place, one in enumerate(words) if one.lower() in wanted), None)
    if place is None:
        raise UserError(
            f"sentence {count} has no {f'word {word!r}' if word else 'pronoun'}: {' '.join(words)};"
            " choose with --word, or another sentence with --sentences"
        )
    lines = []
    for number, (weights, shares) in enumerate(zip(earlier.sentences.T, earlier.words, strict=True), earlier.first):
        seen = run.sentences[number].seen_target or run.sentences[number].target
        texts = explored.sentences[number].source if earlier.seen == "source" else seen
        lines.append(_Line(f"{count - 1 - number} back", earlier.seen, texts, shares[place].tolist(), weights[place]))
    of_sentence: list[tuple[str, Side, list[str]]] = [
        ("source", "source", sentence.source),
        ("translation", "target", translated.target),
        ("reference", "target", sentence.reference or []),
    ]
    for label, side, texts in of_sentence:
        marks = [
            index == place if texts is words else one.lower() in explored.pronouns[side]
            for index, one in enumerate(texts)
        ]
        lines.append(_Line(label, side, texts, marks))
    write_page(
        path,
        "attention.svg.j2",
        title=f"{run.name}, {explored.title}: where “{words[place]}” looks",
        lines=lines,
        languages=explored.languages,
        characters=max(len(" ".join(line.words)) for line in lines),
    )
