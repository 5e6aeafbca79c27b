"""Forms of German words from what a dictionary lists: articles, pronouns, adjectives, nouns and verbs."""

import re
from collections.abc import Mapping
from functools import cache

GENDERS = ("masculine", "feminine", "neuter")
CASES = ("nominative", "accusative", "dative", "genitive")
NUMBERS = ("singular", "plural")

Cell = tuple[str, str]  # (case, number)
Finite = tuple[str, int, str]  # (tense, person, number)


def _table(rows: str) -> dict[tuple[str, str], str]:
    """Read four rows (cases) of four columns: the genders in the singular, then the plural; "-" is an empty ending."""
    words = [row.split() for row in rows.strip().splitlines()]
    columns = (*GENDERS, "plural")
    return {
        (case, column): "" if word == "-" else word
        for case, row in zip(CASES, words, strict=True)
        for column, word in zip(columns, row, strict=True)
    }


DEFINITE = _table("""
    der  die  das  die
    den  die  das  die
    dem  der  dem  den
    des  der  des  der
""")
RELATIVE = _table("""
    der     die    das     die
    den     die    das     die
    dem     der    dem     denen
    dessen  deren  dessen  deren
""")
STRONG_ARTICLE = _table("""
    er  e   es  e
    en  e   es  e
    em  er  em  en
    es  er  es  er
""")
MIXED_ARTICLE = _table("""
    -   e   -   e
    en  e   -   e
    em  er  em  en
    es  er  es  er
""")
ADJECTIVE_ENDINGS = {
    "strong": _table("""
        er  e   es  e
        en  e   es  e
        em  er  em  en
        en  er  en  er
    """),
    "weak": _table("""
        e   e   e   en
        en  e   e   en
        en  en  en  en
        en  en  en  en
    """),
    "mixed": _table("""
        er  e   es  en
        en  e   es  en
        en  en  en  en
        en  en  en  en
    """),
}
ARTICLE_STEMS = {"indefinite": "ein", "negative": "kein", "demonstrative": "dies", "his": "sein", "her": "ihr"}
ARTICLE_DECLENSIONS = {  # that of an adjective behind the article
    "definite": "weak",
    "demonstrative": "weak",
    "indefinite": "mixed",
    "negative": "mixed",
    "his": "mixed",
    "her": "mixed",
}
PERSONAL_PRONOUNS = {  # in the order of CASES
    (1, "singular"): ("ich", "mich", "mir", "meiner"),
    (2, "singular"): ("du", "dich", "dir", "deiner"),
    (1, "plural"): ("wir", "uns", "uns", "unser"),
    (2, "plural"): ("ihr", "euch", "euch", "euer"),
    (3, "plural"): ("sie", "sie", "ihnen", "ihrer"),
    (3, "masculine"): ("er", "ihn", "ihm", "seiner"),
    (3, "feminine"): ("sie", "sie", "ihr", "ihrer"),
    (3, "neuter"): ("es", "es", "ihm", "seiner"),
}
CONTRACTIONS = {
    ("an", "dem"): "am",
    ("bei", "dem"): "beim",
    ("in", "das"): "ins",
    ("in", "dem"): "im",
    ("von", "dem"): "vom",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
}


@cache
def article(kind: str, gender: str, number: str, case: str) -> str:
    """Return a form of der, ein, kein, dieser, sein (his) or ihr (her); ein has no plural, which is the empty word."""
    cell = case, _column(gender, number)
    if kind == "definite":
        return DEFINITE[cell]
    if kind == "indefinite" and number == "plural":
        return ""
    endings = STRONG_ARTICLE if kind == "demonstrative" else MIXED_ARTICLE
    return ARTICLE_STEMS[kind] + endings[cell]


@cache
def declension_after(kind: str, number: str) -> str:
    """Return the declension of an adjective behind an article; behind the missing plural of ein it is strong."""
    return "strong" if (kind, number) == ("indefinite", "plural") else ARTICLE_DECLENSIONS[kind]


@cache
def adjective(stem: str, declension: str, gender: str, number: str, case: str) -> str:
    """Return the attributive form of an adjective; declension is strong, weak or mixed."""
    ending = ADJECTIVE_ENDINGS[declension][case, _column(gender, number)]
    return stem + ending[stem.endswith("e") :]


@cache
def personal_pronoun(person: int, number: str, gender: str, case: str) -> str:
    """Return a form of ich, du, er, sie, es, wir, ihr, sie; gender matters in the third person singular alone."""
    forms = PERSONAL_PRONOUNS[person, gender if (person, number) == (3, "singular") else number]
    return forms[CASES.index(case)]


@cache
def relative_pronoun(gender: str, number: str, case: str) -> str:
    """Return a form of der, die, das as a relative pronoun."""
    return RELATIVE[case, _column(gender, number)]


def contraction(preposition: str, article: str) -> str | None:
    """Return "im" for in + dem and the like, None where the two words stay apart."""
    return CONTRACTIONS.get((preposition, article))


def noun_forms(nominative: str, genitive: str, plural: str, gender: str) -> dict[Cell, str]:
    """Return all eight forms; a masculine genitive on -n (des Studenten, des Namens) tells the n-declension."""
    oblique = nominative
    if gender == "masculine" and genitive.endswith("n"):
        oblique = genitive
    elif gender == "masculine" and genitive == nominative + "ns":
        oblique = nominative + "n"
    singular = (nominative, oblique, oblique, genitive)
    forms = {(case, "singular"): form for case, form in zip(CASES, singular, strict=True)}
    forms |= {(case, "plural"): plural for case in CASES}
    if not plural.endswith(("n", "s")):
        forms["dative", "plural"] = plural + "n"
    return forms


def finite_forms(infinitive: str, present: str, past: str) -> dict[Finite, str]:
    """Return both tenses of a verb from its infinitive and the third person singular of each, without a prefix."""
    return _finite("present", _present(infinitive, present)) | _finite("past", _past(past))


def _finite(tense: str, forms: tuple[str, ...]) -> dict[Finite, str]:
    keys = [(tense, person, number) for number in NUMBERS for person in (1, 2, 3)]
    return dict(zip(keys, forms, strict=True))


def _present(infinitive: str, third: str) -> tuple[str, ...]:
    stem = infinitive.removesuffix("n") if infinitive.endswith(("eln", "ern")) else infinitive.removesuffix("en")
    plural = stem + ("et" if _needs_e(stem) else "t")
    if not third.endswith("t"):  # kann, will, muss, weiß
        return third, third + ("t" if _hisses(third) else "st"), third, infinitive, plural, infinitive
    first = stem[:-2] + "le" if stem.endswith("el") else stem + "e"
    base = third if _needs_e(stem) and not third.endswith("et") and stem.endswith("t") else third.removesuffix("t")
    return first, base + ("t" if _hisses(base) else "st"), third, infinitive, plural, infinitive


def _past(third: str) -> tuple[str, ...]:
    if third.endswith("e"):  # weak and mixed: kaufte, brachte, konnte
        return third, third + "st", third, third + "n", third + "t", third + "n"
    e = "e" if third.endswith(("d", "t")) else ""
    second = third + ("est" if e or _hisses(third) else "st")
    return third, second, third, third + "en", third + e + "t", third + "en"


def _hisses(word: str) -> bool:
    return word.endswith(("s", "ß", "z", "x"))


def _needs_e(stem: str) -> bool:
    """Tell arbeitet, öffnet, atmet from lernt, wohnt, kommt."""
    return re.search(r"([dt]|[^aeiouäöülrmnh][mn]|ch[mn])$", stem) is not None


def _column(gender: str, number: str) -> str:
    return "plural" if number == "plural" else gender


SEIN: Mapping[Finite, str] = _finite("present", ("bin", "bist", "ist", "sind", "seid", "sind")) | _finite(
    "past", _past("war")
)
HABEN: Mapping[Finite, str] = _finite("present", ("habe", "hast", "hat", "haben", "habt", "haben")) | _finite(
    "past", _past("hatte")
)
WERDEN: Mapping[Finite, str] = _finite("present", ("werde", "wirst", "wird", "werden", "werdet", "werden")) | _finite(
    "past", _past("wurde")
)
AUXILIARIES = {"sein": SEIN, "haben": HABEN, "werden": WERDEN}
