"""The meaning of a sentence: the abstract syntax that both grammars put into words.

It leaves out the properties in which the languages differ (gender, case, word order, the choice between two nouns). An
entity's wording holds the choice of nouns, so that a sentence can also be realised with another noun or gender.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from context_nmt.miniature.lexicon import Adjective, Name, Noun, NounForms, Preposition, Verb, Word

Part = tuple[Hashable, str]  # an object of the meaning and its role: (noun phrase, "determiner")
Tense = Literal["present", "past", "perfect", "future"]
Form = Literal["definite", "indefinite", "negative", "demonstrative", "possessive", "name", "pronoun"]


@dataclass(frozen=True, slots=True)
class Wording:
    """The nouns that name an entity."""

    noun: Noun
    en: NounForms
    de: NounForms
    plural: bool = False

    @classmethod
    def usual(cls, noun: Noun) -> "Wording":
        """Return the wording of a single thing, with the first of its synonyms."""
        return cls(noun, noun.en[0], noun.de[0])

    @property
    def number(self) -> str:
        return "plural" if self.plural else "singular"

    @property
    def is_person(self) -> bool:
        return self.noun.kind == "person"


@dataclass(eq=False, slots=True)
class Entity:
    """A person or thing that a document mentions."""

    wording: Wording
    name: Name | None = None


@dataclass(eq=False, slots=True)
class NounPhrase:
    """A mention of an entity, or of two: "the man and the woman"."""

    entity: Entity
    form: Form
    adjectives: tuple[Adjective, ...] = ()
    numeral: Word | None = None  # of an indefinite plural
    possessor: "NounPhrase | None" = None  # of the form "possessive": a pronoun or a name
    attribute: "NounPhrase | None" = None  # "of the river"
    relative: "Clause | None" = None
    relative_role: Literal["subject", "object"] = "subject"
    other: "NounPhrase | None" = None  # "and the woman"

    @property
    def noun(self) -> Noun:
        return self.entity.wording.noun

    @property
    def plural(self) -> bool:
        return self.entity.wording.plural or self.other is not None


Front = Literal["time", "place", "subordinate"] | None


@dataclass(eq=False, slots=True)
class PrepositionalPhrase:
    """A preposition, the German case that it takes here, and its noun phrase."""

    preposition: Preposition
    case: str
    noun_phrase: NounPhrase


@dataclass(eq=False, slots=True)
class Clause:
    """A verb with its subject, objects and modifiers.

    In a relative clause the subject or the object is the relative pronoun, and is None here.
    """

    subject: NounPhrase | None
    verb: Verb
    tense: Tense
    modal: Verb | None = None
    negated: bool = False
    indirect: NounPhrase | None = None
    object: NounPhrase | None = None  # in the verb's case: accusative or dative
    argument: PrepositionalPhrase | None = None  # waited FOR THE BUS, stood ON THE TABLE, put … ON THE TABLE
    adjectives: tuple[Adjective, ...] = ()  # was OLD AND HEAVY
    degree: Word | None = None  # was VERY old
    complement: "Clause | None" = None  # said THAT …
    frequency: Word | None = None
    manner: Word | None = None
    time: Word | None = None
    place: Word | PrepositionalPhrase | None = None
    fronted: Front = None
    reordered: bool = False  # the movable adverbial comes first in one language only
    subordinator: Word | None = None
    subordinate: "Clause | None" = None

    @property
    def movable(self) -> Front:
        """The adverbial that can come first or last: the time or, without one, the place."""
        return "time" if self.time else "place" if self.place else None

    @property
    def fronted_in_german(self) -> Front:
        """The constituent that precedes the verb of the German clause in place of its subject."""
        if not self.reordered:
            return self.fronted
        return None if self.fronted else self.movable

    def ordered_as(self, language: str) -> "Clause":
        """Return the clause with the word order of `language` in both languages."""
        return replace(self, fronted=self.fronted if language == "en" else self.fronted_in_german, reordered=False)

    def phrases(self) -> Iterator[NounPhrase]:
        """Yield the noun phrases of the clause itself."""
        yield from (phrase for phrase in (self.subject, self.indirect, self.object) if phrase)
        for adverbial in (self.argument, self.place):
            if isinstance(adverbial, PrepositionalPhrase):
                yield adverbial.noun_phrase


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A noun with two senses, and the word that decides between them."""

    phrase: NounPhrase
    position: Literal["beside", "far", "previous"]  # in the noun phrase, another clause, or the previous sentence
    cue: Part


@dataclass(eq=False, slots=True)
class Sentence:
    """One or two main clauses."""

    clause: Clause
    conjunction: Word | None = None  # before `second`
    second: Clause | None = None
    opening: Word | None = None  # a conjunction at the start of the sentence
    question: bool = False
    speaker: NounPhrase | None = None  # of direct speech
    speaking: Verb | None = None
    speaking_tense: Tense = "past"
    ambiguities: tuple[Ambiguity, ...] = ()

    def ordered_as(self, language: str) -> "Sentence":
        """Return the sentence with the word order of `language` in both; questions have no fronted constituent."""
        if self.question:
            return self
        second = self.second and self.second.ordered_as(language)
        return replace(self, clause=self.clause.ordered_as(language), second=second)

    def clauses(self) -> Iterator[Clause]:
        """Yield all clauses of the sentence."""
        pending = [self.clause] if self.second is None else [self.clause, self.second]
        while pending:
            clause = pending.pop(0)
            yield clause
            pending += [inner_clause for inner_clause in (clause.complement, clause.subordinate) if inner_clause]
            pending += [phrase.relative for phrase in clause.phrases() if phrase.relative]

    def phrases(self) -> Iterator[NounPhrase]:
        """Yield all noun phrases of the sentence except possessors."""
        if self.speaker:
            yield self.speaker
        for clause in self.clauses():
            for phrase in clause.phrases():
                yield phrase
                yield from (inner_phrase for inner_phrase in (phrase.attribute, phrase.other) if inner_phrase)
