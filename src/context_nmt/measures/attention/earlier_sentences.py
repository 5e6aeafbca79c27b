"""Reads where each word of a document looked, from modules that attend to words and then to sentences."""

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
from context_nmt.measures.parts_of_speech import word_spans
from context_nmt.models.kinds.document import DocumentModel
from context_nmt.models.model import Model

Ids = NDArray[np.integer[Any]]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A previous sentence as one word sees it."""

    number: int  # in its document, from 0
    weight: float  # of the sentence; those of all that a word sees sum to 1
    words: list[float]  # the weight of each of its words; they sum to 1, or are 0 where no word is known


@dataclass(frozen=True, kw_only=True)
class Looks:
    """What the words of one sentence see through one module; nothing if it has no previous sentence."""

    module: str  # encoder_output, decoder_output
    own_side: str  # the side whose words look: source, target
    seen_side: str  # the side that they look at
    words: list[list[Seen]]  # of each word, oldest sentence first


def modules_that_show(model: Model) -> list[str]:
    """Return the names of submodules whose weights can be read; raises UserError if the model has none."""
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
    several units sees the mean of what they see, and is seen by the sum; weights are means over heads. After the
    decoder it is the word that the position produces.
    """
    names, device = modules_that_show(model), model.output.weight.device
    hooks = {name: (str(shown(model, name).earlier_words), str(shown(model, name).earlier_sentences)) for name in names}
    before, sides = np.arange(len(sources)), {"source": sources, "target": read}
    found: list[list[Looks]] = []
    with evaluating(model), recording(model, [hook for pair in hooks.values() for hook in pair]) as outputs:
        for number in range(len(sources)):
            rows, previous = with_previous(np.array([number]), before, sentences=model.sentences, reach=model.reach)
            inputs = pad([translations[number], *(read[row] for row in rows[1:])], first=BEGIN)
            ids = pad([sources[row] for row in rows], last=END), inputs, previous
            model(*(torch.from_numpy(one).to(device) for one in ids))
            found.append([])
            for name in names:
                own_side = "source" if name.startswith("encoder") else "target"
                seen_side = "source" if model.get_submodule(name).reads == "source" else "target"
                words, shares = (outputs[hook].double().mean(1) for hook in hooks[name])  # means over heads
                words, shares = words[: len(words) // len(rows)], shares[: len(shares) // len(rows), 0]  # first row's
                earlier = [
                    _Earlier(one, sides[seen_side][one], vocabularies[seen_side], begins=seen_side == "target")
                    for one in range(number - min(number, len(words)), number)
                ]
                own = (sources if own_side == "source" else translations)[number]
                spans = word_spans(_units(vocabularies[own_side], own))
                seen = [[one.seen(words, shares, slice(*span), number) for one in earlier] for span in spans]
                some = any(one.known for one in earlier)
                found[-1].append(Looks(module=name, own_side=own_side, seen_side=seen_side, words=seen if some else []))
    return found


class _Earlier:
    """A previous sentence, and where its words are among the positions that are looked at."""

    def __init__(self, number: int, ids: Ids, vocabulary: Vocabulary, *, begins: bool) -> None:
        self.number = number
        self.known = bool((ids >= len(SPECIALS)).any())  # whether it has a word that can be seen
        spans = word_spans(_units(vocabulary, ids))
        self.spans = [slice(start + begins, end + begins) for start, end in spans]  # BEGIN is first

    def seen(self, words: Tensor, shares: Tensor, queries: slice, number: int) -> Seen:
        """Return what the word of sentence `number` at `queries` sees of it; weights [k, T, S] and [T, k]."""
        back = self.number - number
        of_units = words[back, queries].mean(0)
        return Seen(
            number=self.number,
            weight=float(shares[queries, back].mean()),
            words=[float(of_units[span].sum()) if self.known else 0.0 for span in self.spans],
        )


def _units(vocabulary: Vocabulary, ids: Ids) -> list[str]:
    return [vocabulary.units[number] for number in ids.tolist()]


def words_of(vocabulary: Vocabulary, ids: Ids) -> list[str]:
    """Return the words of a sentence of units."""
    units = _units(vocabulary, ids)
    return ["".join(unit.removesuffix(JOINER) for unit in units[slice(*span)]) for span in word_spans(units)]
