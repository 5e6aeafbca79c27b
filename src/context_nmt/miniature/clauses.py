"""Draw clauses about people and things, with words that go with the kinds of their nouns."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar, get_args

from context_nmt.miniature.lexicon import Adjective, Lexicon, Noun, Verb, WithObject
from context_nmt.miniature.meaning import Clause, Entity, NounPhrase, PrepositionalPhrase, Tense, Wording
from context_nmt.settings.miniature import RateSettings

Choice = TypeVar("Choice")


class LexiconIndex:
    """The lexicon, indexed for drawing clauses."""

    def __init__(self, lexicon: Lexicon):
        self.lexicon = lexicon
        nouns, adverbs, prepositions = lexicon.nouns.values(), lexicon.adverbs.values(), lexicon.prepositions
        kinds = list(dict.fromkeys(noun.kind for noun in (*nouns, *lexicon.senses.values())))
        self.nouns_of_kind = {kind: [noun for noun in nouns if noun.kind == kind] for kind in kinds}
        genders, people = ("masculine", "feminine"), self.nouns_of_kind["person"]
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
        self.actions_on = {kind: [verb for verb in actions if kind in verb.object] for kind in kinds}
        self.intransitive, self.positional = (
            {kind: [verb for verb in verbs if verb.frame == frame and kind in verb.subject] for kind in kinds}
            for frame in ("intransitive", "positional")
        )
        self.clausal, self.modals = ([verb for verb in verbs if verb.frame == frame] for frame in ("clausal", "modal"))
        self.belonging = [verb for verb in verbs if verb.frame == "dative" and "person" not in verb.subject]
        self.adverbs = {word.kind: [other for other in adverbs if other.kind == word.kind] for word in adverbs}
        self.conjunctions, self.numerals = list(lexicon.conjunctions.values()), list(lexicon.numerals.values())
        self.companion_prepositions = [word for word in prepositions.values() if "person" in word.kinds]
        self.location_nouns = {  # by the name of the preposition
            name: [noun for noun in nouns if noun.kind in preposition.kinds and len(noun.de) == 1]
            for name, preposition in prepositions.items()
        }
        # One thing of each German gender, and one man and one woman; together with "they", they have all pairs of
        # pronouns: he er, she sie, it er, it sie, it es, they sie.
        self.thing_of_gender = {noun.de[0].gender: Wording.usual(noun) for noun in reversed(self.things)}
        self.person_of_gender = {gender: Wording.usual(nouns[0]) for gender, nouns in self.people.items()}
        they = replace(self.thing_of_gender["neuter"], plural=True)
        self.all_pronouns = [*self.person_of_gender.values(), *self.thing_of_gender.values(), they]


class Clauses:
    """Draws clauses, all in the same tense."""

    def __init__(self, index: LexiconIndex, rates: RateSettings, random: Random):
        self._index, self._rates, self._random = index, rates, random
        self._lexicon = index.lexicon
        self._tense: Tense = "present" if self._chance(rates.present) else "past"

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _choose(self, choices: Sequence[Choice]) -> Choice:
        return choices[int(self._random.random() * len(choices))]

    def _entity(self, noun: Noun, *, plural: bool = False) -> Entity:
        """Return a new person or thing with one of the noun's synonyms in each language."""
        return Entity(Wording(noun, self._choose(noun.en), self._choose(noun.de), plural))

    def _adjective(self, noun: Noun) -> tuple[Adjective, ...]:
        """Draw one adjective that fits a noun, or none."""
        choices = self._index.adjectives[noun.kind]
        return (self._choose(choices),) if choices and self._chance(self._rates.adjective) else ()

    def _intransitive(self, subject: NounPhrase) -> Clause:
        """Draw a clause without objects, "somebody sleeps", or a description if no such verb fits the subject."""
        verbs = self._index.intransitive[subject.noun.kind]
        return Clause(subject, self._choose(verbs), self._tense) if verbs else self._description(subject)

    def _action(
        self,
        subject: NounPhrase,
        target: NounPhrase,
        recipient: NounPhrase | None = None,
        *,
        neutral: bool = False,
        simple: bool = False,
    ) -> Clause:
        """Draw a clause: somebody buys a table, waits for a dog or, with a recipient, gives someone a letter.

        `neutral` excludes verbs that say something about the target; `simple` excludes prepositions and recipients.
        """
        # Instead of "über es", German has "darüber", which does not show gender.
        hides_gender = target.form == "pronoun" and not target.entity.wording.is_person
        verb = self._choose(
            [
                verb
                for verb in self._index.actions_on[target.noun.kind]
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
            clause.argument = self._location(verb, "accusative", target)
        return clause

    def _location(self, verb: Verb, case: str, located: NounPhrase) -> PrepositionalPhrase:
        name = self._choose(verb.prepositions)
        nouns = [noun for noun in self._index.location_nouns[name] if noun is not located.noun]
        location = NounPhrase(self._entity(self._choose(nouns)), "definite")
        return PrepositionalPhrase(self._lexicon.prepositions[name], case, location)

    def _description(self, subject: NounPhrase, *, allowed: Sequence[Adjective] = ()) -> Clause:
        """Draw a clause: something is old, or very old and heavy; by default, all fitting adjectives are allowed."""
        choices = allowed or self._index.adjectives[subject.noun.kind]
        adjectives = [self._choose(choices)]
        if self._chance(0.3):
            name = adjectives[0].name
            excluded = {name}.union(*(group for group in self._lexicon.contraries if name in group))
            second = [adjective for adjective in choices if adjective.name not in excluded]
            adjectives += [self._choose(second)] if second else []
        degree = self._choose(self._index.adverbs["degree"]) if self._chance(0.3) else None
        be = self._lexicon.verbs["be"]
        return Clause(subject, be, self._tense, adjectives=tuple(adjectives), degree=degree)

    def _state(self, subject: NounPhrase) -> Clause:
        """Draw a clause about only a thing or an animal: it is old, does something or is somewhere."""
        draw = self._random.random()
        verbs = self._index.positional[subject.noun.kind]
        if draw < 0.3 and verbs:
            verb = self._choose(verbs)
            return Clause(subject, verb, self._tense, argument=self._location(verb, "dative", subject))
        return self._intransitive(subject) if 0.3 <= draw < 0.6 else self._description(subject)

    def _decorate(self, clause: Clause, *, place: bool = True, object_exists: bool = False) -> Clause:
        """Add time, place, manner, negation, a modal verb or another tense, where they fit the clause.

        `object_exists`: the object is mentioned again later, so the negation is "not", never "no table".
        """
        rates, index = self._rates, self._index
        is_copula = clause.verb.frame == "copula"
        is_person = clause.subject is not None and clause.subject.entity.wording.is_person
        draw = self._random.random()
        if self._tense == "present" and draw < rates.perfect and not is_copula:
            clause.tense = "perfect"
        elif self._tense == "present" and draw < rates.perfect + rates.future:
            clause.tense = "future"
        elif is_person and not is_copula and clause.complement is None and self._chance(rates.modal):
            clause.modal = self._choose(index.modals)
        if self._chance(rates.negated):
            if clause.object and clause.object.form == "indefinite":  # "no", "kein"
                clause.object.form = "indefinite" if clause.object.numeral or object_exists else "negative"
            elif not (clause.argument and clause.argument.noun_phrase.form == "indefinite"):
                clause.negated = True
        elif self._chance(rates.frequency) and clause.tense in ("present", "past"):
            clause.frequency = self._choose(index.adverbs["frequency"])
        if clause.complement:
            return clause
        if is_person and clause.verb.frame == "intransitive" and self._chance(rates.manner):
            clause.manner = self._choose(index.adverbs["manner"])
        times = [word for word in index.adverbs["time"] if clause.tense in word.tenses]
        if self._chance(rates.time) and not clause.frequency and times:
            clause.time = self._choose(times)
        if place and not is_copula and clause.argument is None and self._chance(rates.place):
            if self._chance(0.2):
                clause.place = self._choose(index.adverbs["place"])
            else:
                noun = self._choose(index.nouns_of_kind["place"])
                assert noun.at is not None
                clause.place = PrepositionalPhrase(noun.at, "dative", NounPhrase(self._entity(noun), "definite"))
        if self._chance(rates.fronted) and not (clause.subject and clause.subject.form == "negative"):
            clause.fronted = clause.movable
        # No draw if the order is fixed, so that corpora without this rate stay as they were.
        if rates.reordered and clause.subject and clause.subject.form != "negative":
            clause.reordered = self._chance(rates.reordered)
        return clause
