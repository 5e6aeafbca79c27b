"""Clauses about people and things, with words that go with the kinds of their nouns."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar, get_args

from context_nmt.miniature.lexicon import Adjective, Lexicon, Noun, Verb, WithObject
from context_nmt.miniature.meaning import Clause, Entity, NounPhrase, PrepositionalPhrase, Tense, Wording
from context_nmt.settings.miniature import RateSettings

Choice = TypeVar("Choice")


class Vocabulary:
    """The lexicon, indexed for the generation of clauses."""

    def __init__(self, lexicon: Lexicon):
        self.lexicon = lexicon
        nouns, adverbs, prepositions = lexicon.nouns.values(), lexicon.adverbs.values(), lexicon.prepositions
        kinds = list(dict.fromkeys(noun.kind for noun in (*nouns, *lexicon.senses.values())))
        self.of_kind = {kind: [noun for noun in nouns if noun.kind == kind] for kind in kinds}
        genders, people = ("masculine", "feminine"), self.of_kind["person"]
        self.people = {gender: [noun for noun in people if noun.gender == gender] for gender in genders}
        names = [name for names in lexicon.names for name in names.declined()]
        self.names = {gender: [name for name in names if name.gender == gender] for gender in genders}
        plain = [word for word in lexicon.adjectives.values() if not word.cue]
        self.adjectives = {kind: [word for word in plain if kind in word.kinds] for kind in kinds}
        thing_kinds = [kind for kind in kinds if len(self.adjectives[kind]) > 2 and kind not in ("person", "place")]
        self.things = [noun for noun in nouns if noun.kind in thing_kinds]
        verbs = lexicon.verbs.values()
        actions = [
            verb for frame in get_args(WithObject) for verb in verbs if verb.frame == frame and "person" in verb.subject
        ]
        self.done_to = {kind: [verb for verb in actions if kind in verb.object] for kind in kinds}
        self.intransitive, self.positional = (
            {kind: [verb for verb in verbs if verb.frame == frame and kind in verb.subject] for kind in kinds}
            for frame in ("intransitive", "positional")
        )
        self.clausal, self.modals = ([verb for verb in verbs if verb.frame == frame] for frame in ("clausal", "modal"))
        self.belonging = [verb for verb in verbs if verb.frame == "dative" and "person" not in verb.subject]
        self.adverbs = {word.kind: [other for other in adverbs if other.kind == word.kind] for word in adverbs}
        self.conjunctions, self.numerals = list(lexicon.conjunctions.values()), list(lexicon.numerals.values())
        self.for_people = [word for word in prepositions.values() if "person" in word.kinds]
        self.spots = {
            name: [noun for noun in nouns if noun.kind in preposition.kinds and len(noun.de) == 1]
            for name, preposition in prepositions.items()
        }
        # A thing of each German gender; a man and a woman; a wording for every pair of pronouns: he er, she sie,
        # it er, it sie, it es, they sie.
        self.of_gender = {noun.de[0].gender: Wording.usual(noun) for noun in reversed(self.things)}
        self.person_of_gender = {gender: Wording.usual(nouns[0]) for gender, nouns in self.people.items()}
        they = replace(self.of_gender["neuter"], plural=True)
        self.all_pronouns = [*self.person_of_gender.values(), *self.of_gender.values(), they]


class Clauses:
    """Draws clauses in one tense, with words that go with the kinds of their nouns."""

    def __init__(self, vocabulary: Vocabulary, rates: RateSettings, random: Random):
        self._vocabulary, self._rates, self._random = vocabulary, rates, random
        self._lexicon = vocabulary.lexicon
        self._tense: Tense = "present" if self._chance(rates.present) else "past"

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _one(self, choices: Sequence[Choice]) -> Choice:
        return choices[int(self._random.random() * len(choices))]

    def _entity(self, noun: Noun, *, plural: bool = False) -> Entity:
        """Return a new person or thing, called by one of its synonyms in each language."""
        return Entity(Wording(noun, self._one(noun.en), self._one(noun.de), plural))

    def _adjective(self, noun: Noun) -> tuple[Adjective, ...]:
        """Return, at random, one adjective that fits a noun, or none."""
        choices = self._vocabulary.adjectives[noun.kind]
        return (self._one(choices),) if choices and self._chance(self._rates.adjective) else ()

    def _does(self, subject: NounPhrase) -> Clause:
        """Return a clause without objects, such as "somebody sleeps", if a verb fits the subject."""
        verbs = self._vocabulary.intransitive[subject.noun.kind]
        return Clause(subject, self._one(verbs), self._tense) if verbs else self._is_so(subject)

    def _does_to(
        self,
        subject: NounPhrase,
        target: NounPhrase,
        recipient: NounPhrase | None = None,
        *,
        neutral: bool = False,
        simple: bool = False,
    ) -> Clause:
        """Return a clause: somebody buys a table, waits for a dog or, with a recipient, gives someone a letter.

        `neutral` excludes verbs that say something about the target, `simple` prepositions and recipients.
        """
        # German says "darüber", which shows no gender, instead of "über es".
        hides_gender = target.form == "pronoun" and not target.entity.wording.is_person
        verb = self._one(
            [
                verb
                for verb in self._vocabulary.done_to[target.noun.kind]
                if (verb.frame == "transitive" or not simple)
                and (verb.neutral or not neutral)
                and (verb.frame != "ditransitive" or recipient)
                and (verb.frame != "prepositional" or not hides_gender)
            ]
        )
        clause = Clause(subject, verb, self._tense)
        if verb.frame == "prepositional":
            clause.argument = PrepositionalPhrase(verb.preposition, verb.case, target)
            return clause
        clause.object = target
        if verb.frame == "ditransitive":
            clause.indirect = recipient
        elif verb.frame == "directional":
            clause.argument = self._spot(verb, "accusative", target)
        return clause

    def _spot(self, verb: Verb, case: str, occupied_by: NounPhrase) -> PrepositionalPhrase:
        name = self._one(verb.prepositions)
        spots = [noun for noun in self._vocabulary.spots[name] if noun is not occupied_by.noun]
        spot = NounPhrase(self._entity(self._one(spots)), "definite")
        return PrepositionalPhrase(self._lexicon.prepositions[name], case, spot)

    def _is_so(self, subject: NounPhrase, *, only: Sequence[Adjective] = ()) -> Clause:
        """Return a clause: something is old, or very old and heavy; `only` restricts the adjectives."""
        choices = only or self._vocabulary.adjectives[subject.noun.kind]
        adjectives = [self._one(choices)]
        if self._chance(0.3):
            name = adjectives[0].name
            excluded = {name}.union(*(group for group in self._lexicon.contraries if name in group))
            second = [adjective for adjective in choices if adjective.name not in excluded]
            adjectives += [self._one(second)] if second else []
        degree = self._one(self._vocabulary.adverbs["degree"]) if self._chance(0.3) else None
        be = self._lexicon.verbs["be"]
        return Clause(subject, be, self._tense, adjectives=tuple(adjectives), degree=degree)

    def _state(self, subject: NounPhrase) -> Clause:
        """Return a clause about a thing or an animal alone: it is old, does something or is somewhere."""
        draw = self._random.random()
        verbs = self._vocabulary.positional[subject.noun.kind]
        if draw < 0.3 and verbs:
            verb = self._one(verbs)
            return Clause(subject, verb, self._tense, argument=self._spot(verb, "dative", subject))
        return self._does(subject) if 0.3 <= draw < 0.6 else self._is_so(subject)

    def _decorate(self, clause: Clause, *, place: bool = True, spoken_of: bool = False) -> Clause:
        """Add time, place, manner, negation, a modal verb or another tense, where they fit the clause.

        `spoken_of`: the object is mentioned again later, so it must exist: "not", but never "no table".
        """
        rates, vocabulary = self._rates, self._vocabulary
        copula = clause.verb.frame == "copula"
        person = clause.subject is not None and clause.subject.entity.wording.is_person
        draw = self._random.random()
        if self._tense == "present" and draw < rates.perfect and not copula:
            clause.tense = "perfect"
        elif self._tense == "present" and draw < rates.perfect + rates.future:
            clause.tense = "future"
        elif person and not copula and clause.complement is None and self._chance(rates.modal):
            clause.modal = self._one(vocabulary.modals)
        if self._chance(rates.negated):
            if clause.object and clause.object.form == "indefinite":  # "no", "kein"
                clause.object.form = "indefinite" if clause.object.numeral or spoken_of else "negative"
            elif not (clause.argument and clause.argument.noun_phrase.form == "indefinite"):
                clause.negated = True
        elif self._chance(rates.frequency) and clause.tense in ("present", "past"):
            clause.frequency = self._one(vocabulary.adverbs["frequency"])
        if clause.complement:
            return clause
        if person and clause.verb.frame == "intransitive" and self._chance(rates.manner):
            clause.manner = self._one(vocabulary.adverbs["manner"])
        times = [word for word in vocabulary.adverbs["time"] if clause.tense in word.tenses]
        if self._chance(rates.time) and not clause.frequency and times:
            clause.time = self._one(times)
        if place and not copula and clause.argument is None and self._chance(rates.place):
            if self._chance(0.2):
                clause.place = self._one(vocabulary.adverbs["place"])
            else:
                noun = self._one(vocabulary.of_kind["place"])
                assert noun.at is not None
                clause.place = PrepositionalPhrase(noun.at, "dative", NounPhrase(self._entity(noun), "definite"))
        if self._chance(rates.fronted) and not (clause.subject and clause.subject.form == "negative"):
            clause.fronted = clause.movable
        # Draw nothing where the order is fixed, so that those corpora stay as they were.
        if rates.reordered and clause.subject and clause.subject.form != "negative":
            clause.reordered = self._chance(rates.reordered)
        return clause
