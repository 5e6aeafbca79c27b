"""Reads where each word of a document looked, off modules that attend to words and then to sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from context_nmt.corpus.batching import pad
from context_nmt.corpus.previous import with_previous
from context_nmt.corpus.vocabulary import BEGIN, END, JOINER, SPECIALS, Vocabulary
from context_nmt.decoding.in_batches import evaluating
from context_nmt.files import UserError
from context_nmt.measures.attention.recording import recording, shown
from context_nmt.models.kinds.document import DocumentModel
from context_nmt.models.model import Model

Ids = NDArray[np.integer[Any]]
Span = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A previous sentence as one word sees it."""

    number: int  # in its document, from 0
    weight: float  # of the sentence; those of all that a word sees sum to 1
    words: list[float]  # the weight of each of its words; they sum to 1, or are 0 where no word is known


@dataclass(frozen=True, kw_only=True)
class Looks:
    """What the words of one sentence see through one module; nothing where no sentence stands before."""

    module: str  # encoder_output, decoder_output
    of: str  # the side whose words look: source, target
    at: str  # the side that they look at
    words: list[list[Seen]]  # of each word, oldest sentence first


def modules_that_show(model: Model) -> list[str]:
    """The names of submodules whose weights can be read; raises UserError where there is none."""
    names = [name for name, _ in model.named_modules()]
    found = [name for name in names if (one := shown(model, name)).earlier_words and one.earlier_sentences]
    if not found or not isinstance(model, DocumentModel):
        raise UserError(
            "nothing in this variant shows where it looks in previous sentences; give one with attention to"
            " sentences and words in encoder_output or decoder_output"
        )
    return found


def looks(
    model: DocumentModel,
    sources: Sequence[Ids],
    translations: Sequence[Ids],
    read: Sequence[Ids],
    vocabularies: dict[str, Vocabulary],
) -> list[list[Looks]]:
    """Return what the words of each sentence of a document see, through each module.

    `read` has the target sides that later sentences see; vocabularies are those of `source` and `target`. A word of
    several units sees the mean of what they see, and is seen by the sum; weights are means over heads. Behind the
    decoder it is the word that the position produces.
    """
    names, device = modules_that_show(model), model.output.weight.device
    before, found = np.arange(len(sources)), []
    sides = {"source": sources, "target": read}
    hooks = {name: (str(shown(model, name).earlier_words), str(shown(model, name).earlier_sentences)) for name in names}
    with evaluating(model), recording(model, [hook for pair in hooks.values() for hook in pair]) as outputs:
        for number in range(len(sources)):
            rows, previous = with_previous(np.array([number]), before, sentences=model.sentences, reach=model.reach)
            inputs = pad([translations[number], *(read[row] for row in rows[1:])], first=BEGIN)
            ids = pad([sources[row] for row in rows], last=END), inputs, previous
            model(*(torch.from_numpy(one).to(device) for one in ids))
            of_sentence = []
            for name in names:
                of = "source" if name.startswith("encoder") else "target"
                at = "source" if model.get_submodule(name).of == "source" else "target"
                words, shares = _of_first(outputs[hooks[name][0]], outputs[hooks[name][1]], len(rows))
                before_it = range(number - min(number, words.size(0)), number)
                there = [Previous.of(one, sides[at][one], vocabularies[at], begin=at == "target") for one in before_it]
                own = word_spans(vocabularies[of], (sources if of == "source" else translations)[number])
                seen = [[one.seen(words, shares, span, number) for one in there] for span in own]
                some = any(one.known for one in there)
                of_sentence.append(Looks(module=name, of=of, at=at, words=seen if some else []))
            found.append(of_sentence)
    return found


@dataclass(frozen=True)
class Previous:
    """Where the words of a previous sentence stand."""

    number: int
    known: bool  # whether it has a word that can be seen
    spans: list[Span]  # of its words among the positions that are looked at

    @classmethod
    def of(cls, number: int, ids: Ids, vocabulary: Vocabulary, *, begin: bool) -> "Previous":
        """A target side is read behind BEGIN."""
        spans = [(start + begin, stop + begin) for start, stop in word_spans(vocabulary, ids)]
        return cls(number, bool((ids >= len(SPECIALS)).any()), spans)

    def seen(self, words: Tensor, shares: Tensor, span: Span, number: int) -> Seen:
        """What the word of sentence `number` at `span` sees of it; weights [k, T, S] and [T, k]."""
        queries, back = slice(*span), self.number - number
        of_units = words[back, queries].mean(0)
        return Seen(
            number=self.number,
            weight=float(shares[queries, back].mean()),
            words=[float(of_units[start:stop].sum()) if self.known else 0.0 for start, stop in self.spans],
        )


def _of_first(words: Tensor, sentences: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """Weights [rows * k, H, T, S] and [rows * T, H, 1, k] -> those of the first row, [k, T, S] and [T, k]."""
    of_words, of_sentences = words[: len(words) // rows], sentences[: len(sentences) // rows]
    return of_words.double().mean(1), of_sentences.double().mean(1)[:, 0]


def word_spans(vocabulary: Vocabulary, ids: Ids) -> list[Span]:
    """Where the words of a sentence of units begin and end."""
    units = [vocabulary.units[number] for number in ids.tolist()]
    ends = [place for place, unit in enumerate(units, start=1) if not unit.endswith(JOINER) or place == len(units)]
    return list(zip([0, *ends], ends, strict=False))


def words_of(vocabulary: Vocabulary, ids: Ids) -> list[str]:
    """The words of a sentence of units."""
    units = [vocabulary.units[number] for number in ids.tolist()]
    return ["".join(unit.removesuffix(JOINER) for unit in units[slice(*span)]) for span in word_spans(vocabulary, ids)]
