"""Gold annotation of the sentences of a document, as JSON records; the corpus's README.md lists their keys."""

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
    """Yield one record per sentence of document `number`; raise ValueError for a pronoun without an antecedent."""
    last: dict[Entity, tuple[int, Part]] = {}  # the latest mention: index of its sentence, and its head
    for index, (sentence, realised_sentence) in enumerate(zip(sentences, realised, strict=True)):
        english = english_record(realised_sentence.tree)
        record: Record = {
            "document": number,
            "sentence": index,
            "en": english["en"],
            "de": {"tokens": realised_sentence.tokens("de"), "tags": [leaf.tag for leaf in realised_sentence.de]},
            "tree": english["tree"],
            "alignment": realised_sentence.alignment(),
            "pronouns": [],
            "senses": [_sense(lexicon, sentence, ambiguity, index, realised) for ambiguity in sentence.ambiguities],
            "synonyms": [],
        }
        nouns: set[Entity] = set()
        for phrase, head in realised_sentence.mentions():
            places, previous_mention = _places(realised_sentence, head), last.get(phrase.entity)
            if phrase.form != "pronoun":
                nouns.add(phrase.entity)
                if phrase.form != "name":
                    distance = None if previous_mention is None else index - previous_mention[0]
                    record["synonyms"] += _synonyms(phrase.entity.wording, places, distance)
            elif previous_mention is None:
                raise ValueError(f"a pronoun without an antecedent in: {realised_sentence.text('en')}")
            else:
                record["pronouns"].append(
                    {
                        **places,
                        "distance": index - previous_mention[0],
                        "within": phrase.entity in nouns,
                        "antecedent": {
                            "sentence": previous_mention[0],
                            **_places(realised[previous_mention[0]], previous_mention[1]),
                        },
                    }
                )
            last[phrase.entity] = (index, head)
        yield record


def english_record(tree: Node) -> Record:
    """Return tokens, tags and tree of an English sentence."""
    tree_leaves = list(leaves(tree))
    tokens = capitalized([leaf.word for leaf in tree_leaves])
    return {"en": {"tokens": tokens, "tags": [leaf.tag for leaf in tree_leaves]}, "tree": bracketed(tree, iter(tokens))}


def _places(words: Realised, part: Part) -> dict[str, int]:
    return {language: words.position(language, part) for language in LANGUAGES}


def _sense(lexicon: Lexicon, sentence: Sentence, use: Ambiguity, index: int, realised: Sequence[Realised]) -> Record:
    entity = use.phrase.entity
    noun = entity.wording.noun
    cue_sentence = index - 1 if use.position == "previous" else index
    other_wording = Wording.usual(lexicon.other_sense(noun))
    return {
        "side": noun.side,
        "word": noun.ambiguous_word,
        "sense": noun.name,
        **_places(realised[index], (use.phrase, "noun")),
        "cue": use.position,
        "cue_word": {"sentence": cue_sentence, **_places(realised[cue_sentence], use.cue)},
        "distractor": realise(sentence, {entity: other_wording}).text("de" if noun.side == "en" else "en"),
    }


def _synonyms(wording: Wording, places: Record, distance: int | None) -> Iterator[Record]:
    for side in LANGUAGES:
        lemmas, chosen = [noun.lemma for noun in getattr(wording.noun, side)], getattr(wording, side).lemma
        if len(lemmas) > 1:
            others = [lemma for lemma in lemmas if lemma != chosen]
            yield {"side": side, **places, "chosen": chosen, "others": others, "distance": distance}
