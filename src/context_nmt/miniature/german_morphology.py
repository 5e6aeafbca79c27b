"""Forms of German words from what a dictionary lists: articles, pronouns, adjectives, nouns and verbs."""

from functools import cache

CASES = ("nominative", "accusative", "dative", "genitive")
COLUMNS = ("masculine", "feminine", "neuter", "plural")

Table = dict[tuple[str, str], str]


def _table(rows: str, stem: str = "") -> Table:
    """Read forms by case (rows) and gender or plural (columns); "-" is an empty ending of the stem."""
    words = iter(rows.split())
    return {(case, column): stem + next(words).removeprefix("-") for case in CASES for column in COLUMNS}


LIKE_DIESER = """
    er  e   es  e
    en  e   es  e
    em  er  em  en
    es  er  es  er
"""
LIKE_KEIN = """
    -   e   -   e
    en  e   -   e
    em  er  em  en
    es  er  es  er
"""
WORDS = {  # articles, what takes their place, and pronouns
    "definite": _table("""
        der  die  das  die
        den  die  das  die
        dem  der  dem  den
        des  der  des  der
    """),
    "demonstrative": _table(LIKE_DIESER, "dies"),
    "indefinite": _table(LIKE_KEIN, "ein"),
    "negative": _table(LIKE_KEIN, "kein"),
    "his": _table(LIKE_KEIN, "sein"),
    "her": _table(LIKE_KEIN, "ihr"),
    "relative": _table("""
        der     die    das     die
        den     die    das     die
        dem     der    dem     denen
        dessen  deren  dessen  deren
    """),
    "personal": _table("""
        er      sie    es      sie
        ihn     sie    es      sie
        ihm     ihr    ihm     ihnen
        seiner  ihrer  seiner  ihrer
    """),
}
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
DECLENSION_AFTER = {"definite": "weak", "demonstrative": "weak", "indefinite": "mixed", "negative": "mixed"}
CONTRACTIONS = {
    ("an", "dem"): "am",
    ("bei", "dem"): "beim",
    ("in", "das"): "ins",
    ("in", "dem"): "im",
    ("von", "dem"): "vom",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
}
AUXILIARIES = {  # in the present
    "sein": {"singular": "ist", "plural": "sind"},
    "haben": {"singular": "hat", "plural": "haben"},
    "werden": {"singular": "wird", "plural": "werden"},
}


def form(kind: str, gender: str, number: str, case: str) -> str:
    """Return a form of der, dieser, ein, kein, sein, ihr, of the relative der or of er: see WORDS."""
    return WORDS[kind][case, "plural" if number == "plural" else gender]


@cache
def adjective(stem: str, declension: str, gender: str, number: str, case: str) -> str:
    """Return the attributive form of an adjective; declension is strong, weak or mixed."""
    ending = ADJECTIVE_ENDINGS[declension][case, "plural" if number == "plural" else gender]
    return stem + ending[stem.endswith("e") :]


def noun_forms(nominative: str, genitive: str, plural: str, gender: str) -> Table:
    """Return all forms by (case, number); a masculine genitive in -n (des Studenten) shows the n-declension."""
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


def finite_forms(infinitive: str, present: str, past: str) -> Table:
    """Return the third person of a verb by (tense, number) from its singulars, without a separable prefix."""
    return {
        ("present", "singular"): present,
        ("present", "plural"): "sind" if infinitive == "sein" else infinitive,
        ("past", "singular"): past,
        ("past", "plural"): past + ("n" if past.endswith("e") else "en"),
    }
