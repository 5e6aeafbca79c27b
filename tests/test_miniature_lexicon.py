"""Word forms are those of a grammar book; the lexicon holds what a grammar needs, and says which entry is wrong."""

from collections import Counter

import pytest

from context_nmt.files import UserError
from context_nmt.miniature.lexicon import (
    CASES,
    PATH,
    a_or_an,
    english_verb,
    german_adjective,
    german_form,
    german_nouns,
    german_verb,
    load_lexicon,
    read_lexicon,
    regular_past,
    with_s,
)

LEXICON = load_lexicon()
TEXT = PATH.read_text(encoding="utf-8")
NOUNS = [*LEXICON.nouns.values(), *LEXICON.senses.values()]
COLUMNS = [("masculine", "singular"), ("feminine", "singular"), ("neuter", "singular"), ("neuter", "plural")]


@pytest.mark.parametrize(
    ("kind", "masculine", "dative"),
    [
        ("definite", "der den dem des", "dem der dem den"),
        ("demonstrative", "dieser diesen diesem dieses", "diesem dieser diesem diesen"),
        ("indefinite", "ein einen einem eines", "einem einer einem -"),
        ("negative", "kein keinen keinem keines", "keinem keiner keinem keinen"),
        ("his", "sein seinen seinem seines", "seinem seiner seinem seinen"),
        ("her", "ihr ihren ihrem ihres", "ihrem ihrer ihrem ihren"),
        ("relative", "der den dem dessen", "dem der dem denen"),
        ("personal", "er ihn ihm seiner", "ihm ihr ihm ihnen"),
        ("strong", "er en em en", "em er em en"),
        ("weak", "e en en en", "en en en en"),
        ("mixed", "er en en en", "en en en en"),
    ],
)
def test_german_tables(kind, masculine, dative):
    assert [german_form(kind, "masculine", "singular", case) for case in CASES] == masculine.split()
    assert [german_form(kind, *column, "dative") for column in COLUMNS] == dative.split()
    for column in COLUMNS[1:]:
        assert german_form(kind, *column, "accusative") == german_form(kind, *column, "nominative")
    for case in CASES[2:]:
        assert german_form(kind, "neuter", "singular", case) == german_form(kind, "masculine", "singular", case)


def test_german_adjectives():
    cases = [("alt", "strong", "accusative"), ("müde", "weak", "nominative"), ("müde", "strong", "dative")]
    found = [german_adjective(stem, kind, "masculine", "singular", case) for stem, kind, case in cases]
    assert found == ["alten", "müde", "müdem"]


@pytest.mark.parametrize(
    ("article", "singular", "plural"),
    [
        ("der des", "Tisch Tisch Tisch Tisches", "Tische Tische Tischen Tische"),
        ("der des", "Garten Garten Garten Gartens", "Gärten Gärten Gärten Gärten"),
        ("der des", "Bauer Bauern Bauern Bauern", "Bauern Bauern Bauern Bauern"),
        ("der des", "Student Studenten Studenten Studenten", "Studenten Studenten Studenten Studenten"),
        ("der des", "Buchstabe Buchstaben Buchstaben Buchstabens", "Buchstaben Buchstaben Buchstaben Buchstaben"),
        ("der des", "Zirkus Zirkus Zirkus Zirkus", "Zirkusse Zirkusse Zirkussen Zirkusse"),
        ("der des", "Park Park Park Parks", "Parks Parks Parks Parks"),
        ("die der", "Hand Hand Hand Hand", "Hände Hände Händen Hände"),
        ("das des", "Messer Messer Messer Messers", "Messer Messer Messern Messer"),
        ("das des", "Museum Museum Museum Museums", "Museen Museen Museen Museen"),
    ],
)
def test_german_nouns(article, singular, plural):
    (nominative, *_, genitive), (first, second) = singular.split(), article.split()
    noun = german_nouns(f"{first} {nominative}, {second} {genitive}, die {plural.split()[0]}")[0]
    assert [noun.forms[case, "singular"] for case in CASES] == singular.split()
    assert [noun.forms[case, "plural"] for case in CASES] == plural.split()


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        (german_verb("kaufen, kauft, kaufte, hat gekauft"), "kauft kaufen kaufte kauften"),
        (german_verb("laden, lädt, lud, hat geladen"), "lädt laden lud luden"),
        (german_verb("sein, ist, war, ist gewesen"), "ist sind war waren"),
        (german_verb("aufmachen, macht auf, machte auf, hat aufgemacht"), "macht machen machte machten"),
        (english_verb("be, was, been"), "is are was were"),
        (english_verb("have, had"), "has have had had"),
        (english_verb("can, could"), "can can could could"),
        (english_verb("give, gave, given"), "gives give gave gave"),
        (english_verb("carry"), "carries carry carried carried"),
    ],
)
def test_verbs(verb, forms):
    keys = [(tense, number) for tense in ("present", "past") for number in ("singular", "plural")]
    assert [verb.finite[key] for key in keys] == forms.split()


@pytest.mark.parametrize(
    ("function", "words", "forms"),
    [
        (a_or_an, "table big house hotel university uniform useful European one-eyed young", "a " * 10),
        (a_or_an, "apple egg island orange umbrella uncle ugly hour honest expensive old", "an " * 11),
        (with_s, "table house bag", "tables houses bags"),
        (with_s, "box church bush dress bus waltz", "boxes churches bushes dresses buses waltzes"),
        (with_s, "lady story boy key", "ladies stories boys keys"),
        (with_s, "potato radio zoo", "potatoes radios zoos"),
        (regular_past, "open wait show visit help push", "opened waited showed visited helped pushed"),
        (regular_past, "dance agree die carry play stop", "danced agreed died carried played stopped"),
    ],
)
def test_english_spelling(function, words, forms):
    assert [function(word) for word in words.split()] == forms.split()


def test_there_are_as_many_words_as_the_corpus_needs():
    assert Counter(noun.side for noun in LEXICON.senses.values()) == {"en": 20, "de": 18}
    assert sum(len(noun.de) > 1 for noun in NOUNS) >= 6
    assert sum(len(noun.en) > 1 for noun in NOUNS) >= 5
    assert sum(verb.de.prefix != "" for verb in LEXICON.verbs.values()) >= 8
    assert {verb.frame for verb in LEXICON.verbs.values() if verb.de.auxiliary == "sein"} == {"copula", "intransitive"}
    genders = Counter(noun.de[0].gender for noun in LEXICON.nouns.values() if noun.kind != "person")
    assert all(count >= 0.28 * genders.total() for count in genders.values())


def test_both_senses_of_a_word_share_it_and_nothing_else():
    for noun in LEXICON.senses.values():
        other = LEXICON.other_sense(noun)
        assert LEXICON.other_sense(other) is noun
        assert (noun.side, noun.ambiguous_word) == (other.side, other.ambiguous_word)
        assert (noun.en == other.en, noun.de == other.de) == (noun.side == "en", noun.side == "de")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "changed", "message"),
    [
        ("en: dog, de", "en: cat, de", "nouns.cat: 'cat' is a word of dog already"),
        ("des Hundes", "der Hundes", "nouns.dog.de: 'der Hund, der Hundes, die Hunde': the articles of a masculine"),
        ("der Hund,", "den Hund,", "nouns.dog.de: the article is 'den'; it must be one of der, die, das"),
        ("der Hund, des Hundes,", "der Hund,", "nouns.dog.de: 'der Hund, die Hunde' has 2 forms; it must have 3"),
        ('"der Hund, des Hundes, die Hunde"', "5", "nouns.dog.de: 5 is not text"),
        ("dog: {kind: animal,", "dog: {kind: animal, colour: red,", "nouns.dog.colour: unknown key"),
        ("dog: {kind: animal,", "cat: {kind: animal,", "not YAML"),
        ('die Gärten", at: {en: in, de: in}}', 'die Gärten"}', "nouns.garden: `at` is for the kind 'place'"),
        (" / der Postbote, des Postboten", " / die Postbote, der Postboten", "nouns.postman.de: German synonyms"),
        ("cues: [river, stream, boat]", "cues: [river, stream]", "senses.bank_shore: needs three cues"),
        ("cues: [river, stream, boat]", "cues: [river, boat, coin]", "senses.bank_shore: needs three cues"),
        ("cues: [river, stream, boat]", "cues: [river, stream, picture]", "bank_shore: the cue 'picture' is not"),
        ("cues: [river, stream, boat]", "cues: [river, stream, rover]", "bank_shore: the cue 'rover' is not"),
        ("cues: [river, stream, boat]", "cues: [river, stream, coin]", "'coin' does not disambiguate"),
        ("adjectives: [muddy]", "adjectives: [old]", "senses.bank_shore: 'old' is not an adjective with `cue: true`"),
        ("das Ufer, des Ufers, die Ufer", "die Bank, der Bank, die Banken", "nouns.bank_money: 'Bank' is a word of"),
        ('die Birnen", of: [lamp', 'die Birner", of: [lamp', "forms tell it"),
        ('en: spring, de: "die Quelle', 'en: bank, de: "die Quelle', "'bank' has 3 senses, not two"),
        ('en: bank, de: "das', 'en: edge, de: "das', "senses.bank_shore: 'edge' has 1 senses, not two"),
        ("object: [animal]}\n  catch", "object: [beast]}\n  catch", "verbs.feed: 'beast' is not a kind of noun"),
        ("machte auf", "machte zu", "'aufmachen, macht auf, machte zu, hat aufgemacht' has two prefixes"),
        ("hat geschlafen", "war geschlafen", "verbs.sleep.de: the auxiliary is 'war'; it must be one of hat, ist"),
        ("sleep: {frame: intransitive", "sleep: {frame: transitive", "verbs.sleep: transitive verbs have an object"),
        ("en: laugh,", "en: work,", "verbs.work: 'work' is a word of laugh already"),
        ("{en: for, de: auf, case: accusative}", "{en: for}", "verbs.wait: prepositional verbs"),
        ("prepositions: [above, behind, next_to]", "prepositions: [with]", "verbs.hang: 'with' is not a two-way prepo"),
        ("prepositions: [above, behind, next_to]", "prepositions: []", "verbs.hang: `prepositions` is for positional"),
        ("de: mit, case: dative, ", "de: mit, ", "prepositions.with: needs a case"),
        ("[old, new, young]", "[old, new, aged]", "contraries: 'aged' is not an adjective"),
        ("en: ugly, de: hässlich", "en: ugly, de: schön", "adjectives.ugly: 'schön' is a word of beautiful already"),
        ("de: reich, kinds: [person]", "de: reich", "adjectives.rich: needs kinds, or `cue: true` and no kinds"),
        ("[Anna, Maria", "[Agnes, Maria", "names.0.names.0: "),
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
