"""Plan documents: a few people, and episodes about things.

Pronouns follow one rule throughout: "it" refers to the nearest thing or animal before it that is not merely part of a
place ("under the table") or an attribute ("of the river"); "he" and "she" are the document's man and woman.
"""

from collections.abc import Sequence

from context_nmt.miniature.meaning import Ambiguity, Entity, NounPhrase, Sentence
from context_nmt.miniature.telling import Telling
from context_nmt.miniature.words import Noun
from context_nmt.settings.miniature import CUES, DISTANCES, EPISODES

SHORTEST, LONGEST = 4, 10  # sentences of a document


class Document(Telling):
    """A document under construction, made of episodes of one or a few sentences."""

    def introduce(self, thing: Entity) -> None:
        """Add a sentence with the first mention of a thing."""
        if self._chance(self._rates.subordinate):
            self._add(self._with_subordinate(thing), plain=True)
            return
        subject = self._subject()
        target = self._introduced(thing, subject)
        clause = self._acts_on(target, subject)
        if clause.verb.frame != "directional":
            self._add_relative(target)
        self._decorate(clause, place=False, spoken_of=True)
        if target.relative:  # anything after it would belong to the relative clause
            clause.fronted = "time" if clause.time else None
        else:
            self._companion(clause)
        self._add(clause)

    def refer(self, thing: Entity) -> None:
        """Add a sentence with a pronoun for a thing of an earlier sentence."""
        pronoun = NounPhrase(thing, "pronoun")
        if self._vocabulary.adjectives[thing.wording.noun.kind] and self._chance(0.55):
            clause = self._decorate(self._state_or_owner(pronoun))
        else:
            clause = self._decorate(self._acts_on(pronoun, self._somebody()))
        if clause.tense in ("present", "past") and self._chance(self._rates.coordinated):
            again = self._does_to(self._somebody(), NounPhrase(thing, "pronoun"), neutral=True)
            self._coordinate(clause, again)
        else:
            self._add(clause)

    def pronoun_cross(self) -> None:
        """Add sentences about a thing, then about people, then about the thing by a pronoun."""
        thing = self._thing()
        self.introduce(thing)
        for _ in range(self._weighted(DISTANCES)):
            self.people()
        self.refer(thing)

    def pronoun_within(self) -> None:
        """Add a sentence with a thing and a pronoun for it."""
        thing = self._thing()
        subject = self._somebody()
        target = self._introduced(thing, subject)
        pronoun = NounPhrase(thing, "pronoun")
        if self._chance(0.5):
            clause = self._acts_on(target, subject)
            if self._chance(0.5):
                clause.subordinate = self._state_or_owner(pronoun)
            else:
                clause.subordinate = self._acts_on(pronoun, self._somebody())
            clause.subordinator = self._subordinator()
            self._add(clause)
        else:
            first = self._decorate(self._acts_on(target, subject), place=False, spoken_of=True)
            if self._chance(0.6):
                second = self._acts_on(pronoun, self._somebody(but=subject.entity))
            else:
                second = self._state_or_owner(pronoun)
            self._coordinate(first, second)

    def sense(self) -> None:
        """Use an ambiguous noun with its cue next to it, in another clause, or in the sentence before."""
        noun = self._one(list(self._lexicon.senses.values()))
        position = CUES[self._weighted(CUES)].removeprefix("cue_")
        if self.misleads(noun):
            self.people()
            return
        thing = self._entity(noun)
        if position == "previous":
            self.sense_previous(thing, self._cue(noun))
        else:
            getattr(self, f"sense_{position}")(thing)
        # "it" refers to the nearest thing: no other may follow the noun, and the noun must not be negated ("no bank").
        phrase = self.sentences[-1].ambiguities[0].phrase
        if self._chance(0.3) and position != "far" and phrase.form != "negative":
            self.refer(thing)

    def misleads(self, noun: Noun) -> bool:
        """Return whether the document has already used the word or a cue for one of its senses."""
        other_sense = self._lexicon.other_sense(noun)
        return not self._used.isdisjoint({noun.name, other_sense.name, *noun.cues, *other_sense.cues})

    def _cue(self, noun: Noun) -> Entity:
        return self._entity(self._lexicon.nouns[self._one(noun.cues)])

    def sense_beside(self, thing: Entity) -> None:
        """Use an ambiguous noun with its cue next to it: the muddy bank, the bank of the river."""
        noun, phrase = thing.wording.noun, NounPhrase(thing, "definite")
        if noun.adjectives and self._chance(0.5):
            phrase.adjectives = (self._lexicon.adjectives[self._one(noun.adjectives)],)
            phrase.form = self._one(("definite", "indefinite"))
            cue = (phrase, "adjective 0")
        else:
            phrase.attribute = NounPhrase(self._entity(self._lexicon.nouns[self._one(noun.of)]), "definite")
            cue = (phrase.attribute, "noun")
        clause = self._does_to(self._somebody(), phrase, neutral=True)
        self._add(self._decorate(clause, place=False), ambiguities=[Ambiguity(phrase, "beside", cue)])

    def sense_far(self, thing: Entity) -> None:
        """Use an ambiguous noun with its cue in another clause: when she saw the river, he looked for the bank."""
        cue = NounPhrase(self._cue(thing.wording.noun), self._one(("definite", "indefinite")))
        phrase = NounPhrase(thing, self._one(("definite", "indefinite")))
        first, second = (cue, phrase) if self._chance(0.5) else (phrase, cue)
        clauses = [
            self._does_to(self._mention(person), target, neutral=True)
            for person, target in zip(self._cast, (first, second), strict=True)
        ]
        ambiguity = Ambiguity(phrase, "far", (cue, "noun"))
        if self._chance(0.5):
            self._finish(Sentence(clauses[0], self._conjunction(), clauses[1], ambiguities=(ambiguity,)))
            return
        subordinator = self._subordinator()
        if self._chance(0.4):
            subordinate, main = clauses
            main.fronted = "subordinate"
        else:
            main, subordinate = clauses
        main.subordinator, main.subordinate = subordinator, subordinate
        self._finish(Sentence(main, ambiguities=(ambiguity,)))

    def sense_previous(self, thing: Entity, cue: Entity) -> None:
        """Use an ambiguous noun with its cue in the previous sentence: She saw the river. He looked for the bank."""
        subject = self._somebody()  # a group of people could itself be a cue
        mention = NounPhrase(cue, "indefinite" if self._chance(0.5) else "definite")
        clause = self._does_to(subject, mention, neutral=True)
        self._add(self._decorate(clause, place=False, spoken_of=True), plain=True)
        phrase = NounPhrase(thing, self._one(("definite", "indefinite")))
        clause = self._does_to(self._somebody(), phrase, neutral=True)
        ambiguity = Ambiguity(phrase, "previous", (mention, "noun"))
        self._add(self._decorate(clause, place=False), plain=True, ambiguities=[ambiguity])

    def _weighted(self, names: Sequence[str]) -> int:
        weights = [getattr(self._rates, name) for name in names]
        return self._random.choices(range(len(names)), weights)[0]

    def plan(self) -> list[Sentence]:
        """Return a whole document of 4 to 10 sentences."""
        length = self._random.randint(SHORTEST, LONGEST)
        while len(self.sentences) < length:
            getattr(self, EPISODES[self._weighted(EPISODES)])()
        return self.sentences[:LONGEST]
