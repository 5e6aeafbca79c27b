"""Word forms are those of a grammar book, in full tables."""

import pytest

from context_nmt.miniature import english_morphology as english
from context_nmt.miniature import german_morphology as german

COLUMNS = [("masculine", "singular"), ("feminine", "singular"), ("neuter", "singular"), ("neuter", "plural")]
CASES = ["nominative", "accusative", "dative", "genitive"]


def cells(table):
    """Four cases (rows) of masculine, feminine, neuter, plural (columns), with the word in each."""
    rows = [line.split() for line in table.strip().splitlines()]
    assert [len(row) for row in rows] == [4, 4, 4, 4]
    for case, row in zip(CASES, rows, strict=True):
        for (gender, number), word in zip(COLUMNS, row, strict=True):
            yield gender, number, case, word.replace("-", "")


ARTICLES = {
    "definite": """
        der die das die
        den die das die
        dem der dem den
        des der des der
    """,
    "indefinite": """
        ein   eine  ein   -
        einen eine  ein   -
        einem einer einem -
        eines einer eines -
    """,
    "negative": """
        kein   keine  kein   keine
        keinen keine  kein   keine
        keinem keiner keinem keinen
        keines keiner keines keiner
    """,
    "demonstrative": """
        dieser diese  dieses diese
        diesen diese  dieses diese
        diesem dieser diesem diesen
        dieses dieser dieses dieser
    """,
    "his": """
        sein   seine  sein   seine
        seinen seine  sein   seine
        seinem seiner seinem seinen
        seines seiner seines seiner
    """,
    "her": """
        ihr   ihre  ihr   ihre
        ihren ihre  ihr   ihre
        ihrem ihrer ihrem ihren
        ihres ihrer ihres ihrer
    """,
}
ADJECTIVES = {
    "strong": """
        alter alte  altes alte
        alten alte  altes alte
        altem alter altem alten
        alten alter alten alter
    """,
    "weak": """
        alte  alte  alte  alten
        alten alte  alte  alten
        alten alten alten alten
        alten alten alten alten
    """,
    "mixed": """
        alter alte  altes alten
        alten alte  altes alten
        alten alten alten alten
        alten alten alten alten
    """,
}
RELATIVE = """
    der    die   das    die
    den    die   das    die
    dem    der   dem    denen
    dessen deren dessen deren
"""


@pytest.mark.parametrize("kind", ARTICLES)
def test_german_articles(kind):
    for gender, number, case, word in cells(ARTICLES[kind]):
        assert german.article(kind, gender, number, case) == word


@pytest.mark.parametrize("declension", ADJECTIVES)
def test_german_adjectives(declension):
    for gender, number, case, word in cells(ADJECTIVES[declension]):
        assert german.adjective("alt", declension, gender, number, case) == word


def test_a_stem_on_e_takes_no_second_e():
    assert german.adjective("müde", "weak", "masculine", "singular", "nominative") == "müde"
    assert german.adjective("müde", "strong", "masculine", "singular", "dative") == "müdem"


@pytest.mark.parametrize(
    ("kind", "number", "declension"),
    [
        ("definite", "singular", "weak"),
        ("definite", "plural", "weak"),
        ("demonstrative", "singular", "weak"),
        ("demonstrative", "plural", "weak"),
        ("indefinite", "singular", "mixed"),
        ("indefinite", "plural", "strong"),
        ("negative", "singular", "mixed"),
        ("negative", "plural", "mixed"),
        ("his", "plural", "mixed"),
        ("her", "singular", "mixed"),
    ],
)
def test_the_article_tells_the_declension(kind, number, declension):
    assert german.declension_after(kind, number) == declension


def test_german_relative_pronouns():
    for gender, number, case, word in cells(RELATIVE):
        assert german.relative_pronoun(gender, number, case) == word


@pytest.mark.parametrize(
    ("person", "number", "gender", "forms"),
    [
        (1, "singular", "feminine", "ich mich mir meiner"),
        (2, "singular", "feminine", "du dich dir deiner"),
        (3, "singular", "masculine", "er ihn ihm seiner"),
        (3, "singular", "feminine", "sie sie ihr ihrer"),
        (3, "singular", "neuter", "es es ihm seiner"),
        (1, "plural", "neuter", "wir uns uns unser"),
        (2, "plural", "neuter", "ihr euch euch euer"),
        (3, "plural", "masculine", "sie sie ihnen ihrer"),
    ],
)
def test_german_personal_pronouns(person, number, gender, forms):
    assert [german.personal_pronoun(person, number, gender, case) for case in CASES] == forms.split()


def test_german_contractions():
    found = {
        (preposition, article): german.contraction(preposition, article)
        for preposition in ("an", "auf", "bei", "in", "mit", "von", "zu")
        for article in ("dem", "das", "den", "der", "die")
    }
    assert {" ".join(words): both for words, both in found.items() if both} == {
        "an dem": "am",
        "bei dem": "beim",
        "in dem": "im",
        "in das": "ins",
        "von dem": "vom",
        "zu dem": "zum",
        "zu der": "zur",
    }


@pytest.mark.parametrize(
    ("gender", "singular", "plural"),
    [
        ("masculine", "Tisch Tisch Tisch Tisches", "Tische Tische Tischen Tische"),
        ("masculine", "Garten Garten Garten Gartens", "Gärten Gärten Gärten Gärten"),
        ("masculine", "Student Studenten Studenten Studenten", "Studenten Studenten Studenten Studenten"),
        ("masculine", "Nachbar Nachbarn Nachbarn Nachbarn", "Nachbarn Nachbarn Nachbarn Nachbarn"),
        ("masculine", "Buchstabe Buchstaben Buchstaben Buchstabens", "Buchstaben Buchstaben Buchstaben Buchstaben"),
        ("masculine", "Zirkus Zirkus Zirkus Zirkus", "Zirkusse Zirkusse Zirkussen Zirkusse"),
        ("masculine", "Park Park Park Parks", "Parks Parks Parks Parks"),
        ("feminine", "Hand Hand Hand Hand", "Hände Hände Händen Hände"),
        ("feminine", "Königin Königin Königin Königin", "Königinnen Königinnen Königinnen Königinnen"),
        ("neuter", "Messer Messer Messer Messers", "Messer Messer Messern Messer"),
        ("neuter", "Buch Buch Buch Buches", "Bücher Bücher Büchern Bücher"),
        ("neuter", "Auto Auto Auto Autos", "Autos Autos Autos Autos"),
        ("neuter", "Museum Museum Museum Museums", "Museen Museen Museen Museen"),
    ],
)
def test_german_nouns(gender, singular, plural):
    nominative, _, _, genitive = singular.split()
    forms = german.noun_forms(nominative, genitive, plural.split()[0], gender)
    assert [forms[case, "singular"] for case in CASES] == singular.split()
    assert [forms[case, "plural"] for case in CASES] == plural.split()


# Infinitive: ich, du, er, wir, ihr, sie in the present, then in the past.
VERBS = {
    "kaufen": "kaufe kaufst kauft kaufen kauft kaufen | kaufte kauftest kaufte kauften kauftet kauften",
    "arbeiten": "arbeite arbeitest arbeitet arbeiten arbeitet arbeiten | "
    "arbeitete arbeitetest arbeitete arbeiteten arbeitetet arbeiteten",
    "zeichnen": "zeichne zeichnest zeichnet zeichnen zeichnet zeichnen | "
    "zeichnete zeichnetest zeichnete zeichneten zeichnetet zeichneten",
    "wohnen": "wohne wohnst wohnt wohnen wohnt wohnen | wohnte wohntest wohnte wohnten wohntet wohnten",
    "tanzen": "tanze tanzt tanzt tanzen tanzt tanzen | tanzte tanztest tanzte tanzten tanztet tanzten",
    "lächeln": "lächle lächelst lächelt lächeln lächelt lächeln | "
    "lächelte lächeltest lächelte lächelten lächeltet lächelten",
    "füttern": "füttere fütterst füttert füttern füttert füttern | "
    "fütterte füttertest fütterte fütterten füttertet fütterten",
    "fahren": "fahre fährst fährt fahren fahrt fahren | fuhr fuhrst fuhr fuhren fuhrt fuhren",
    "lesen": "lese liest liest lesen lest lesen | las lasest las lasen last lasen",
    "geben": "gebe gibst gibt geben gebt geben | gab gabst gab gaben gabt gaben",
    "nehmen": "nehme nimmst nimmt nehmen nehmt nehmen | nahm nahmst nahm nahmen nahmt nahmen",
    "essen": "esse isst isst essen esst essen | aß aßest aß aßen aßt aßen",
    "halten": "halte hältst hält halten haltet halten | hielt hieltest hielt hielten hieltet hielten",
    "laden": "lade lädst lädt laden ladet laden | lud ludest lud luden ludet luden",
    "finden": "finde findest findet finden findet finden | fand fandest fand fanden fandet fanden",
    "waschen": "wasche wäschst wäscht waschen wascht waschen | wusch wuschst wusch wuschen wuscht wuschen",
    "bringen": "bringe bringst bringt bringen bringt bringen | brachte brachtest brachte brachten brachtet brachten",
    "wissen": "weiß weißt weiß wissen wisst wissen | wusste wusstest wusste wussten wusstet wussten",
    "können": "kann kannst kann können könnt können | konnte konntest konnte konnten konntet konnten",
    "wollen": "will willst will wollen wollt wollen | wollte wolltest wollte wollten wolltet wollten",
    "müssen": "muss musst muss müssen müsst müssen | musste musstest musste mussten musstet mussten",
}


def six(forms, tense):
    return [forms[tense, person, number] for number in ("singular", "plural") for person in (1, 2, 3)]


@pytest.mark.parametrize("infinitive", VERBS)
def test_german_verbs(infinitive):
    present, past = (half.split() for half in VERBS[infinitive].split(" | "))
    forms = german.finite_forms(infinitive, present[2], past[2])
    assert six(forms, "present") == present
    assert six(forms, "past") == past


@pytest.mark.parametrize(
    ("auxiliary", "present", "past"),
    [
        ("sein", "bin bist ist sind seid sind", "war warst war waren wart waren"),
        ("haben", "habe hast hat haben habt haben", "hatte hattest hatte hatten hattet hatten"),
        ("werden", "werde wirst wird werden werdet werden", "wurde wurdest wurde wurden wurdet wurden"),
    ],
)
def test_german_auxiliaries(auxiliary, present, past):
    assert six(german.AUXILIARIES[auxiliary], "present") == present.split()
    assert six(german.AUXILIARIES[auxiliary], "past") == past.split()


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
    ("nouns", "plurals"),
    [
        ("table house bag", "tables houses bags"),
        ("box church bush dress bus waltz", "boxes churches bushes dresses buses waltzes"),
        ("lady story boy key", "ladies stories boys keys"),
        ("potato radio zoo", "potatoes radios zoos"),
    ],
)
def test_english_plurals(nouns, plurals):
    assert [english.plural(noun) for noun in nouns.split()] == plurals.split()


@pytest.mark.parametrize(
    ("verb", "third", "past"),
    [
        ("open", "opens", "opened"),
        ("dance", "dances", "danced"),
        ("carry", "carries", "carried"),
        ("play", "plays", "played"),
        ("push", "pushes", "pushed"),
        ("watch", "watches", "watched"),
        ("kiss", "kisses", "kissed"),
        ("stop", "stops", "stopped"),
        ("wait", "waits", "waited"),
        ("show", "shows", "showed"),
        ("visit", "visits", "visited"),
        ("agree", "agrees", "agreed"),
        ("die", "dies", "died"),
        ("help", "helps", "helped"),
    ],
)
def test_english_verbs(verb, third, past):
    assert (english.third_person(verb), english.past(verb)) == (third, past)


@pytest.mark.parametrize(
    ("forms", "present", "past"),
    [
        (english.BE, "am are is are are are", "was were was were were were"),
        (english.HAVE, "have have has have have have", "had had had had had had"),
        (english.DO, "do do does do do do", "did did did did did did"),
        (
            english.finite_forms("give", "gave", "gives"),
            "give give gives give give give",
            "gave gave gave gave gave gave",
        ),
    ],
)
def test_english_finite_forms(forms, present, past):
    assert six(forms, "present") == present.split()
    assert six(forms, "past") == past.split()


@pytest.mark.parametrize(
    ("number", "gender", "forms"),
    [
        ("singular", "masculine", "he him his"),
        ("singular", "feminine", "she her her"),
        ("singular", "neuter", "it it its"),
        ("plural", "neuter", "they them their"),
    ],
)
def test_english_pronouns(number, gender, forms):
    roles = ("subject", "object", "possessive")
    assert [english.personal_pronoun(3, number, gender, role) for role in roles] == forms.split()
