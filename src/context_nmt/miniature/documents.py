"""Plans documents: a few people, and episodes about things.

What a pronoun refers to follows one rule throughout: "it" is the nearest thing or animal before it that is not merely
part of a place ("under the table") or an attribute ("of the river"); "he" and "she" are the document's man and woman.
"""

from collections.abc import Sequence

from context_nmt.miniature.lexicon import Noun
from context_nmt.miniature.meaning import (
    Ambiguity,
    Clause,
    Entity,
    NounPhrase,
    Sentence,
)
from context_nmt.miniature.telling import Telling
from context_nmt.settings.miniature import CUES, DISTANCES, EPISODES

SHORTEST, LONGEST = 4, 10  # sentences of a document


class Document(Telling):
    """One document in the making: episodes of one to a few sentences."""

    def introduce(self, thing: Entity, *, neutral: bool = False) -> NounPhrase:
        """A sentence that speaks of a thing for the first time."""
        if not neutral and self._clauses.chance(self._rates.subordinate):
            clause = self._with_subordinate(thing)
            self._add(clause, plain=True)
            return _target(clause)
        # A whole group could be a cue of its own.
        subject = self._mention(self._one_of_the_cast()) if neutral else self._subject()
        target = self._introduced(thing, subject, plain=neutral)
        clause = self._does_to(target, subject, neutral=neutral)
        if not neutral and clause.verb.frame != "directional":
            self._add_relative(target)
        self._clauses.decorate(clause, place=False, spoken_of=True)
        if target.relative:  # what stood behind it would belong to it
            clause.fronted = "time" if clause.time else None
        elif not neutral:
            self._companion(clause)
        self._add(clause, plain=neutral)
        return target

    def refer(self, thing: Entity) -> None:
        """A sentence with a pronoun for a thing of an earlier sentence."""
        pronoun = NounPhrase(thing, "pronoun")
        if self._vocabulary.adjectives[thing.wording.noun.kind] and self._clauses.chance(0.55):
            clause = self._clauses.decorate(self._state(pronoun))
        else:
            clause = self._clauses.decorate(self._does_to(pronoun, self._mention(self._one_of_the_cast())))
        if clause.tense in ("present", "past") and self._clauses.chance(self._rates.coordinated):
            again = NounPhrase(thing, "pronoun")
            other = self._clauses.does_to(self._mention(self._one_of_the_cast()), again, neutral=True)
            self._coordinate(clause, other)
        else:
            self._add(clause)

    def pronoun_cross(self) -> None:
        """A thing, sentences about people, and a pronoun for the thing."""
        thing = self._thing()
        self.introduce(thing)
        distance = 1 + self._weighted(DISTANCES)
        for _ in range(distance - 1):
            self.people()
        self.refer(thing)

    def pronoun_within(self) -> None:
        """A thing and its pronoun in one sentence."""
        thing = self._thing()
        subject = self._mention(self._one_of_the_cast())
        target = self._introduced(thing, subject)
        pronoun = NounPhrase(thing, "pronoun")
        if self._clauses.chance(0.5):
            clause = self._does_to(target, subject)
            if self._clauses.chance(0.5):
                clause.subordinate = self._state(pronoun)
            else:
                clause.subordinate = self._does_to(pronoun, self._mention(self._one_of_the_cast()))
            clause.subordinator = self._subordinator()
            self._add(clause)
        else:
            first = self._clauses.decorate(self._does_to(target, subject), place=False, spoken_of=True)
            if self._clauses.chance(0.6):
                second = self._does_to(pronoun, self._mention(self._one_of_the_cast(but=subject.entity)))
            else:
                second = self._state(pronoun)
            self._coordinate(first, second)

    def sense(self) -> None:
        """An ambiguous noun, with its cue beside it, in another clause, or in the sentence before."""
        noun = self._clauses.one(list(self._vocabulary.lexicon.senses.values()))
        position = CUES[self._weighted(CUES)].removeprefix("cue_")
        if self.misleads(noun):
            return self.people()
        thing = self._clauses.entity(noun)
        if position == "beside":
            self.sense_beside(thing)
        elif position == "far":
            self.sense_far(thing)
        else:
            self.sense_previous(thing, self._cue(noun))
        # "it" would be the nearer one: no other thing, and not what there is none of.
        phrase = self.sentences[-1].ambiguities[0].phrase
        if self._clauses.chance(0.3) and position != "far" and phrase.form != "negative":
            self.refer(thing)
        return None

    def misleads(self, noun: Noun) -> bool:
        """Tell whether the document has said the word already, or what decides for one of its senses."""
        assert noun.sense is not None
        other = self._vocabulary.lexicon.senses[noun.sense.other]
        assert other.sense is not None
        return not self._used.isdisjoint({noun.name, other.name, *noun.sense.cues, *other.sense.cues})

    def _cue(self, noun: Noun) -> Entity:
        assert noun.sense is not None
        return self._clauses.entity(self._vocabulary.lexicon.nouns[self._clauses.one(noun.sense.cues)])

    def sense_beside(self, thing: Entity) -> None:
        """The sandy bank, the bank of the river."""
        sense = thing.wording.noun.sense
        assert sense is not None
        phrase = NounPhrase(thing, "definite")
        if sense.adjectives and self._clauses.chance(0.5):
            name = self._clauses.one(sense.adjectives)
            phrase.adjectives = (self._vocabulary.lexicon.adjectives[name],)
            phrase.form = self._clauses.one(("definite", "indefinite"))
            cue = (phrase, "adjective 0")
        else:
            noun = self._vocabulary.lexicon.nouns[self._clauses.one(sense.of)]
            phrase.attribute = NounPhrase(self._clauses.entity(noun), "definite")
            cue = (phrase.attribute, "noun")
        clause = self._clauses.does_to(self._mention(self._one_of_the_cast()), phrase, neutral=True)
        self._add(self._clauses.decorate(clause, place=False), ambiguities=[Ambiguity(phrase, "beside", cue)])

    def sense_far(self, thing: Entity) -> None:
        """When she saw the river, he looked for the bank; or the other way round."""
        cue = NounPhrase(self._cue(thing.wording.noun), self._clauses.one(("definite", "indefinite")))
        phrase = NounPhrase(thing, self._clauses.one(("definite", "indefinite")))
        first, second = (cue, phrase) if self._clauses.chance(0.5) else (phrase, cue)
        clauses = [
            self._clauses.does_to(self._mention(person), target, neutral=True)
            for person, target in zip(self._cast, (first, second), strict=True)
        ]
        ambiguity = Ambiguity(phrase, "far", (cue, "noun"))
        if self._clauses.chance(0.5):
            self._finish(Sentence(clauses[0], self._clauses.conjunction(), clauses[1], ambiguities=(ambiguity,)))
            return
        subordinator = self._subordinator()
        if self._clauses.chance(0.4):
            subordinate, main = clauses
            main.fronted = "subordinate"
        else:
            main, subordinate = clauses
        main.subordinator, main.subordinate = subordinator, subordinate
        self._finish(Sentence(main, ambiguities=(ambiguity,)))

    def sense_previous(self, thing: Entity, cue: Entity) -> None:
        """She saw the river. He looked for the bank."""
        mention = self.introduce(cue, neutral=True)
        phrase = NounPhrase(thing, self._clauses.one(("definite", "indefinite")))
        clause = self._clauses.does_to(self._mention(self._one_of_the_cast()), phrase, neutral=True)
        ambiguity = Ambiguity(phrase, "previous", (mention, "noun"))
        self._add(self._clauses.decorate(clause, place=False), plain=True, ambiguities=[ambiguity])

    def _weighted(self, names: Sequence[str]) -> int:
        weights = [getattr(self._rates, name) for name in names]
        return self._random.choices(range(len(names)), weights)[0]

    def plan(self) -> list[Sentence]:
        """A whole document of 4 to 10 sentences."""
        length = self._random.randint(SHORTEST, LONGEST)
        while len(self.sentences) < length:
            getattr(self, EPISODES[self._weighted(EPISODES)])()
        return self.sentences[:LONGEST]


def _target(clause: Clause) -> NounPhrase:
    if clause.object:
        return clause.object
    assert clause.argument is not None
    return clause.argument.noun_phrase
