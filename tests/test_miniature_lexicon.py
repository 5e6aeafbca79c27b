"""Word forms match a grammar book; the lexicon has the words that the grammars need, and errors name the entry."""

from collections import Counter
from pathlib import Path
from typing import get_args

import pytest
from measured import assert_golden

from context_nmt.files import UserError, read_yaml
from context_nmt.miniature.lexicon import (
    CASES,
    PATH,
    TABLES,
    WithObject,
    a_or_an,
    add_s,
    english_nouns,
    english_verb,
    german_adjective,
    german_form,
    german_nouns,
    german_verb,
    load_lexicon,
    read_lexicon,
)

LEXICON = load_lexicon()
TEXT = PATH.read_text(encoding="utf-8")
NOUNS = [*LEXICON.nouns.values(), *LEXICON.senses.values()]
COLUMNS = [("masculine", "singular"), ("feminine", "singular"), ("neuter", "singular"), ("neuter", "plural")]


NOUNS_OF_TYPES = (
    "der Tisch, des Tisches, die Tische / der Garten, des Gartens, die Gärten / der Bauer, des Bauern, die Bauern"
    " / der Student, des Studenten, die Studenten / der Buchstabe, des Buchstabens, die Buchstaben"
    " / der Zirkus, des Zirkus, die Zirkusse / der Park, des Parks, die Parks",
    "die Hand, der Hand, die Hände",
    "das Messer, des Messers, die Messer / das Museum, des Museums, die Museen",
)
GERMAN_VERBS = (
    "kaufen, kauft, kaufte, hat gekauft",
    "laden, lädt, lud, hat geladen",
    "sein, ist, war, ist gewesen",
    "aufmachen, macht auf, machte auf, hat aufgemacht",
)
ENGLISH_VERBS = ("be, was, been", "have, had", "can, could", "give, gave, given", "carry, carried")
SPELT = (
    (a_or_an, "table big house hotel university uniform useful European one-eyed young"),
    (a_or_an, "apple egg island orange umbrella uncle ugly hour honest expensive old"),
    (add_s, "table house bag box church bush dress bus waltz lady story boy key potato radio zoo"),
)


def test_words_have_the_forms_of_a_grammar_book():
    lines = [
        f"{kind} {gender} {number}: {' '.join(german_form(kind, gender, number, case) for case in CASES)}"
        for kind in (*TABLES["words"], *TABLES["endings"])
        for gender, number in COLUMNS
    ]
    for stem in ("alt", "müde"):
        forms = (german_adjective(stem, kind, *COLUMNS[0], case) for kind in TABLES["endings"] for case in CASES)
        lines.append(f"{stem}: {' '.join(forms)}")
    for noun in (noun for text in NOUNS_OF_TYPES for noun in german_nouns(text)):
        lines.append(f"{noun.lemma}, {noun.gender}: {' '.join(noun.forms.values())}")
    for noun in english_nouns("knife, knives / bike"):
        lines.append(f"{noun.lemma}: {' '.join(noun.forms.values())}")
    for verb in (*map(german_verb, GERMAN_VERBS), *map(english_verb, ENGLISH_VERBS)):
        rest = " ".join(filter(None, (verb.participle, verb.prefix, verb.auxiliary)))
        lines.append(f"{verb.lemma}: {' '.join(verb.finite.values())}; {rest}")
    lines += [f"{function.__name__}: {' '.join(map(function, words.split()))}" for function, words in SPELT]
    assert_golden("".join(f"{line}\n" for line in lines), "lexicon-forms.txt")


def test_there_are_as_many_words_as_the_corpus_needs():
    assert Counter(noun.side for noun in LEXICON.senses.values()) == {"en": 20, "de": 18}
    assert sum(len(noun.de) > 1 for noun in NOUNS) >= 6
    assert sum(len(noun.en) > 1 for noun in NOUNS) >= 5
    genders = Counter(noun.de[0].gender for noun in LEXICON.nouns.values() if noun.kind != "person")
    assert all(count >= 0.28 * genders.total() for count in genders.values())


def test_both_senses_of_a_word_share_it_and_nothing_else():
    for noun in LEXICON.senses.values():
        other = LEXICON.other_sense(noun)
        assert LEXICON.other_sense(other) is noun
        words = [(sense.side, sense.ambiguous_word) for sense in LEXICON.senses.values()]
        assert words.count((noun.side, noun.ambiguous_word)) == 2, noun.name
        assert (noun.side, noun.ambiguous_word) == (other.side, other.ambiguous_word)
        assert (noun.en == other.en, noun.de == other.de) == (noun.side == "en", noun.side == "de"), noun.name
        assert len(noun.cues) > 2, noun.name
        assert len(noun.of) > 1, noun.name
        assert set(noun.of) <= set(noun.cues), noun.name
        assert {*noun.cues, *noun.adjectives}.isdisjoint({*other.cues, *other.adjectives}), noun.name
        cues = [LEXICON.nouns[cue] for cue in noun.cues]
        assert all(len(cue.en) == len(cue.de) == 1 for cue in cues), noun.name  # no synonyms
        assert all(LEXICON.adjectives[name].cue for name in noun.adjectives), noun.name


def test_verbs_adjectives_and_prepositions_go_with_existing_kinds_of_nouns():
    kinds = {noun.kind for noun in NOUNS}
    for verb in LEXICON.verbs.values():
        assert kinds.issuperset(verb.subject + verb.object), verb.name
        assert bool(verb.object) == (verb.frame in get_args(WithObject)), verb.name
        assert bool(verb.prepositions) == (verb.frame in ("positional", "directional")), verb.name
        assert {LEXICON.prepositions[name].case for name in verb.prepositions} <= {"two-way"}, verb.name
        preposition = verb.preposition
        assert bool(preposition.en and preposition.de and preposition.case) == (verb.frame == "prepositional"), (
            verb.name
        )
    for preposition in LEXICON.prepositions.values():
        assert preposition.case, preposition.name
        assert preposition.kinds, preposition.name
        assert kinds.issuperset(preposition.kinds), preposition.name
    for adjective in LEXICON.adjectives.values():
        assert adjective.cue != bool(adjective.kinds), adjective.name
        assert kinds.issuperset(adjective.kinds), adjective.name
    assert LEXICON.adjectives.keys() >= {name for group in LEXICON.contraries for name in group}
    assert [noun.name for noun in NOUNS if (noun.at is None) == (noun.kind == "place")] == []


SECTIONS = ("verbs", "adjectives", "adverbs", "subordinators", "conjunctions", "numerals", "prepositions")


@pytest.mark.parametrize("entries", [NOUNS, *(getattr(LEXICON, name).values() for name in SECTIONS)])
@pytest.mark.parametrize("side", ["en", "de"])
def test_a_word_has_one_entry_unless_it_is_ambiguous(entries, side):
    holders = {}
    for entry in entries:
        words = getattr(entry, side)
        for word in words if isinstance(words, tuple) else [words]:
            first = holders.setdefault(getattr(word, "lemma", word), entry)
            assert first is entry or first.side == entry.side == side, entry.name


@pytest.mark.slow
@pytest.mark.parametrize(("line", "changed", "message"), read_yaml(Path(__file__).with_name("wrong_lexicon.yaml")))
def test_an_error_names_the_file_and_the_entry(tmp_path, line, changed, message):
    path = tmp_path / "lexicon.yaml"
    assert line in TEXT
    path.write_text(TEXT.replace(line, changed), encoding="utf-8")
    with pytest.raises(UserError) as error:
        read_lexicon(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
