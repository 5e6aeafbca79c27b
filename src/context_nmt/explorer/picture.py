"""Draw which earlier sentences and words one word of a sentence attended to."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from context_nmt.explorer.data import Explored
from context_nmt.files import UserError
from context_nmt.report.formats import write_page


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
    """Draw a word of the first run's last sentence, by its first module that attends to earlier sentences.

    The default is the sentence's first pronoun. Raise UserError if the sentence has no such word, or none before it,
    and for a run without such a module.
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
    texts_of_sentence = {
        "source": ("source", sentence.source),
        "translation": ("target", translated.target),
        "reference": ("target", sentence.reference or []),
    }
    for label, (side, texts) in texts_of_sentence.items():
        pronouns = explored.pronouns["source" if side == "source" else "target"]
        marks = [index == place if texts is words else one.lower() in pronouns for index, one in enumerate(texts)]
        lines.append(_Line(label, side, texts, marks))
    write_page(
        path,
        "attention.svg.j2",
        title=f"{run.name}, {explored.title}: where “{words[place]}” looks",
        lines=lines,
        languages=explored.languages,
        characters=max(len(" ".join(line.words)) for line in lines),
    )
