"""Forms of English words, by spelling rules."""

import re
from functools import cache

VOWEL_SOUND, CONSONANT_SOUND = ("hour", "honest", "heir", "honour"), ("uni", "use", "usu", "eu", "one", "once")
IRREGULAR_THIRD = {"have": "has", "do": "does", "be": "is", "can": "can"}
IRREGULAR_PLURAL = {("be", "present"): "are", ("be", "past"): "were"}
PRONOUNS = {  # by gender, or number: subject, object, possessive
    "masculine": {"subject": "he", "object": "him", "possessive": "his"},
    "feminine": {"subject": "she", "object": "her", "possessive": "her"},
    "neuter": {"subject": "it", "object": "it", "possessive": "its"},
    "plural": {"subject": "they", "object": "them", "possessive": "their"},
}


@cache
def indefinite_article(following: str) -> str:
    """Return "a" or "an", whichever fits the sound of the word that follows."""
    word = following.lower()
    vowel = word.startswith(VOWEL_SOUND) or (word[:1] in "aeiou" and not word.startswith(CONSONANT_SOUND))
    return "an" if vowel else "a"


def with_s(word: str) -> str:
    """Return the regular plural of a noun, or third person of a verb: tables, boxes, ladies, washes, carries."""
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search(r"(s|x|z|ch|sh|[^aeiou]o)$", word) else "s")


def past(verb: str) -> str:
    """Return the regular past tense and participle: opened, danced, carried, stopped."""
    if verb.endswith("e"):
        return verb + "d"
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ied"
    one_syllable = len(re.findall("[aeiouy]+", verb)) == 1
    short_vowel = re.search(r"(?:^|[^aeiou]|qu)[aeiou][^aeiouwxy]$", verb)  # stop, not wait or show
    return verb + (verb[-1] if one_syllable and short_vowel else "") + "ed"


def finite_forms(base: str, past: str) -> dict[tuple[str, str], str]:
    """Return the third-person forms of a verb by (tense, number)."""
    return {
        ("present", "singular"): IRREGULAR_THIRD.get(base) or with_s(base),
        ("present", "plural"): IRREGULAR_PLURAL.get((base, "present"), base),
        ("past", "singular"): past,
        ("past", "plural"): IRREGULAR_PLURAL.get((base, "past"), past),
    }
