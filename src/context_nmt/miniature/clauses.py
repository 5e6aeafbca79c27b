"""Clauses about people and things, with words that go with the kinds of their nouns."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from context_nmt.miniature.lexicon import Vocabulary
from context_nmt.miniature.meaning import Clause, Entity, NounPhrase, PrepositionalPhrase, Tense, Wording
from context_nmt.miniature.words import Adjective, Noun, Verb, Word
from context_nmt.settings.miniature import RateSettings

Choice = TypeVar("Choice")


class Clauses:
    """Draws clauses in one tense."""

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

    def _does(self, subject: NounPhrase) -> Clause | None:
        """Return a clause without objects, such as "somebody sleeps"; None if no verb fits the subject."""
        verbs = self._vocabulary.intransitive[subject.noun.kind]
        return Clause(subject, self._one(verbs), self._tense) if verbs else None

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
        kind = target.noun.kind
        verbs = self._vocabulary.done_to[kind]
        if simple:
            verbs = [verb for verb in verbs if verb.frame == "transitive"]
        elif neutral:
            verbs = [verb for verb in verbs if verb.neutral]
        # German says "darüber", which shows no gender, instead of "über es".
        excluded = () if recipient else ("ditransitive",)
        if target.form == "pronoun" and kind != "person":
            excluded = (*excluded, "prepositional")
        verb = self._one([verb for verb in verbs if verb.frame not in excluded])
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
            first_name = adjectives[0].name
            excluded = {first_name}.union(*(group for group in self._lexicon.contraries if first_name in group))
            second = [adjective for adjective in choices if adjective.name not in excluded]
            adjectives += [self._one(second)] if second else []
        degree = self._one(self._vocabulary.adverbs["degree"]) if self._chance(0.3) else None
        be = self._lexicon.verbs["be"]
        return Clause(subject, be, self._tense, adjectives=tuple(adjectives), degree=degree)

    def _state(self, subject: NounPhrase) -> Clause:
        """Return a clause about a thing or an animal alone: it is old, does something or is somewhere."""
        draw = self._random.random()
        places = self._vocabulary.positional[subject.noun.kind]
        clause = None
        if draw < 0.3 and places:
            verb = self._one(places)
            clause = Clause(subject, verb, self._tense, argument=self._spot(verb, "dative", subject))
        elif 0.3 <= draw < 0.6:
            clause = self._does(subject)
        return clause or self._is_so(subject)

    def _conjunction(self) -> Word:
        """Return "and" or "but"."""
        return self._one(list(self._lexicon.conjunctions.values()))

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
            self._negate(clause, spoken_of=spoken_of)
        elif self._chance(rates.frequency) and clause.tense in ("present", "past"):
            clause.frequency = self._one(vocabulary.adverbs["frequency"])
        if clause.complement:
            return clause
        if person and clause.verb.frame == "intransitive" and self._chance(rates.manner):
            clause.manner = self._one(vocabulary.adverbs["manner"])
        if self._chance(rates.time) and not clause.frequency and vocabulary.times[clause.tense]:
            clause.time = self._one(vocabulary.times[clause.tense])
        if place and not copula and clause.argument is None and self._chance(rates.place):
            clause.place = self._somewhere()
        if self._chance(rates.fronted) and not (clause.subject and clause.subject.form == "negative"):
            clause.fronted = clause.movable
        # Draw nothing where the order is fixed, so that those corpora stay as they were.
        if rates.reordered and clause.subject and clause.subject.form != "negative":
            clause.reordered = self._chance(rates.reordered)
        return clause

    def _somewhere(self) -> Word | PrepositionalPhrase:
        """Return a place: here, or in the garden."""
        if self._chance(0.2):
            return self._one(self._vocabulary.adverbs["place"])
        noun = self._one(self._vocabulary.of_kind["place"])
        assert noun.at is not None
        return PrepositionalPhrase(noun.at, "dative", NounPhrase(self._entity(noun), "definite"))

    def _negate(self, clause: Clause, *, spoken_of: bool) -> None:
        """Negate a clause with "not", or with "no" and "kein" if the object is indefinite."""
        if clause.object and clause.object.form == "indefinite":
            if clause.object.numeral is None and not spoken_of:
                clause.object.form = "negative"
        elif not (clause.argument and clause.argument.noun_phrase.form == "indefinite"):
            clause.negated = True
