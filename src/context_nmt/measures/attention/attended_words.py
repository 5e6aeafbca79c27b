"""The source words that a target word looks at most (Ding et al. 2020, table 1)."""

from dataclasses import dataclass

import torch

from context_nmt.corpus.vocabulary import END, PADDING, SPECIALS
from context_nmt.files import UserError
from context_nmt.measures.attention.recording import Analysed, attentions, recorded


@dataclass(frozen=True, kw_only=True)
class Attended:
    """The cross-attention of one target word, largest weights first."""

    translation: list[str]  # the words that the decoder produced: of an autoregressive model, the reference
    words: list[tuple[str, float]]  # source words and the end of the sentence, </s>; empty without the target word


def attended_words(analysed: Analysed, sentence: int, word: str) -> Attended:
    """Return the weights of the source words for the first `word` of a translation; case does not count.

    The sentence is numbered from 0. Weights are means over heads and layers, and over the units of the target word;
    that of a source word is the sum over its units. See `recorded` for what is translated. Raise UserError for a model
    with a cross-attention that does not show its weights.
    """
    model, corpus = analysed.model, analysed.corpus
    cross_attentions = [attention for attention in attentions(model) if attention.place == "cross"]
    names = [name for attention in cross_attentions for name in attention.shows.weights]
    if len(names) != len(cross_attentions):
        raise UserError("this variant does not show the weights of its cross-attention")
    (batch,) = recorded(analysed, names, sentence)
    weights = torch.stack([batch.outputs[name][0].double().mean(0) for name in names]).mean(0)  # [T, S]
    produced = batch.produced[0].tolist()
    places = [place for place, unit in enumerate(produced) if unit not in (END, PADDING)]
    target_vocabulary, source_vocabulary = corpus.target_vocabulary, corpus.source_vocabulary
    units = [target_vocabulary.units[produced[place]] for place in places]
    translation = target_vocabulary.words(produced[place] for place in places)
    found = next((number for number, one in enumerate(translation) if one.lower() == word.lower()), None)
    if found is None:
        return Attended(translation=translation, words=[])
    start, end = target_vocabulary.word_spans(units)[found]
    row = weights[places[start:end]].mean(0)
    source = corpus.side(analysed.test, corpus.source)[sentence].tolist()
    spans = source_vocabulary.word_spans([source_vocabulary.units[unit] for unit in source])
    words = [*source_vocabulary.words(source), SPECIALS[END]]
    shares = [float(row[slice(*span)].sum()) for span in (*spans, (len(source), len(source) + 1))]
    ranked = sorted(zip(words, shares, strict=True), key=lambda word: -word[1])
    return Attended(translation=translation, words=ranked)
