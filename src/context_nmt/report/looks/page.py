"""The page of a translated document: one HTML file without scripts, pictures or anything from elsewhere."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from context_nmt.files import read_lines
from context_nmt.measures.attention.earlier_sentences import Looks, Seen
from context_nmt.measures.discourse.word_accuracy import PRONOUNS

STYLE = Path(__file__).with_name("page.css")
SHOWN = 0.01  # the least weight of a word that is marked
TITLES = {
    "encoder_output": "Behind the encoder: where each source word looked",
    "decoder_output": "Behind the decoder: where the model looked as it produced each word",
}


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A translated sentence and where its words looked."""

    line: int  # of the test set, from 1
    source: list[str]
    translation: list[str]
    reference: list[str]
    seen_target: list[str]  # what later sentences see of its target side
    looks: list[Looks]

    def side(self, name: str) -> list[str]:
        """The words that later sentences see."""
        return self.source if name == "source" else self.seen_target


def page(title: str, sentences: list[Sentence], languages: dict[str, str], *, oracle: bool) -> Iterator[str]:
    """Yield the lines of the page; languages are those of `source` and `target`."""
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(title)}</title>"
    yield from ("<style>", *read_lines(STYLE), "</style></head><body>")
    yield f"<h1>{escape(title)}</h1>"
    yield (
        "<p>Each word has a bar for each sentence before, the oldest first, and says which it looked at most and at"
        " which word there. Pronouns are open; a click opens any other word. In an open word, every previous sentence"
        f" has its share, and its words have theirs within it, in per cent, from {SHOWN:.0%} on. Shares are means over"
        " heads; a word of several units has the mean of what they see, and is seen by their sum.</p>"
    )
    if oracle:
        yield "<p>On the target side, the sentences before are the reference's (decoding.reference_context).</p>"
    for number, sentence in enumerate(sentences, start=1):
        yield f'<section id="sentence-{number}"><h2>{number} <small>line {sentence.line}</small></h2><dl>'
        for name, words, side in (
            ("source", sentence.source, "source"),
            ("translation", sentence.translation, "target"),
            ("reference", sentence.reference, "target"),
        ):
            yield f'<dt>{name}</dt><dd lang="{escape(languages[side])}">{escape(" ".join(words))}</dd>'
        yield "</dl>"
        for looks in sentence.looks:
            yield from _looks(looks, number, sentences, languages)
        yield "</section>"
    yield "</body></html>"


def _looks(looks: Looks, number: int, sentences: list[Sentence], languages: dict[str, str]) -> Iterator[str]:
    yield f"<h3>{escape(TITLES.get(looks.module, looks.module))}</h3>"
    if not looks.words:
        yield '<p class="nothing">No word stands before it.</p>'
        return
    pronouns = PRONOUNS.get(languages[looks.of], "").split()
    own = sentences[number - 1]
    words = own.source if looks.of == "source" else own.translation
    yield '<div class="words">'
    for word, seen in zip(words, looks.words, strict=True):
        most = max(seen, key=lambda one: one.weight)
        there = sentences[most.number].side(looks.at)
        place = max(range(len(there)), key=lambda place: most.words[place], default=None)
        best = "" if place is None else f" · {escape(there[place])}"
        yield f"<details{' open' if word.lower() in pronouns else ''}><summary>"
        yield f'<b lang="{escape(languages[looks.of])}">{escape(word)}</b> {_bars(seen)}'
        yield f'<span class="most">{_before(number, most)}{best}</span></summary>'
        for one in seen:
            yield from _seen(one, number, sentences[one.number].side(looks.at), languages[looks.at])
        yield "</details>"
    yield "</div>"


def _bars(seen: list[Seen]) -> str:
    """A bar for each sentence; its height is its share."""
    return (
        f'<span class="bars" aria-hidden="true">{"".join(f"<i style=--w:{one.weight:.3f}></i>" for one in seen)}</span>'
    )


def _seen(one: Seen, number: int, words: list[str], language: str) -> Iterator[str]:
    """A previous sentence with its share and those of its words."""
    yield f'<div class="seen"><a href="#sentence-{one.number + 1}">{_before(number, one)}</a>'
    yield f'<span class="share" style="--w:{one.weight:.3f}"></span><p lang="{escape(language)}">'
    for word, weight in zip(words, one.words, strict=True):
        if weight < SHOWN:
            yield escape(word)
        else:
            style = f'style="--w:{weight:.3f}" title="{100 * weight:.1f}% of this sentence"'
            yield f'<span class="word" {style}>{escape(word)}<sub>{100 * weight:.0f}</sub></span>'
    yield "</p></div>"


def _before(number: int, one: Seen) -> str:
    return f"{number - 1 - one.number} before {one.weight:.0%}"
