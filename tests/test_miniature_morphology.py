"""Word forms are those of a grammar book."""

import pytest

from context_nmt.miniature import english_morphology as english
from context_nmt.miniature import german_morphology as german

CASES = ["nominative", "accusative", "dative", "genitive"]
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
    assert [german.form(kind, "masculine", "singular", case) for case in CASES] == masculine.split()
    assert [german.form(kind, *column, "dative") for column in COLUMNS] == dative.split()
    for column in COLUMNS[1:]:
        assert german.form(kind, *column, "accusative") == german.form(kind, *column, "nominative")
    for case in CASES[2:]:
        assert german.form(kind, "neuter", "singular", case) == german.form(kind, "masculine", "singular", case)


@pytest.mark.parametrize(
    ("stem", "declension", "case", "form"),
    [
        ("alt", "strong", "accusative", "alten"),
        ("müde", "weak", "nominative", "müde"),
        ("müde", "strong", "dative", "müdem"),
    ],
)
def test_german_adjectives(stem, declension, case, form):
    assert german.adjective(stem, declension, "masculine", "singular", case) == form


@pytest.mark.parametrize(
    ("gender", "singular", "plural"),
    [
        ("masculine", "Tisch Tisch Tisch Tisches", "Tische Tische Tischen Tische"),
        ("masculine", "Garten Garten Garten Gartens", "Gärten Gärten Gärten Gärten"),
        ("masculine", "Student Studenten Studenten Studenten", "Studenten Studenten Studenten Studenten"),
        ("masculine", "Buchstabe Buchstaben Buchstaben Buchstabens", "Buchstaben Buchstaben Buchstaben Buchstaben"),
        ("masculine", "Zirkus Zirkus Zirkus Zirkus", "Zirkusse Zirkusse Zirkussen Zirkusse"),
        ("masculine", "Park Park Park Parks", "Parks Parks Parks Parks"),
        ("feminine", "Hand Hand Hand Hand", "Hände Hände Händen Hände"),
        ("neuter", "Messer Messer Messer Messers", "Messer Messer Messern Messer"),
        ("neuter", "Museum Museum Museum Museums", "Museen Museen Museen Museen"),
    ],
)
def test_german_nouns(gender, singular, plural):
    nominative, _, _, genitive = singular.split()
    forms = german.noun_forms(nominative, genitive, plural.split()[0], gender)
    assert [forms[case, "singular"] for case in CASES] == singular.split()
    assert [forms[case, "plural"] for case in CASES] == plural.split()


@pytest.mark.parametrize(
    ("infinitive", "present", "past"),
    [
        ("kaufen", "kauft kaufen", "kaufte kauften"),
        ("laden", "lädt laden", "lud luden"),
        ("wissen", "weiß wissen", "wusste wussten"),
        ("sein", "ist sind", "war waren"),
    ],
)
def test_german_verbs(infinitive, present, past):
    forms = german.finite_forms(infinitive, present.split()[0], past.split()[0])
    found = {
        tense: " ".join(forms[tense, number] for number in ("singular", "plural")) for tense in ("present", "past")
    }
    assert found == {"present": present, "past": past}


@pytest.mark.parametrize(
    ("article", "words"),
    [
        ("a", "table big house hotel university uniform useful European one-eyed young"),
        ("an", "apple egg island orange umbrella uncle ugly hour honest expensive old"),
    ],
)
def test_english_articles_follow_the_sound(article, words):
    assert {english.indefinite_article(word) for word in words.split()} == {article}


@pytest.mark.parametrize(
    ("words", "with_s"),
    [
        ("table house bag", "tables houses bags"),
        ("box church bush dress bus waltz", "boxes churches bushes dresses buses waltzes"),
        ("lady story boy key", "ladies stories boys keys"),
        ("potato radio zoo", "potatoes radios zoos"),
    ],
)
def test_english_plurals(words, with_s):
    assert [english.with_s(word) for word in words.split()] == with_s.split()


@pytest.mark.parametrize(
    ("verbs", "pasts"),
    [
        ("open wait show visit help push", "opened waited showed visited helped pushed"),
        ("dance agree die", "danced agreed died"),
        ("carry play", "carried played"),
        ("stop", "stopped"),
    ],
)
def test_english_pasts(verbs, pasts):
    assert [english.past(verb) for verb in verbs.split()] == pasts.split()


@pytest.mark.parametrize(
    ("base", "past", "forms"),
    [
        ("be", "was", "is are was were"),
        ("have", "had", "has have had had"),
        ("can", "could", "can can could could"),
        ("give", "gave", "gives give gave gave"),
        ("carry", "carried", "carries carry carried carried"),
    ],
)
def test_english_finite_forms(base, past, forms):
    assert list(english.finite_forms(base, past).values()) == forms.split()
