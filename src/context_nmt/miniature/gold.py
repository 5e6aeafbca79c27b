"""Gold knowledge about the sentences of a document, as JSON records; README.md of the corpus lists their keys."""

from collections.abc import Iterator, Sequence
from typing import Any

from context_nmt.miniature.grammar import Node, bracketed, leaves
from context_nmt.miniature.lexicon import Lexicon
from context_nmt.miniature.meaning import Ambiguity, Entity, Part, Sentence, Wording
from context_nmt.miniature.realising import Realised, capitalized, realise
from context_nmt.miniature.words import LANGUAGES

Record = dict[str, Any]


def gold_records(
    lexicon: Lexicon, number: int, sentences: Sequence[Sentence], realised: Sequence[Realised]
) -> Iterator[Record]:
    """Yield one record per sentence of document `number`; raises ValueError for a pronoun without an antecedent."""
    last: dict[Entity, tuple[int, Part]] = {}  # the nearest mention: sentence and head
    for index, (sentence, words) in enumerate(zip(sentences, realised, strict=True)):
        english = english_record(words.tree)
        record: Record = {
            "document": number,
            "sentence": index,
            "en": english["en"],
            "de": {"tokens": words.tokens("de"), "tags": [leaf.tag for leaf in words.de]},
            "tree": english["tree"],
            "alignment": words.alignment(),
            "pronouns": [],
            "senses": [_sense(lexicon, sentence, use, index, realised) for use in sentence.ambiguities],
            "synonyms": [],
        }
        nouns: set[Entity] = set()
        for phrase, head in words.mentions():
            places, before = _places(words, head), last.get(phrase.entity)
            if phrase.form != "pronoun":
                nouns.add(phrase.entity)
                if phrase.form != "name":
                    distance = None if before is None else index - before[0]
                    record["synonyms"] += _synonyms(phrase.entity.wording, places, distance)
            elif before is None:
                raise ValueError(f"a pronoun without an antecedent in: {words.text('en')}")
            else:
                record["pronouns"].append(
                    {
                        **places,
                        "distance": index - before[0],
                        "within": phrase.entity in nouns,
                        "antecedent": {"sentence": before[0], **_places(realised[before[0]], before[1])},
                    }
                )
            last[phrase.entity] = (index, head)
        yield record


def english_record(tree: Node) -> Record:
    """Return tokens, tags and tree of an English sentence."""
    found = list(leaves(tree))
    tokens = capitalized([leaf.word for leaf in found])
    return {"en": {"tokens": tokens, "tags": [leaf.tag for leaf in found]}, "tree": bracketed(tree, iter(tokens))}


def _places(words: Realised, part: Part) -> dict[str, int]:
    return {language: words.position(language, part) for language in LANGUAGES}


def _sense(lexicon: Lexicon, sentence: Sentence, use: Ambiguity, index: int, realised: Sequence[Realised]) -> Record:
    entity = use.phrase.entity
    noun = entity.wording.noun
    cue_sentence = index - 1 if use.position == "previous" else index
    other = Wording.usual(lexicon.other_sense(noun))
    return {
        "side": noun.side,
        "word": noun.ambiguous_word,
        "sense": noun.name,
        **_places(realised[index], (use.phrase, "noun")),
        "cue": use.position,
        "cue_word": {"sentence": cue_sentence, **_places(realised[cue_sentence], use.cue)},
        "distractor": realise(sentence, {entity: other}).text("de" if noun.side == "en" else "en"),
    }


def _synonyms(wording: Wording, places: Record, distance: int | None) -> Iterator[Record]:
    for side in LANGUAGES:
        words, chosen = [noun.lemma for noun in getattr(wording.noun, side)], getattr(wording, side).lemma
        if len(words) > 1:
            others = [word for word in words if word != chosen]
            yield {"side": side, **places, "chosen": chosen, "others": others, "distance": distance}
