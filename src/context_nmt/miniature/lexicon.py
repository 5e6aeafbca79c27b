"""What the lexicon holds: words with all their forms, in both languages."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EnglishNoun:
    """One English noun."""

    singular: str
    plural: str


@dataclass(frozen=True, slots=True)
class GermanNoun:
    """One German noun; `forms` by (case, number)."""

    lemma: str
    gender: str
    forms: Mapping[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class At:
    """The prepositions of "in the garden", "im Garten"; the German one takes the dative."""

    english: str
    german: str


@dataclass(frozen=True, slots=True)
class Sense:
    """What decides the sense of a noun that is ambiguous in one language; names of nouns and adjectives."""

    side: str  # "en" or "de": the language in which the word is ambiguous
    word: str  # the ambiguous lemma
    other: str  # the name of the noun with the other sense
    of: tuple[str, ...]  # its genitive attributes: the bank of the river
    adjectives: tuple[str, ...]
    cues: tuple[str, ...]  # nouns whose mention elsewhere decides it; those of `of` among them


@dataclass(frozen=True, slots=True)
class Noun:
    """One thing, with its English and German nouns: several where they are synonyms, of one gender in German."""

    name: str
    kind: str
    gender: str  # of the English pronoun: masculine, feminine, neuter
    english: tuple[EnglishNoun, ...]
    german: tuple[GermanNoun, ...]
    at: At | None  # for places
    sense: Sense | None


@dataclass(frozen=True, slots=True)
class EnglishVerb:
    """One English verb; `finite` by (tense, person, number).

    `marker` is "to" for a modal verb with an infinitive with to ("wants to sleep"), else "".
    A modal verb without it ("can") has only finite forms.
    """

    base: str
    finite: Mapping[tuple[str, int, str], str]
    participle: str
    preposition: str  # of its object, or "": wait for
    marker: str


@dataclass(frozen=True, slots=True)
class GermanVerb:
    """One German verb; `finite` by (tense, person, number), without the separable prefix."""

    infinitive: str
    prefix: str  # "auf" of aufmachen, or ""
    finite: Mapping[tuple[str, int, str], str]
    participle: str
    auxiliary: str  # "haben" or "sein"
    preposition: str  # of its object, or "": warten auf
    case: str  # of its object: accusative or dative; "" without one


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb with its frame, and the kinds of nouns that it goes with (groups are resolved).

    Frames: intransitive; transitive, dative, prepositional (one object, each side with its preposition or "");
    ditransitive (a person in the dative, then the object); positional (stand: place in the dative); directional
    (put: object, place in the accusative); clausal (that, dass); modal (an infinitive).
    """

    name: str
    frame: str
    neutral: bool  # says nothing about its object: see, find
    subject: tuple[str, ...]
    object: tuple[str, ...]
    prepositions: tuple[str, ...]  # positional and directional verbs: names of two-way prepositions
    english: EnglishVerb
    german: GermanVerb


@dataclass(frozen=True, slots=True)
class Adjective:
    """One adjective; `stem` takes the endings: dunkel, dunkl-."""

    name: str
    english: str
    german: str
    stem: str
    kinds: tuple[str, ...]
    cue: bool  # only where it decides the sense of a noun


@dataclass(frozen=True, slots=True)
class Adverb:
    """One word for the time, frequency, degree, manner or place."""

    name: str
    kind: str
    english: str
    german: str
    tenses: tuple[str, ...]  # that it goes with: past, present, future


@dataclass(frozen=True, slots=True)
class TimePhrase:
    """A fixed phrase of a preposition and a noun: in the evening, am Abend."""

    name: str
    english: tuple[str, ...]
    german: tuple[str, ...]
    tenses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Subordinator:
    """A subordinating conjunction; the German verb comes last."""

    name: str
    english: str
    german: str
    tenses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conjunction:
    """A conjunction of main clauses."""

    name: str
    english: str
    german: str


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number from two on."""

    name: str
    english: str
    german: str


@dataclass(frozen=True, slots=True)
class Preposition:
    """One preposition; case is two-way, dative or accusative; kinds of the nouns behind it."""

    name: str
    english: str
    german: str
    case: str
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a person, with a title or without; `german` by case, genitive: Annas, Herrn Kellers."""

    gender: str
    english: str
    german: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All entries by name, in the order of the file."""

    nouns: Mapping[str, Noun]  # the ordinary ones
    senses: Mapping[str, Noun]  # ambiguous nouns, used in the singular only
    kinds: Mapping[str, tuple[Noun, ...]]  # the ordinary nouns of a kind
    be: Verb  # the copula, with the frame "copula"
    verbs: Mapping[str, Verb]
    frames: Mapping[str, tuple[Verb, ...]]
    adjectives: Mapping[str, Adjective]
    contraries: tuple[frozenset[str], ...]  # names of adjectives of which one excludes the others
    adverbs: Mapping[str, Adverb]
    time_phrases: Mapping[str, TimePhrase]
    subordinators: Mapping[str, Subordinator]
    conjunctions: Mapping[str, Conjunction]
    numerals: Mapping[str, Numeral]
    prepositions: Mapping[str, Preposition]
    first_names: tuple[Name, ...]
    titled_names: tuple[Name, ...]
