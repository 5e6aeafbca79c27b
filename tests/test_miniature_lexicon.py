"""The lexicon of the miniature corpus holds what a grammar needs, and says which entry is wrong."""

from collections import Counter

import pytest

from context_nmt.files import UserError
from context_nmt.miniature.lexicon import PATH, load_lexicon, read_lexicon

LEXICON = load_lexicon()
TEXT = PATH.read_text(encoding="utf-8")
NOUNS = [*LEXICON.nouns.values(), *LEXICON.senses.values()]


def test_there_are_as_many_words_as_the_corpus_needs():
    assert Counter(noun.side for noun in LEXICON.senses.values()) == {"en": 20, "de": 18}
    assert sum(len(noun.de) > 1 for noun in NOUNS) >= 6
    assert sum(len(noun.en) > 1 for noun in NOUNS) >= 5
    assert sum(verb.de.prefix != "" for verb in LEXICON.verbs.values()) >= 8
    assert {verb.frame for verb in LEXICON.verbs.values() if verb.de.auxiliary == "sein"} == {"copula", "intransitive"}


def test_the_german_genders_of_things_are_balanced():
    genders = Counter(noun.de[0].gender for noun in LEXICON.nouns.values() if noun.kind != "person")
    assert all(count >= 0.28 * genders.total() for count in genders.values())


@pytest.mark.parametrize("name", LEXICON.senses)
def test_both_senses_of_a_word_share_it_and_nothing_else(name):
    noun = LEXICON.senses[name]
    other = LEXICON.other_sense(noun)
    assert LEXICON.other_sense(other) is noun
    assert (noun.side, noun.ambiguous_word) == (other.side, other.ambiguous_word)
    assert (noun.en == other.en, noun.de == other.de) == (noun.side == "en", noun.side == "de")


def test_a_noun_has_all_forms():
    tables = {word.lemma: word for noun in NOUNS for word in noun.de}
    assert tables["Bauer"].forms["accusative", "singular"] == "Bauern"
    assert tables["Buch"].forms["dative", "plural"] == "Büchern"
    assert [word.lemma for word in LEXICON.nouns["bicycle"].de] == ["Fahrrad", "Rad"]
    assert [word.forms["plural"] for word in LEXICON.nouns["bicycle"].en] == ["bicycles", "bikes"]
    assert LEXICON.nouns["knife"].en[0].forms["plural"] == "knives"
    assert [LEXICON.nouns[name].gender for name in ("woman", "table")] == ["feminine", "neuter"]


def test_a_verb_has_all_forms():
    opening, giving, calling = (LEXICON.verbs[name] for name in ("open", "give", "call"))
    assert (opening.de.prefix, opening.de.lemma, opening.de.participle) == ("auf", "aufmachen", "aufgemacht")
    assert calling.de.finite["past", "plural"] == "riefen"
    assert (giving.en.participle, giving.en.finite["past", "singular"]) == ("given", "gave")
    assert (opening.en.participle, LEXICON.verbs["buy"].en.participle) == ("opened", "bought")
    assert {name: LEXICON.verbs[name].marker for name in ("can", "want", "have")} == {
        "can": "",
        "want": "to",
        "have": "to",
    }


def test_the_object_takes_the_case_of_its_frame():
    cases = {name: LEXICON.verbs[name].case for name in ("buy", "help", "wait", "dream", "give", "sleep")}
    assert list(cases.values()) == ["accusative", "dative", "accusative", "dative", "accusative", ""]


def test_names_are_declined():
    found = {name.en: list(name.de.values()) for names in LEXICON.names for name in names.declined()}
    assert found["Anna"] == ["Anna", "Anna", "Anna", "Annas"]
    assert found["Mr. Weber"] == ["Herr Weber", "Herrn Weber", "Herrn Weber", "Herrn Webers"]
    assert found["Mrs. Weber"][-1] == "Frau Webers"


def test_groups_are_kinds_in_the_end_and_switches_of_yaml_are_words():
    assert {"person", "animal", "furniture", "landscape", "place"} <= set(LEXICON.verbs["see"].object)
    assert "person" not in LEXICON.verbs["buy"].object
    assert LEXICON.prepositions["on"].en == "on"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "changed", "message"),
    [
        ("en: dog, de", "en: cat, de", "nouns.cat: 'cat' is a word of dog already"),
        (
            "des Hundes",
            "der Hundes",
            "nouns.dog.de: 'der Hund, der Hundes, die Hunde': the articles of a masculine noun",
        ),
        ("der Hund, des Hundes,", "der Hund,", "nouns.dog.de: 'der Hund, die Hunde' has 2 forms; it must have 3"),
        ('"der Hund, des Hundes, die Hunde"', "5", "nouns.dog.de: 5 is not text"),
        ("dog: {kind: animal,", "dog: {kind: animal, colour: red,", "nouns.dog.colour: unknown key"),
        ('Gärten", at: {', 'Gärten", at: {fr: dans, ', "nouns.garden.at.fr: unknown key"),
        ("dog: {kind: animal,", "dog: {", "nouns.dog.kind: this key is required"),
        ("dog: {kind: animal,", "cat: {kind: animal,", "not YAML"),
        ("gender: masculine, en: boy", "gender: male, en: boy", "nouns.boy.gender: "),
        ('die Gärten", at: {en: in, de: in}}', 'die Gärten"}', "nouns.garden: `at` is for the kind 'place'"),
        (" / der Postbote, des Postboten", " / die Postbote, der Postboten", "nouns.postman.de: German synonyms"),
        ("cues: [river, stream, boat]", "cues: [river, stream]", "senses.bank_shore: needs three cues"),
        ("cues: [river, stream, boat]", "cues: [river, boat, coin]", "senses.bank_shore: needs three cues"),
        (
            "cues: [river, stream, boat]",
            "cues: [river, stream, picture]",
            "senses.bank_shore: the cue 'picture' is not",
        ),
        ("cues: [river, stream, boat]", "cues: [river, stream, coin]", "'coin' does not disambiguate"),
        ("adjectives: [muddy]", "adjectives: [old]", "senses.bank_shore: 'old' is not an adjective with `cue: true`"),
        ("das Ufer, des Ufers, die Ufer", "die Bank, der Bank, die Banken", "nouns.bank_money: 'Bank' is a word of"),
        ('die Birnen", of: [lamp', 'die Birner", of: [lamp', "forms tell it"),
        ('en: spring, de: "die Quelle', 'en: bank, de: "die Quelle', "'bank' has 3 senses, not two"),
        ('en: bank, de: "das', 'en: edge, de: "das', "senses.bank_shore: 'edge' has 1 senses, not two"),
        (
            "object: [animal]}\n  catch",
            "object: [beast]}\n  catch",
            "verbs.feed: 'beast' is not a kind of noun",
        ),
        (
            "machte auf",
            "machte zu",
            "verbs.open.de: 'aufmachen, macht auf, machte zu, hat aufgemacht' has two prefixes",
        ),
        ("hat geschlafen", "war geschlafen", "verbs.sleep.de: the auxiliary is 'war'; it must be one of hat, ist"),
        ("sleep: {frame: intransitive", "sleep: {frame: transitive", "verbs.sleep: transitive verbs have an object"),
        ("sleep: {frame: intransitive", "sleep: {frame: verbal", "verbs.sleep.frame: "),
        ("en: laugh,", "en: work,", "verbs.work: 'work' is a word of laugh already"),
        ("{en: for, de: auf, case: accusative}", "{en: for}", "verbs.wait: prepositional verbs"),
        ("prepositions: [above, behind, next_to]", "prepositions: [with]", "verbs.hang: 'with' is not a two-way prepo"),
        ("prepositions: [above, behind, next_to]", "prepositions: []", "verbs.hang: `prepositions` is for positional"),
        ("de: mit, case: dative, ", "de: mit, ", "prepositions.with: needs a case"),
        ("[old, new, young]", "[old, new, aged]", "contraries: 'aged' is not an adjective"),
        ("en: ugly, de: hässlich", "en: ugly, de: schön", "adjectives.ugly: 'schön' is a word of beautiful already"),
        ("de: undicht, cue: true", "de: undicht, cue: often", "adjectives.leaky.cue: "),
        ("de: reich, kinds: [person]", "de: reich", "adjectives.rich: needs kinds, or `cue: true` and no kinds"),
        ("de: gestern, tenses: [past]", "de: gestern, tenses: [perfect]", "adverbs.yesterday.tenses.0: "),
        ("[Anna, Maria", "[Agnes, Maria", "names.0.names.0: "),
        ("numerals:", "numbers:", "numbers: unknown key; did you mean 'numerals'"),
        ("groups:", "groups: {", "not YAML"),
    ],
)
def test_an_error_names_the_file_and_the_entry(tmp_path, line, changed, message):
    path = tmp_path / "lexicon.yaml"
    assert line in TEXT
    path.write_text(TEXT.replace(line, changed), encoding="utf-8")
    with pytest.raises(UserError) as error:
        read_lexicon(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
