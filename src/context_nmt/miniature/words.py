"""The words of `lexicon.yaml`, with all forms that the grammars need.

The sides of a word are `en` and `de`, as in the corpus's files; `name` is its key in the lexicon.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, PlainValidator

from context_nmt.miniature import english_morphology, german_morphology
from context_nmt.settings import Checked, require

LANGUAGES = ("en", "de")
GENDERS = {"der": "masculine", "die": "feminine", "das": "neuter"}
AUXILIARIES = {"hat": "haben", "ist": "sein"}
CASES = {"transitive": "accusative", "dative": "dative", "ditransitive": "accusative", "directional": "accusative"}

Forms = Mapping[Any, str]
Tense = Literal["past", "present", "future"]
WithoutObject = Literal["copula", "intransitive", "positional", "clausal", "modal"]  # clausal: that, dass
WithObject = Literal["transitive", "dative", "prepositional", "ditransitive", "directional"]
Frame = Literal[WithoutObject, WithObject]
WITH_PLACE = ("positional", "directional")  # stand: in the dative, put: in the accusative


def _text(value: Any) -> str:
    require(isinstance(value, str), f"{value!r} is not text")
    return str(value)


def _split(text: Any, *numbers: int) -> list[str]:
    words = _text(text).split(", ")
    require(len(words) in numbers, f"{text!r} has {len(words)} forms; it must have {' or '.join(map(str, numbers))}")
    return words


def _kinds(listed: Any) -> tuple[str, ...]:
    """Flatten a list of noun kinds and of groups (lists) of them."""
    require(isinstance(listed, list), f"{listed!r} is not a list")
    return tuple(
        dict.fromkeys(kind for entry in listed for kind in (_kinds(entry) if isinstance(entry, list) else [entry]))
    )


Kinds = Annotated[tuple[str, ...], PlainValidator(_kinds)]


@dataclass(frozen=True, slots=True)
class NounForms:
    """One noun of a language; `forms` by number in English, by (case, number) in German."""

    lemma: str
    forms: Forms
    gender: str = ""  # in German


def _english_nouns(text: Any) -> tuple[NounForms, ...]:
    """Read "knife, knives" or "bicycle / bike"."""
    nouns = []
    for synonym in _text(text).split(" / "):
        singular, *irregular = _split(synonym, 1, 2)
        plural = irregular[0] if irregular else english_morphology.with_s(singular)
        nouns.append(NounForms(singular, {"singular": singular, "plural": plural}))
    return tuple(nouns)


def _german_nouns(text: Any) -> tuple[NounForms, ...]:
    """Read "das Messer, des Messers, die Messer", synonyms after " / "; articles must agree."""
    nouns = []
    for synonym in _text(text).split(" / "):
        articles, forms = zip(*(word.partition(" ")[::2] for word in _split(synonym, 3)), strict=True)
        require(articles[0] in GENDERS, f"the article is {articles[0]!r}; it must be one of {', '.join(GENDERS)}")
        gender = GENDERS[articles[0]]
        expected = (articles[0], german_morphology.form("definite", gender, "singular", "genitive"), "die")
        require(articles == expected, f"{synonym!r}: the articles of a {gender} noun are {', '.join(expected)}")
        nouns.append(NounForms(forms[0], german_morphology.noun_forms(forms[0], forms[1], forms[2], gender), gender))
    require(len({noun.gender for noun in nouns}) == 1, "German synonyms must have one gender")
    return tuple(nouns)


@dataclass(frozen=True, kw_only=True)
class Word(Checked):
    """One word, or a phrase of a preposition and a noun ("in the evening"), that has no other forms."""

    name: str
    en: str
    de: str
    kind: Literal["", "time", "frequency", "degree", "manner", "place"] = ""  # of an adverb
    tenses: tuple[Tense, ...] = ("past", "present", "future")  # that it goes with


@dataclass(frozen=True, kw_only=True)
class Preposition(Checked):
    """One preposition, the case that it takes and the kinds of nouns after it."""

    name: str = ""
    en: str = ""
    de: str = ""
    case: Literal["", "two-way", "dative", "accusative"] = ""
    kinds: Kinds = ()


@dataclass(frozen=True, kw_only=True)
class Adjective(Checked):
    """One adjective; `stem` takes the endings where it differs: dunkel, dunkl-."""

    name: str
    en: str
    de: str
    stem: str = ""
    kinds: Kinds = ()
    cue: bool = False  # used only to decide the sense of a noun

    def __post_init__(self) -> None:
        require(self.cue != bool(self.kinds), "needs kinds, or `cue: true` and no kinds")


@dataclass(frozen=True, kw_only=True)
class Noun(Checked):
    """One thing, with its English and German nouns: several where they are synonyms, of one gender in German."""

    name: str
    kind: str
    gender: Literal["masculine", "feminine", "neuter"] = "neuter"  # of the English pronoun
    en: Annotated[tuple[NounForms, ...], PlainValidator(_english_nouns)]
    de: Annotated[tuple[NounForms, ...], PlainValidator(_german_nouns)]
    at: Preposition | None = None  # of a place
    # Of one that is ambiguous in a language; the others are names of nouns and adjectives that decide its sense.
    side: Literal["", "en", "de"] = ""
    of: tuple[str, ...] = ()  # genitive attributes: the bank of the river
    adjectives: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()  # nouns whose mention elsewhere decides it, including those under `of`

    def __post_init__(self) -> None:
        require((self.at is not None) == (self.kind == "place"), "`at` is for the kind 'place', and required there")
        if self.side:
            enough = len(self.cues) > 2 and len(self.of) > 1 and set(self.of) <= set(self.cues)
            require(enough, "needs three cues, and two of them under `of`")

    @property
    def ambiguous_word(self) -> str:
        """The lemma that is shared with another sense."""
        return self.en[0].lemma if self.side == "en" else self.de[0].lemma


@dataclass(frozen=True, slots=True)
class VerbForms:
    """One verb of a language; `finite` by (tense, number), in the third person."""

    lemma: str
    finite: Mapping[tuple[str, str], str]  # in German without the separable prefix
    participle: str
    prefix: str = ""  # "auf" of aufmachen
    auxiliary: str = ""  # in German: "haben" or "sein"


def english_verb(text: Any) -> VerbForms:
    """Read "open", "buy, bought" or "give, gave, given"."""
    base, *irregular = _split(text, 1, 2, 3)
    past, *participle = irregular or [english_morphology.past(base)]
    return VerbForms(base, english_morphology.finite_forms(base, past), (participle or [past])[0])


def _german_verb(text: Any) -> VerbForms:
    """Read "aufmachen, macht auf, machte auf, hat aufgemacht"."""
    infinitive, present, past, perfect = _split(text, 4)
    present, _, prefix = present.partition(" ")
    past, _, past_prefix = past.partition(" ")
    auxiliary, _, participle = perfect.partition(" ")
    require(prefix == past_prefix and infinitive.startswith(prefix), f"{text!r} has two prefixes")
    require(auxiliary in AUXILIARIES, f"the auxiliary is {auxiliary!r}; it must be one of {', '.join(AUXILIARIES)}")
    finite = german_morphology.finite_forms(infinitive.removeprefix(prefix), present, past)
    return VerbForms(infinitive, finite, participle, prefix, AUXILIARIES[auxiliary])


@dataclass(frozen=True, kw_only=True)
class Verb(Checked):
    """One verb with its frame, and the kinds of nouns that it goes with."""

    name: str
    frame: Frame
    en: Annotated[VerbForms, PlainValidator(english_verb)]
    de: Annotated[VerbForms, PlainValidator(_german_verb)]
    subject: Kinds
    object: Kinds = ()
    preposition: Preposition = Preposition()  # of the object, in one language or both: wait for, warten auf
    prepositions: tuple[str, ...] = ()  # names of those that the place may have
    neutral: bool = False  # says nothing about its object: see, find
    marker: Literal["", "to"] = ""  # of a modal verb whose infinitive has "to": wants to sleep

    def __post_init__(self) -> None:
        takes_no_object = self.frame in get_args(WithoutObject)
        require(
            takes_no_object != bool(self.object), f"{self.frame} verbs have {'no' if takes_no_object else 'an'} object"
        )
        require(
            (self.frame in WITH_PLACE) == bool(self.prepositions),
            f"`prepositions` is for {' and '.join(WITH_PLACE)} verbs, and needed there",
        )
        is_complete = self.preposition.en and self.preposition.de and self.preposition.case
        require(
            (self.frame == "prepositional") == bool(is_complete),
            "prepositional verbs, and only they, have a preposition in both languages and a case",
        )

    @property
    def case(self) -> str:
        """The case of the object, or ""."""
        return self.preposition.case or CASES.get(self.frame, "")


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a person, with a title or without; `de` by case, genitive: Annas, Herrn Kellers."""

    gender: str
    en: str
    de: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Names(Checked):
    """Names, with one title or without; `oblique` is the title in all German cases but the nominative."""

    gender: Literal["masculine", "feminine"]
    en: str = ""
    de: str = ""
    oblique: str = ""
    names: tuple[Annotated[str, Field(pattern="[^sxz]$")], ...]  # their genitive takes an s

    def declined(self) -> Iterator[Name]:
        """Yield each name with its title; only its last word takes the genitive's s."""
        for name in self.names:
            nominative, oblique = f"{self.de} {name}".strip(), f"{self.oblique} {name}".strip()
            forms = (nominative, oblique, oblique, f"{oblique}s")
            yield Name(self.gender, f"{self.en} {name}".strip(), dict(zip(german_morphology.CASES, forms, strict=True)))
