"""The words of `lexicon.yaml` with all forms that the grammars need.

English forms follow spelling rules; German forms come from dictionary forms and the tables in `german.yaml`. A word has
the sides `en` and `de`, like the corpus's files; its `name` is its key in the lexicon.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, PlainValidator

from context_nmt.files import read_yaml
from context_nmt.settings import Checked, check, require

PATH = Path(__file__).with_name("lexicon.yaml")
LANGUAGES = ("en", "de")

VOWEL_SOUND, CONSONANT_SOUND = ("hour", "honest", "heir", "honour"), ("uni", "use", "usu", "eu", "one", "once")
IRREGULAR_THIRD = {"have": "has", "do": "does", "be": "is", "can": "can"}
PRONOUNS = {  # by gender, or number: subject, object, possessive
    "masculine": {"subject": "he", "object": "him", "possessive": "his"},
    "feminine": {"subject": "she", "object": "her", "possessive": "her"},
    "neuter": {"subject": "it", "object": "it", "possessive": "its"},
    "plural": {"subject": "they", "object": "them", "possessive": "their"},
}

CASES = ("nominative", "accusative", "dative", "genitive")
GENDER_COLUMNS = ("masculine", "feminine", "neuter", "plural")
TABLES: dict[str, Any] = read_yaml(Path(__file__).with_name("german.yaml"))
FINITE_FORMS = tuple(product(("present", "past"), ("singular", "plural")))  # third persons: (tense, number)
ARTICLES = {"der": "masculine", "die": "feminine", "das": "neuter"}
AUXILIARIES = {"hat": "haben", "ist": "sein"}

Tense = Literal["past", "present", "future"]
WithoutObject = Literal["copula", "intransitive", "positional", "clausal", "modal"]  # positional: stand; clausal: that
WithObject = Literal["transitive", "dative", "prepositional", "ditransitive", "directional"]  # directional: put
Frame = Literal[WithoutObject, WithObject]
OBJECT_CASES = {frame: "dative" if frame == "dative" else "accusative" for frame in get_args(WithObject)}


@cache
def a_or_an(following: str) -> str:
    """Return "a" or "an", depending on the sound of the word that follows."""
    word = following.lower()
    vowel = word.startswith(VOWEL_SOUND) or (word[:1] in "aeiou" and not word.startswith(CONSONANT_SOUND))
    return "an" if vowel else "a"


def add_s(word: str) -> str:
    """Return the regular plural of a noun, or third person of a verb: tables, boxes, ladies, washes, carries."""
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search(r"(s|x|z|ch|sh|[^aeiou]o)$", word) else "s")


@cache
def german_form(kind: str, gender: str, number: str, case: str) -> str:
    """Return one cell of a table under `words` or `endings`."""
    row = TABLES["words" if kind in TABLES["words"] else "endings"][kind].splitlines()[CASES.index(case)]
    cell: str = row.split()[GENDER_COLUMNS.index("plural" if number == "plural" else gender)]
    return cell


@cache
def german_adjective(stem: str, declension: str, gender: str, number: str, case: str) -> str:
    """Return the attributive form of an adjective; `declension` is strong, weak or mixed."""
    return stem + german_form(declension, gender, number, case)[stem.endswith("e") :]


@dataclass(frozen=True, slots=True)
class NounForms:
    """One noun of a language; `forms` by number in English, by (case, number) in German."""

    lemma: str
    forms: Mapping[Any, str]
    gender: str = ""  # in German


@dataclass(frozen=True, slots=True)
class VerbForms:
    """One verb of a language; `finite` by (tense, number), in the third person."""

    lemma: str
    finite: Mapping[tuple[str, str], str]  # in German without the separable prefix
    participle: str
    prefix: str = ""  # "auf" of aufmachen
    auxiliary: str = ""  # in German: "haben" or "sein"


def _split(text: Any, separator: str, *numbers: int) -> list[str]:
    require(isinstance(text, str), f"{text!r} is not a string")
    words: list[str] = text.split(separator)
    allowed = " or ".join(map(str, numbers))
    require(not numbers or len(words) in numbers, f"{text!r} has {len(words)} forms; it must have {allowed}")
    return words


def english_nouns(text: Any) -> tuple[NounForms, ...]:
    """Read "knife, knives" or "bicycle / bike"."""
    nouns = []
    for synonym in _split(text, " / "):
        singular, *irregular = _split(synonym, ", ", 1, 2)
        plural = irregular[0] if irregular else add_s(singular)
        nouns.append(NounForms(singular, {"singular": singular, "plural": plural}))
    return tuple(nouns)


def german_nouns(text: Any) -> tuple[NounForms, ...]:
    """Read "das Messer, des Messers, die Messer" and synonyms, separated by " / "; articles must agree.

    A genitive in -n or -ns (des Studenten, des Buchstabens) indicates the n-declension.
    """
    nouns = []
    for synonym in _split(text, " / "):
        articles, words = zip(*(word.partition(" ")[::2] for word in _split(synonym, ", ", 3)), strict=True)
        require(articles[0] in ARTICLES, f"the article is {articles[0]!r}; it must be one of {', '.join(ARTICLES)}")
        gender = ARTICLES[articles[0]]
        expected = (articles[0], german_form("definite", gender, "singular", "genitive"), "die")
        require(articles == expected, f"{synonym!r}: the articles of a {gender} noun are {', '.join(expected)}")
        nominative, genitive, plural = words
        has_n = genitive.removeprefix(nominative) in ("n", "en", "ns")
        oblique = genitive.removesuffix("s") if has_n else nominative
        forms = dict(zip(product(CASES, ("singular",)), (nominative, oblique, oblique, genitive), strict=True))
        forms |= {(case, "plural"): plural for case in CASES}
        if not plural.endswith(("n", "s")):
            forms["dative", "plural"] = plural + "n"
        nouns.append(NounForms(nominative, forms, gender))
    require(len({noun.gender for noun in nouns}) == 1, "German synonyms must have one gender")
    return tuple(nouns)


def english_verb(text: Any) -> VerbForms:
    """Read "buy, bought" or "give, gave, given"."""
    base, past, *participle = _split(text, ", ", 2, 3)
    present = IRREGULAR_THIRD.get(base) or add_s(base)
    forms = (present, "are", past, "were") if base == "be" else (present, base, past, past)
    return VerbForms(base, dict(zip(FINITE_FORMS, forms, strict=True)), (participle or [past])[0])


def german_verb(text: Any) -> VerbForms:
    """Read "aufmachen, macht auf, machte auf, hat aufgemacht"."""
    infinitive, present, past, perfect = _split(text, ", ", 4)
    present, _, prefix = present.partition(" ")
    past, _, past_prefix = past.partition(" ")
    auxiliary, _, participle = perfect.partition(" ")
    require(prefix == past_prefix and infinitive.startswith(prefix), f"{text!r}: the prefixes differ")
    require(auxiliary in AUXILIARIES, f"the auxiliary is {auxiliary!r}; it must be one of {', '.join(AUXILIARIES)}")
    plural = "sind" if infinitive == "sein" else infinitive.removeprefix(prefix)
    forms = (present, plural, past, past + ("n" if past.endswith("e") else "en"))
    finite = dict(zip(FINITE_FORMS, forms, strict=True))
    return VerbForms(infinitive, finite, participle, prefix, AUXILIARIES[auxiliary])


def _kinds(listed: Any) -> tuple[str, ...]:
    """Flatten a list of kinds of nouns and of groups (lists) of kinds."""
    require(isinstance(listed, list), f"{listed!r} is not a list")
    nested = (_kinds(entry) if isinstance(entry, list) else [entry] for entry in listed)
    return tuple(dict.fromkeys(kind for kinds in nested for kind in kinds))


Kinds = Annotated[tuple[str, ...], PlainValidator(_kinds)]


@dataclass(frozen=True, kw_only=True)
class Word(Checked):
    """A word, or a preposition and a noun ("in the evening"), without other forms."""

    name: str
    en: str
    de: str
    kind: Literal["", "time", "frequency", "degree", "manner", "place"] = ""  # of an adverb
    tenses: tuple[Tense, ...] = ("past", "present", "future")  # in which it can be used


@dataclass(frozen=True, kw_only=True)
class Preposition(Checked):
    """A preposition, the case that it takes and the kinds of nouns after it."""

    name: str = ""
    en: str = ""
    de: str = ""
    case: Literal["", "two-way", "dative", "accusative"] = ""
    kinds: Kinds = ()


@dataclass(frozen=True, kw_only=True)
class Adjective(Checked):
    """An adjective; endings are added to `stem` if it differs: dunkel, dunkl-."""

    name: str
    en: str
    de: str
    stem: str = ""
    kinds: Kinds = ()
    cue: bool = False  # only used to decide the sense of a noun


@dataclass(frozen=True, kw_only=True)
class Noun(Checked):
    """A concept with its English and German nouns; synonyms must have the same gender in German."""

    name: str
    kind: str
    gender: Literal["masculine", "feminine", "neuter"] = "neuter"  # of the English pronoun
    en: Annotated[tuple[NounForms, ...], PlainValidator(english_nouns)]
    de: Annotated[tuple[NounForms, ...], PlainValidator(german_nouns)]
    at: Preposition | None = None  # of a place
    # Of an ambiguous noun: the language in which it is ambiguous, and the names of words that decide its sense.
    side: Literal["", "en", "de"] = ""
    of: tuple[str, ...] = ()  # genitive attributes: the bank of the river
    adjectives: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()  # nouns in another clause or sentence, including those under `of`

    @property
    def ambiguous_word(self) -> str:
        """The lemma that is shared with another sense."""
        return self.en[0].lemma if self.side == "en" else self.de[0].lemma


@dataclass(frozen=True, kw_only=True)
class Verb(Checked):
    """A verb with its frame, and the kinds of nouns that it goes with."""

    name: str
    frame: Frame
    en: Annotated[VerbForms, PlainValidator(english_verb)]
    de: Annotated[VerbForms, PlainValidator(german_verb)]
    subject: Kinds
    object: Kinds = ()
    preposition: Preposition = Preposition()  # of the object, in one language or both: wait for, warten auf
    prepositions: tuple[str, ...] = ()  # of the location: their names
    neutral: bool = False  # implies nothing about its object: see, find
    marker: Literal["", "to"] = ""  # of a modal verb that takes an infinitive with "to": wants to sleep

    @property
    def case(self) -> str:
        """The case of the object, or ""."""
        return self.preposition.case or OBJECT_CASES.get(self.frame, "")


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a person, with or without a title; `de` has forms by case, such as Annas, Herrn Kellers."""

    gender: str
    en: str
    de: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Names(Checked):
    """Names, with or without the same title; `oblique` is the title in all German cases except the nominative."""

    gender: Literal["masculine", "feminine"]
    en: str = ""
    de: str = ""
    oblique: str = ""
    names: tuple[Annotated[str, Field(pattern="[^sxz]$")], ...]  # their genitive takes an s

    def declined(self) -> Iterator[Name]:
        """Yield each name with its title; in the genitive, only the last word takes an s."""
        for name in self.names:
            nominative, oblique = f"{self.de} {name}".strip(), f"{self.oblique} {name}".strip()
            forms = (nominative, oblique, oblique, f"{oblique}s")
            yield Name(self.gender, f"{self.en} {name}".strip(), dict(zip(CASES, forms, strict=True)))


@dataclass(frozen=True, kw_only=True)
class Lexicon(Checked):
    """The entries of a lexicon file, by name, in the order of the file."""

    groups: dict[str, Kinds]  # of kinds of nouns
    nouns: dict[str, Noun]
    senses: dict[str, Noun]  # ambiguous nouns, used in the singular only
    verbs: dict[str, Verb]
    adjectives: dict[str, Adjective]
    contraries: tuple[frozenset[str], ...]  # names of adjectives that exclude each other
    adverbs: dict[str, Word]
    subordinators: dict[str, Word]
    conjunctions: dict[str, Word]
    numerals: dict[str, Word]
    prepositions: dict[str, Preposition]
    names: tuple[Names, ...]

    def other_sense(self, noun: Noun) -> Noun:
        """Return the other noun that has the same ambiguous word."""
        return next(
            sense
            for sense in self.senses.values()
            if (sense.side, sense.ambiguous_word) == (noun.side, noun.ambiguous_word) and sense is not noun
        )


@cache
def load_lexicon() -> Lexicon:
    """Return the lexicon of the package."""
    return read_lexicon(PATH)


def read_lexicon(path: Path) -> Lexicon:
    """Read a lexicon; raise UserError, which names the file and the entry, for invalid values."""
    data = read_yaml(path)
    for section in data.values() if isinstance(data, dict) else ():
        for name, entry in section.items() if isinstance(section, dict) else ():
            if isinstance(entry, dict):
                entry["name"] = name
    return check(Lexicon, data, where=str(path))
