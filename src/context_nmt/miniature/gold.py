"""Gold knowledge about the sentences of a document, as JSON records.

A record says where a sentence stands, its Moses tokens and tags on both sides, the English constituency tree, the word
alignment, what every pronoun of the third person refers to, and for every ambiguous word and every synonym what else it
could have been. README.md of the corpus lists the keys.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from context_nmt.miniature.lexicon import Lexicon
from context_nmt.miniature.meaning import Ambiguity, Entity, Sentence, Wording
from context_nmt.miniature.realising import LANGUAGES, Realised, capitalized, realise
from context_nmt.miniature.trees import Node, Part, bracketed, leaves

Record = dict[str, Any]


def gold_records(
    lexicon: Lexicon, number: int, sentences: Sequence[Sentence], realised: Sequence[Realised]
) -> Iterator[Record]:
    """Yield one record per sentence of document `number`."""
    last: dict[Entity, tuple[int, Part]] = {}  # the nearest mention: sentence and head
    for index, (sentence, words) in enumerate(zip(sentences, realised, strict=True)):
        english = english_record(words.tree)
        record: Record = {"document": number, "sentence": index, "en": english["en"]}
        record["de"] = {"tokens": words.tokens("de"), "tags": [leaf.tag for leaf in words.german]}
        record |= {
            "tree": english["tree"],
            "alignment": words.alignment(),
            "pronouns": [],
            "senses": [_sense(lexicon, sentence, use, index, realised) for use in sentence.ambiguities],
            "synonyms": [],
        }
        nouns: set[Entity] = set()
        for phrase, head in words.mentions():
            places = {language: words.position(language, head) for language in LANGUAGES}
            before = last.get(phrase.entity)
            if phrase.form == "pronoun":
                record["pronouns"].append(_pronoun(places, index, before, phrase.entity in nouns, realised))
            else:
                nouns.add(phrase.entity)
                if phrase.form != "name":
                    distance = None if before is None else index - before[0]
                    record["synonyms"] += _synonyms(phrase.entity.wording, places, distance)
            last[phrase.entity] = (index, head)
        yield record


def english_record(tree: Node) -> Record:
    """Tokens, tags and tree of an English sentence."""
    found = list(leaves(tree))
    tokens = capitalized([leaf.word for leaf in found])
    return {"en": {"tokens": tokens, "tags": [leaf.tag for leaf in found]}, "tree": bracketed(tree, iter(tokens))}


def _pronoun(
    places: Record, index: int, before: tuple[int, Part] | None, within: bool, realised: Sequence[Realised]
) -> Record:
    if before is None:
        raise ValueError(f"a pronoun without an antecedent in: {realised[index].text('en')}")
    sentence, head = before
    antecedent = {language: realised[sentence].position(language, head) for language in LANGUAGES}
    return {
        **places,
        "distance": index - sentence,
        "within": within,
        "antecedent": {"sentence": sentence, **antecedent},
    }


def other_sense(lexicon: Lexicon, wording: Wording) -> Wording:
    """What an ambiguous noun means in its other sense."""
    assert wording.noun.sense is not None
    return Wording.usual(lexicon.senses[wording.noun.sense.other])


def _sense(lexicon: Lexicon, sentence: Sentence, use: Ambiguity, index: int, realised: Sequence[Realised]) -> Record:
    entity = use.phrase.entity
    noun = entity.wording.noun
    assert noun.sense is not None
    target = "de" if noun.sense.side == "en" else "en"
    cue_sentence = index - 1 if use.position == "previous" else index
    return {
        "side": noun.sense.side,
        "word": noun.sense.word,
        "sense": noun.name,
        **{language: realised[index].position(language, (use.phrase, "noun")) for language in LANGUAGES},
        "cue": use.position,
        "cue_word": {
            "sentence": cue_sentence,
            **{language: realised[cue_sentence].position(language, use.cue) for language in LANGUAGES},
        },
        "distractor": realise(sentence, {entity: other_sense(lexicon, entity.wording)}).text(target),
    }


def _synonyms(wording: Wording, places: Record, distance: int | None) -> Iterator[Record]:
    english = [noun.singular for noun in wording.noun.english]
    german = [noun.lemma for noun in wording.noun.german]
    for side, chosen, words in (("en", wording.english.singular, english), ("de", wording.german.lemma, german)):
        if len(words) > 1:
            others = [word for word in words if word != chosen]
            yield {"side": side, **places, "chosen": chosen, "others": others, "distance": distance}
