"""Clauses about people and things: what can be said of an entity, by the kinds of nouns that words go with."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from random import Random
from typing import TypeVar

from context_nmt.miniature.lexicon import Adjective, Adverb, At, Conjunction, Lexicon, Noun, TimePhrase, Verb
from context_nmt.miniature.meaning import (
    Clause,
    Entity,
    NounPhrase,
    Predicate,
    PrepositionalPhrase,
    Tense,
    Wording,
)
from context_nmt.settings.miniature import RateSettings

Choice = TypeVar("Choice")


class Vocabulary:
    """The lexicon, arranged by the questions that are asked of it."""

    def __init__(self, lexicon: Lexicon):
        self.lexicon = lexicon
        everything = [*lexicon.nouns.values(), *lexicon.senses.values()]
        kinds = list(dict.fromkeys(noun.kind for noun in everything))
        adjectives = [adjective for adjective in lexicon.adjectives.values() if not adjective.cue]
        self.places = lexicon.kinds["place"]
        self.people = {
            gender: [noun for noun in lexicon.kinds["person"] if noun.gender == gender]
            for gender in ("masculine", "feminine")
        }
        self.names = {
            gender: [name for name in (*lexicon.first_names, *lexicon.titled_names) if name.gender == gender]
            for gender in ("masculine", "feminine")
        }
        self.adjectives = {kind: [word for word in adjectives if kind in word.kinds] for kind in kinds}
        described = [kind for kind in kinds if len(self.adjectives[kind]) > 2 and kind not in ("person", "place")]
        self.things = [noun for noun in lexicon.nouns.values() if noun.kind in described]
        frames = ("transitive", "dative", "prepositional", "ditransitive", "directional")
        doing = [verb for frame in frames for verb in lexicon.frames[frame] if "person" in verb.subject]
        self.done_to = {kind: [verb for verb in doing if kind in verb.object] for kind in kinds}
        self.neutral = {kind: [verb for verb in verbs if verb.neutral] for kind, verbs in self.done_to.items()}
        self.simply_done_to = {
            kind: [verb for verb in verbs if verb.frame == "transitive"] for kind, verbs in self.done_to.items()
        }
        self.doing = {kind: [verb for verb in lexicon.frames["intransitive"] if kind in verb.subject] for kind in kinds}
        self.being_at = {
            kind: [verb for verb in lexicon.frames["positional"] if kind in verb.subject] for kind in kinds
        }
        self.belonging = [verb for verb in lexicon.frames["dative"] if "person" not in verb.subject]
        self.modals = lexicon.frames["modal"]
        times: list[Adverb | TimePhrase] = [*self._adverbs("time"), *lexicon.time_phrases.values()]
        self.time = {
            tense: [word for word in times if tense in word.tenses]
            for tense in ("present", "past", "future", "perfect")
        }
        self.frequency, self.degree = self._adverbs("frequency"), self._adverbs("degree")
        self.manner, self.here = self._adverbs("manner"), self._adverbs("place")
        self.for_people = [word for word in lexicon.prepositions.values() if "person" in word.kinds]
        self.spots = {
            name: [noun for noun in lexicon.nouns.values() if noun.kind in preposition.kinds and len(noun.german) == 1]
            for name, preposition in lexicon.prepositions.items()
        }

    def _adverbs(self, kind: str) -> list[Adverb]:
        return [adverb for adverb in self.lexicon.adverbs.values() if adverb.kind == kind]

    @cached_property
    def of_gender(self) -> dict[str, Wording]:
        """A thing of each German gender."""
        return {noun.german[0].gender: Wording.usual(noun) for noun in reversed(self.things)}

    @cached_property
    def person_of_gender(self) -> dict[str, Wording]:
        """A man and a woman."""
        return {gender: Wording.usual(nouns[0]) for gender, nouns in self.people.items()}

    @cached_property
    def all_pronouns(self) -> list[Wording]:
        """A wording for every pair of pronouns: he er, she sie, it er, it sie, it es, they sie."""
        thing = self.of_gender["neuter"]
        return [*self.person_of_gender.values(), *self.of_gender.values(), replace(thing, plural=True)]


class Clauses:
    """Draws clauses in one tense."""

    def __init__(self, vocabulary: Vocabulary, rates: RateSettings, random: Random, tense: Tense):
        self.vocabulary = vocabulary
        self.rates = rates
        self.random = random
        self.tense = tense

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def one(self, choices: Sequence[Choice]) -> Choice:
        return choices[int(self.random.random() * len(choices))]

    def entity(self, noun: Noun, *, plural: bool = False) -> Entity:
        """Somebody or something new, called by one of its synonyms on either side."""
        return Entity(Wording(noun, self.one(noun.english), self.one(noun.german), plural))

    def adjective(self, noun: Noun) -> tuple[Adjective, ...]:
        """Now and then an adjective that goes with a noun."""
        choices = self.vocabulary.adjectives[noun.kind]
        return (self.one(choices),) if choices and self.chance(self.rates.adjective) else ()

    def does(self, subject: NounPhrase) -> Clause | None:
        """Somebody sleeps, alone; None for what does nothing."""
        verbs = self.vocabulary.doing[subject.entity.wording.noun.kind]
        return Clause(subject, self.one(verbs), self.tense) if verbs else None

    def does_to(
        self,
        subject: NounPhrase,
        target: NounPhrase,
        recipient: NounPhrase | None = None,
        *,
        neutral: bool = False,
        simple: bool = False,
    ) -> Clause:
        """Somebody buys a table, waits for a dog or, with a recipient, gives someone a letter.

        `neutral`: with a verb that says nothing about the target; `simple`: without prepositions and recipients.
        """
        kind = target.entity.wording.noun.kind
        vocabulary = self.vocabulary
        verbs = (vocabulary.simply_done_to if simple else vocabulary.neutral if neutral else vocabulary.done_to)[kind]
        # German says "darüber", not "über es", and that shows no gender.
        excluded = () if recipient else ("ditransitive",)
        if target.form == "pronoun" and kind != "person":
            excluded = (*excluded, "prepositional")
        verb = self.one([verb for verb in verbs if verb.frame not in excluded])
        clause = Clause(subject, verb, self.tense)
        if verb.frame == "prepositional":
            preposition = At(verb.english.preposition, verb.german.preposition)
            clause.argument = PrepositionalPhrase(preposition, verb.german.case, target)
            return clause
        clause.object = target
        if verb.frame == "ditransitive":
            clause.indirect = recipient
        elif verb.frame == "directional":
            clause.argument = self._spot(verb, "accusative", target)
        return clause

    def _spot(self, verb: Verb, case: str, occupied_by: NounPhrase) -> PrepositionalPhrase:
        name = self.one(verb.prepositions)
        spots = [noun for noun in self.vocabulary.spots[name] if noun is not occupied_by.entity.wording.noun]
        spot = NounPhrase(self.entity(self.one(spots)), "definite")
        return PrepositionalPhrase(self.vocabulary.lexicon.prepositions[name], case, spot)

    def is_so(self, subject: NounPhrase, *, only: Sequence[Adjective] = ()) -> Clause:
        """Something is old, or very old and heavy; `only`: by one of these adjectives."""
        choices = only or self.vocabulary.adjectives[subject.entity.wording.noun.kind]
        adjectives = [self.one(choices)]
        if self.chance(0.3):
            first = adjectives[0].name
            excluded = {first}.union(*(row for row in self.vocabulary.lexicon.contraries if first in row))
            second = [adjective for adjective in choices if adjective.name not in excluded]
            adjectives += [self.one(second)] if second else []
        degree = self.one(self.vocabulary.degree) if self.chance(0.3) else None
        return Clause(subject, self.vocabulary.lexicon.be, self.tense, predicate=Predicate(tuple(adjectives), degree))

    def is_somewhere(self, subject: NounPhrase) -> Clause | None:
        """Something stands under the table; None for what has no place."""
        verbs = self.vocabulary.being_at[subject.entity.wording.noun.kind]
        if not verbs:
            return None
        verb = self.one(verbs)
        return Clause(subject, verb, self.tense, argument=self._spot(verb, "dative", subject))

    def state(self, subject: NounPhrase) -> Clause:
        """What can be said of a thing or an animal by itself."""
        draw = self.random.random()
        clause = None
        if draw < 0.3:
            clause = self.is_somewhere(subject)
        elif draw < 0.6:
            clause = self.does(subject)
        return clause or self.is_so(subject)

    def belongs(self, subject: NounPhrase, owner: NounPhrase) -> Clause:
        """A thing is somebody's."""
        return Clause(subject, self.one(self.vocabulary.belonging), self.tense, object=owner)

    def conjunction(self) -> Conjunction:
        """And, or but."""
        return self.one(list(self.vocabulary.lexicon.conjunctions.values()))

    def decorate(self, clause: Clause, *, place: bool = True, spoken_of: bool = False) -> Clause:
        """Add time, place, manner, negation, a modal verb or another tense, where they go with the clause.

        `spoken_of`: the object will be spoken of again, so there is one: "not", but never "no table".
        """
        rates, vocabulary = self.rates, self.vocabulary
        copula = clause.verb.frame == "copula"
        person = clause.subject is not None and clause.subject.entity.wording.is_person
        draw = self.random.random()
        if self.tense == "present" and draw < rates.perfect and not copula:
            clause.tense = "perfect"
        elif self.tense == "present" and draw < rates.perfect + rates.future:
            clause.tense = "future"
        elif person and not copula and clause.complement is None and self.chance(rates.modal):
            clause.modal = self.one(vocabulary.modals)
        if self.chance(rates.negated):
            self._negate(clause, spoken_of=spoken_of)
        elif self.chance(rates.frequency) and clause.tense in ("present", "past"):
            clause.frequency = self.one(vocabulary.frequency)
        if clause.complement:
            return clause
        if person and clause.verb.frame == "intransitive" and self.chance(rates.manner):
            clause.manner = self.one(vocabulary.manner)
        if self.chance(rates.time) and not clause.frequency and vocabulary.time[clause.tense]:
            clause.time = self.one(vocabulary.time[clause.tense])
        if place and not copula and clause.argument is None and self.chance(rates.place):
            clause.place = self.somewhere()
        if self.chance(rates.fronted) and not (clause.subject and clause.subject.form == "negative"):
            clause.fronted = clause.movable
        # Without a draw where the order is fixed: those corpora stay as they were.
        if rates.reordered and clause.subject and clause.subject.form != "negative":
            clause.reordered = self.chance(rates.reordered)
        return clause

    def somewhere(self) -> Adverb | PrepositionalPhrase:
        """Here, or in the garden."""
        if self.chance(0.2):
            return self.one(self.vocabulary.here)
        noun = self.one(self.vocabulary.places)
        assert noun.at is not None
        return PrepositionalPhrase(noun.at, "dative", NounPhrase(self.entity(noun), "definite"))

    def _negate(self, clause: Clause, *, spoken_of: bool) -> None:
        """Say "not", or "no" and "kein" where the object is indefinite."""
        if clause.object and clause.object.form == "indefinite":
            if clause.object.numeral is None and not spoken_of:
                clause.object.form = "negative"
        elif not (clause.argument and clause.argument.noun_phrase.form == "indefinite"):
            clause.negated = True
