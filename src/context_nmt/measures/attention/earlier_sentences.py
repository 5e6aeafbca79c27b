"""Attention of each word of a document to earlier words and sentences, from hierarchical attention modules."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from context_nmt.corpus.batching import pad
from context_nmt.corpus.previous import with_previous
from context_nmt.corpus.vocabulary import BEGIN, END, SPECIALS, Vocabulary
from context_nmt.decoding.in_batches import evaluating
from context_nmt.files import UserError
from context_nmt.measures.attention.recording import recording, shown
from context_nmt.models.kinds.document import DocumentModel
from context_nmt.models.model import Model
from context_nmt.progress import tracked

Ids = NDArray[np.integer[Any]]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The attention of one word to a previous sentence."""

    number: int  # in its document, from 0
    weight: float  # of the sentence; the weights of all sentences that a word sees sum to 1
    words: list[float]  # weights of its words; they sum to 1, or are all 0 if no word is known


@dataclass(frozen=True, kw_only=True)
class Looks:
    """The attention of one sentence's words through one module; empty without a previous sentence."""

    module: str  # encoder_output, decoder_output
    own_side: str  # the side of the attending words: source, target
    seen_side: str  # the side that they attend to
    words: list[list[Seen]]  # for each word, oldest sentence first


def modules_that_show(model: Model) -> list[str]:
    """Return the names of the submodules that expose their weights; raise UserError if the model has none."""
    names = [name for name, _ in model.named_modules()]
    modules = [name for name in names if (shows := shown(model, name)).earlier_words and shows.earlier_sentences]
    if not modules or not isinstance(model, DocumentModel):
        raise UserError(
            "this variant does not show where it looks in previous sentences; choose one with attention to"
            " sentences and words in encoder_output or decoder_output"
        )
    return modules


def looks(
    model: DocumentModel,
    sources: Sequence[Ids],
    translations: Sequence[Ids],
    read: Sequence[Ids],
    vocabularies: dict[str, Vocabulary],
) -> list[list[Looks]]:
    """Return the attention of the words of each sentence in a document to earlier sentences, by module.

    `read` has the target sides that later sentences see; the keys of `vocabularies` are `source` and `target`. The
    attention of a word is the mean over its units, the attention to a word the sum; weights are means over heads. At a
    decoder position, the attending word is the one that the position produces.
    """
    names, device = modules_that_show(model), model.output.weight.device
    hooks = {name: (str(shown(model, name).earlier_words), str(shown(model, name).earlier_sentences)) for name in names}
    before, sides = np.arange(len(sources)), {"source": sources, "target": read}
    by_sentence: list[list[Looks]] = []
    with evaluating(model), recording(model, [hook for pair in hooks.values() for hook in pair]) as outputs:
        for number in tracked(range(len(sources)), "attention", len(sources), "sentences"):
            rows, previous = with_previous(np.array([number]), before, sentences=model.sentences, reach=model.reach)
            target_inputs = pad([translations[number], *(read[row] for row in rows[1:])], first=BEGIN)
            arguments = pad([sources[row] for row in rows], last=END), target_inputs, previous
            model(*(torch.from_numpy(one).to(device) for one in arguments))
            by_sentence.append([])
            for name in names:
                own_side = "source" if name.startswith("encoder") else "target"
                seen_side = "source" if model.get_submodule(name).reads == "source" else "target"
                words, shares = (outputs[hook].double().mean(1) for hook in hooks[name])  # means over heads
                words, shares = words[: len(words) // len(rows)], shares[: len(shares) // len(rows), 0]  # first row's
                earlier = [
                    _Earlier(one, sides[seen_side][one], vocabularies[seen_side], begins=seen_side == "target")
                    for one in range(number - min(number, len(words)), number)
                ]
                own_ids = (sources if own_side == "source" else translations)[number]
                spans = vocabularies[own_side].word_spans(_units(vocabularies[own_side], own_ids))
                seen_by_word = [[one.seen(words, shares, slice(*span), number) for one in earlier] for span in spans]
                any_known = any(one.known for one in earlier)
                by_sentence[-1].append(
                    Looks(module=name, own_side=own_side, seen_side=seen_side, words=seen_by_word if any_known else [])
                )
    return by_sentence


class _Earlier:
    """A previous sentence and the positions of its words in the attention weights."""

    def __init__(self, number: int, ids: Ids, vocabulary: Vocabulary, *, begins: bool) -> None:
        self.number = number
        self.known = bool((ids >= len(SPECIALS)).any())  # whether it has any word of the vocabulary
        spans = vocabulary.word_spans(_units(vocabulary, ids))
        self.spans = [slice(start + begins, end + begins) for start, end in spans]  # BEGIN is first

    def seen(self, words: Tensor, shares: Tensor, queries: slice, number: int) -> Seen:
        """Return the attention of the word at `queries` in sentence `number`, from weights [k, T, S] and [T, k]."""
        offset = self.number - number
        word_weights = words[offset, queries].mean(0)
        return Seen(
            number=self.number,
            weight=float(shares[queries, offset].mean()),
            words=[float(word_weights[span].sum()) if self.known else 0.0 for span in self.spans],
        )


def _units(vocabulary: Vocabulary, ids: Ids) -> list[str]:
    return [vocabulary.units[number] for number in ids.tolist()]


def words_of(vocabulary: Vocabulary, ids: Ids) -> list[str]:
    """Join the units of a sentence into words."""
    return vocabulary.words(_units(vocabulary, ids))
