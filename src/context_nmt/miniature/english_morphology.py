"""Forms of English words by the rules of spelling: articles, pronouns, nouns and verbs."""

import re
from collections.abc import Mapping
from functools import cache

NUMBERS = ("singular", "plural")

Finite = tuple[str, int, str]  # (tense, person, number)

SILENT_H = ("hour", "honest", "heir", "honour")
LIKE_YOU = ("uni", "use", "usu", "eu", "one", "once")  # begin with a vowel letter and a consonant sound
IRREGULAR_THIRD = {"have": "has", "do": "does", "be": "is"}
PRONOUNS = {  # in the order of ROLES
    (1, "singular"): ("I", "me", "my"),
    (2, "singular"): ("you", "you", "your"),
    (1, "plural"): ("we", "us", "our"),
    (2, "plural"): ("you", "you", "your"),
    (3, "plural"): ("they", "them", "their"),
    (3, "masculine"): ("he", "him", "his"),
    (3, "feminine"): ("she", "her", "her"),
    (3, "neuter"): ("it", "it", "its"),
}
ROLES = ("subject", "object", "possessive")


@cache
def indefinite_article(following: str) -> str:
    """Return "a" or "an" by the sound of the word that follows."""
    word = following.lower()
    if word.startswith(SILENT_H):
        return "an"
    return "an" if word[:1] in "aeiou" and not word.startswith(LIKE_YOU) else "a"


@cache
def personal_pronoun(person: int, number: str, gender: str, role: str) -> str:
    """Return a form of I, you, he, she, it, we, they; role is subject, object or possessive."""
    forms = PRONOUNS[person, gender if (person, number) == (3, "singular") else number]
    return forms[ROLES.index(role)]


def plural(noun: str) -> str:
    """Return the regular plural: tables, boxes, ladies, boys."""
    return _with_s(noun)


def third_person(verb: str) -> str:
    """Return the third person singular of the present tense: buys, washes, carries, has."""
    return IRREGULAR_THIRD.get(verb) or _with_s(verb)


def past(verb: str) -> str:
    """Return the regular past tense and participle: opened, danced, carried, stopped."""
    if verb.endswith("e"):
        return verb + "d"
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ied"
    return _doubled(verb) + "ed"


def finite_forms(base: str, past: str, third: str) -> dict[Finite, str]:
    """Return both tenses of a verb other than be."""
    forms = {("present", person, number): base for person in (1, 2, 3) for number in NUMBERS}
    forms["present", 3, "singular"] = third
    return forms | {("past", person, number): past for person in (1, 2, 3) for number in NUMBERS}


def _with_s(word: str) -> str:
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search(r"(s|x|z|ch|sh|[^aeiou]o)$", word) else "s")


def _doubled(verb: str) -> str:
    """Double the last consonant of a verb of one syllable with one short vowel: stop, run, but not open, wait, show."""
    syllables = len(re.findall("[aeiouy]+", verb))
    single = re.search(r"(?:^|[^aeiou]|qu)[aeiou][^aeiouwxy]$", verb)
    return verb + verb[-1] if syllables == 1 and single else verb


BE: Mapping[Finite, str] = finite_forms("are", "were", "is") | {
    ("present", 1, "singular"): "am",
    ("past", 1, "singular"): "was",
    ("past", 3, "singular"): "was",
}
HAVE: Mapping[Finite, str] = finite_forms("have", "had", "has")
DO: Mapping[Finite, str] = finite_forms("do", "did", "does")
