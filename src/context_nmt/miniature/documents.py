"""Plan documents: a few people, and episodes about things.

Pronouns follow one rule throughout: "it" refers to the nearest thing or animal before it that is not merely part of a
place ("under the table") or an attribute ("of the river"); "he" and "she" are the document's man and woman.
"""

from collections.abc import Sequence
from random import Random

from context_nmt.miniature.clauses import Clauses, Vocabulary
from context_nmt.miniature.lexicon import Noun, Word
from context_nmt.miniature.meaning import Ambiguity, Clause, Entity, Form, NounPhrase, PrepositionalPhrase, Sentence
from context_nmt.settings.miniature import CUES, DISTANCES, EPISODES, RateSettings

SHORTEST, LONGEST = 4, 10  # sentences of a document


class Document(Clauses):
    """A document under construction, made of episodes of one or a few sentences."""

    def __init__(self, vocabulary: Vocabulary, rates: RateSettings, random: Random):
        super().__init__(vocabulary, rates, random)
        self.sentences: list[Sentence] = []
        self._cast = [self._person(gender) for gender in ("masculine", "feminine")]
        while len({person.name.en.split()[-1] if person.name else person for person in self._cast}) == 1:
            self._cast[1] = self._person("feminine")
        random.shuffle(self._cast)
        self._here: set[Entity] = set()  # people mentioned in this sentence
        self._before: set[Entity] = set()  # people mentioned in the previous sentence
        self._known: set[Entity] = set()
        self._used: set[str] = {person.wording.noun.name for person in self._cast}  # nouns of this document

    def plan(self) -> list[Sentence]:
        """Return a whole document of 4 to 10 sentences."""
        length = self._random.randint(SHORTEST, LONGEST)
        while len(self.sentences) < length:
            getattr(self, self._weighted(EPISODES))()
        return self.sentences[:LONGEST]

    def _weighted(self, names: Sequence[str]) -> str:
        return self._random.choices(names, [getattr(self._rates, name) for name in names])[0]

    # Episodes

    def pronoun_cross(self) -> None:
        """Add sentences about a thing, then about people, then about the thing by a pronoun."""
        thing = self._thing()
        self._introduce(thing)
        for _ in range(DISTANCES.index(self._weighted(DISTANCES))):
            self.people()
        self._refer(thing)

    def pronoun_within(self) -> None:
        """Add a sentence with a thing and a pronoun for it."""
        thing = self._thing()
        subject = self._somebody()
        target = self._introduced(thing, subject)
        pronoun = NounPhrase(thing, "pronoun")
        if self._chance(0.5):
            clause = self._acts_on(subject, target)
            if self._chance(0.5):
                clause.subordinate = self._state_or_owner(pronoun)
            else:
                clause.subordinate = self._acts_on(self._somebody(), pronoun)
            clause.subordinator = self._subordinator()
            self._add(clause)
        else:
            first = self._decorate(self._acts_on(subject, target), place=False, spoken_of=True)
            if self._chance(0.6):
                second = self._acts_on(self._somebody(but=subject.entity), pronoun)
            else:
                second = self._state_or_owner(pronoun)
            self._coordinate(first, second)

    def sense(self) -> None:
        """Use an ambiguous noun with its cue next to it, in another clause, or in the sentence before."""
        noun = self._one(list(self._lexicon.senses.values()))
        position = self._weighted(CUES).removeprefix("cue_")
        if self.misleads(noun):
            self.people()
            return
        thing = self._entity(noun)
        getattr(self, f"sense_{position}")(thing)
        # "it" refers to the nearest thing: no other may follow the noun, and the noun must not be negated ("no bank").
        phrase = self.sentences[-1].ambiguities[0].phrase
        if self._chance(0.3) and position != "far" and phrase.form != "negative":
            self._refer(thing)

    def misleads(self, noun: Noun) -> bool:
        """Return whether the document has already used the word or a cue for one of its senses."""
        other_sense = self._lexicon.other_sense(noun)
        return not self._used.isdisjoint({noun.name, other_sense.name, *noun.cues, *other_sense.cues})

    def sense_beside(self, thing: Entity) -> None:
        """Use an ambiguous noun with its cue next to it: the muddy bank, the bank of the river."""
        noun, phrase = thing.wording.noun, NounPhrase(thing, "definite")
        if noun.adjectives and self._chance(0.5):
            phrase.adjectives = (self._lexicon.adjectives[self._one(noun.adjectives)],)
            phrase.form = self._one(("definite", "indefinite"))
            cue = (phrase, "adjective 0")
        else:
            phrase.attribute = NounPhrase(self._cue(noun.of), "definite")
            cue = (phrase.attribute, "noun")
        clause = self._does_to(self._somebody(), phrase, neutral=True)
        self._add(self._decorate(clause, place=False), ambiguities=(Ambiguity(phrase, "beside", cue),))

    def sense_far(self, thing: Entity) -> None:
        """Use an ambiguous noun with its cue in another clause: when she saw the river, he looked for the bank."""
        cue = NounPhrase(self._cue(thing.wording.noun.cues), self._one(("definite", "indefinite")))
        phrase = NounPhrase(thing, self._one(("definite", "indefinite")))
        order = (cue, phrase) if self._chance(0.5) else (phrase, cue)
        main, subordinate = [
            self._does_to(self._mention(person), target, neutral=True)
            for person, target in zip(self._cast, order, strict=True)
        ]
        ambiguities = (Ambiguity(phrase, "far", (cue, "noun")),)
        if self._chance(0.5):
            self._coordinate(main, subordinate, ambiguities)
            return
        subordinator = self._subordinator()
        if self._chance(0.4):
            main, subordinate = subordinate, main
            main.fronted = "subordinate"
        main.subordinator, main.subordinate = subordinator, subordinate
        self._finish(Sentence(main, ambiguities=ambiguities))

    def sense_previous(self, thing: Entity, cue: Entity | None = None) -> None:
        """Use an ambiguous noun with its cue in the previous sentence: She saw the river. He looked for the bank."""
        cue = cue or self._cue(thing.wording.noun.cues)
        subject = self._somebody()  # a group of people could itself be a cue
        mention = NounPhrase(cue, "indefinite" if self._chance(0.5) else "definite")
        clause = self._does_to(subject, mention, neutral=True)
        self._add(self._decorate(clause, place=False, spoken_of=True), plain=True)
        phrase = NounPhrase(thing, self._one(("definite", "indefinite")))
        clause = self._does_to(self._somebody(), phrase, neutral=True)
        ambiguity = Ambiguity(phrase, "previous", (mention, "noun"))
        self._add(self._decorate(clause, place=False), plain=True, ambiguities=(ambiguity,))

    def people(self) -> None:
        """Add a sentence that mentions only people and places."""
        if self._chance(self._rates.coordinated):
            first, second = [self._decorate(self._about_people(self._mention(person))) for person in self._cast]
            self._coordinate(first, second)
        elif self._chance(self._rates.subordinate):
            clause = self._with_subordinate(None)
            self._add(clause, plain=clause.fronted == "subordinate")
        else:
            subject = self._subject()
            if subject.form == "definite" and not subject.other and self._chance(self._rates.relative):
                subject.relative = self._does(subject)
                subject.relative.subject = None
            self._add(self._decorate(self._about_people(subject)))

    # Sentences

    def _introduce(self, thing: Entity) -> None:
        """Add a sentence with the first mention of a thing."""
        if self._chance(self._rates.subordinate):
            self._add(self._with_subordinate(thing), plain=True)
            return
        subject = self._subject()
        target = self._introduced(thing, subject)
        clause = self._acts_on(subject, target)
        if clause.verb.frame != "directional":
            self._add_relative(target)
        self._decorate(clause, place=False, spoken_of=True)
        if target.relative:  # anything after it would belong to the relative clause
            clause.fronted = "time" if clause.time else None
        else:
            self._add_companion(clause)
        self._add(clause)

    def _refer(self, thing: Entity) -> None:
        """Add a sentence with a pronoun for a thing of an earlier sentence."""
        pronoun = NounPhrase(thing, "pronoun")
        if self._vocabulary.adjectives[thing.wording.noun.kind] and self._chance(0.55):
            clause = self._decorate(self._state_or_owner(pronoun))
        else:
            clause = self._decorate(self._acts_on(self._somebody(), pronoun))
        if clause.tense in ("present", "past") and self._chance(self._rates.coordinated):
            again = self._does_to(self._somebody(), NounPhrase(thing, "pronoun"), neutral=True)
            self._coordinate(clause, again)
        else:
            self._add(clause)

    def _add(self, clause: Clause, *, plain: bool = False, ambiguities: tuple[Ambiguity, ...] = ()) -> None:
        """Add a sentence; unless `plain`, sometimes as a question, as direct speech or with "But" before it."""
        sentence = Sentence(clause, ambiguities=ambiguities)
        draw = self._random.random()
        question_limit, speech_limit = self._rates.question, self._rates.question + self._rates.speech
        if not plain:
            simple = clause.fronted is None and clause.frequency is None and clause.subordinate is None
            if draw < question_limit and simple and clause.complement is None:
                sentence.question = True
            elif draw < speech_limit:
                person = self._one_of_the_cast(but=clause.subject.entity if clause.subject else None)
                if person not in self._here:  # nobody calls themselves by name
                    self._mention(person)
                    sentence.speaker = NounPhrase(person, "name" if person.name else "definite")
                    sentence.speaking, sentence.speaking_tense = self._lexicon.verbs["say"], self._tense
            elif draw < speech_limit + self._rates.opening and self.sentences:
                sentence.opening = self._lexicon.conjunctions["but"]
        self._finish(sentence)

    def _coordinate(self, first: Clause, second: Clause, ambiguities: tuple[Ambiguity, ...] = ()) -> None:
        self._finish(Sentence(first, self._one(self._vocabulary.conjunctions), second, ambiguities=ambiguities))

    def _finish(self, sentence: Sentence) -> None:
        self.sentences.append(sentence)
        self._used.update(phrase.noun.name for phrase in sentence.phrases())
        self._before, self._here = self._here, set()

    # Mentions

    def _person(self, gender: str) -> Entity:
        person = self._entity(self._one(self._vocabulary.people[gender]))
        if self._chance(self._rates.named):
            person.name = self._one(self._vocabulary.names[gender])
        return person

    def _mention(self, person: Entity) -> NounPhrase:
        """Return a pronoun if this sentence mentioned the person, often if the last one did; else a name or a noun."""
        use_pronoun = person in self._here or (person in self._before and self._chance(self._rates.person_pronoun))
        known = person in self._known
        self._here.add(person)
        self._known.add(person)
        if use_pronoun:
            return NounPhrase(person, "pronoun")
        if person.name:
            return NounPhrase(person, "name")
        return NounPhrase(person, "definite", () if known else self._adjective(person.wording.noun))

    def _one_of_the_cast(self, but: Entity | None = None) -> Entity:
        return self._one([person for person in self._cast if person is not but])

    def _somebody(self, but: Entity | None = None) -> NounPhrase:
        return self._mention(self._one_of_the_cast(but))

    def _subject(self) -> NounPhrase:
        """Return one of the two people, sometimes both, or a group of other people."""
        if self._chance(0.06) and not self._here:
            self._before = set()
            phrase, second = [self._mention(person) for person in self._cast]
            phrase.other = second
            return phrase
        if self._chance(self._rates.plural):
            gender = self._one(("masculine", "feminine"))
            group = self._entity(self._one(self._vocabulary.people[gender]), plural=True)
            return NounPhrase(group, "definite", self._adjective(group.wording.noun))
        return self._somebody()

    def _thing(self) -> Entity:
        """Return a thing or an animal that this document has not mentioned."""
        while True:
            noun = self._one(self._vocabulary.things)
            if noun.name not in self._used:
                self._used.add(noun.name)
                return self._entity(noun, plural=self._chance(self._rates.plural))

    def _cue(self, names: Sequence[str]) -> Entity:
        return self._entity(self._lexicon.nouns[self._one(names)])

    def _introduced(self, thing: Entity, subject: NounPhrase) -> NounPhrase:
        """Return the first mention of a thing: a table, his table, Anna's table, this table, two tables."""
        form: Form = "definite"
        numeral = possessor = None
        draw = self._random.random()
        if draw < 0.55:
            form = "indefinite"
            if thing.wording.plural and self._chance(0.5):
                numeral = self._one(self._vocabulary.numerals)
        elif draw < 0.7 and not subject.plural and subject.entity in self._cast:
            form, possessor = "possessive", NounPhrase(subject.entity, "pronoun")
        elif draw < 0.75 and not subject.other and (owner := self._one_of_the_cast(but=subject.entity)).name:
            form, possessor = "possessive", NounPhrase(owner, "name")
            self._here.add(owner)
            self._known.add(owner)
        elif draw < 0.8 and not thing.wording.plural:
            form = "demonstrative"
        return NounPhrase(thing, form, self._adjective(thing.wording.noun), numeral=numeral, possessor=possessor)

    # Clauses

    def _acts_on(self, subject: NounPhrase, target: NounPhrase) -> Clause:
        """Return a clause in which the other person may be the recipient."""
        recipient, mentioned = None, set(self._here)
        alone = subject.other or (target.possessor and target.possessor.form == "name")
        if not alone and subject.entity in self._cast:
            recipient = self._somebody(but=subject.entity)
        clause = self._does_to(subject, target, recipient)
        if recipient and clause.indirect is None:
            self._here = mentioned
        return clause

    def _state_or_owner(self, subject: NounPhrase) -> Clause:
        """Return a clause: a thing is old, is somewhere or belongs to one of the people."""
        belong = self._vocabulary.belonging
        if subject.noun.kind in belong[0].subject and self._chance(0.15):
            owner = self._somebody()
            return Clause(subject, self._one(belong), self._tense, object=owner)
        return self._state(subject)

    def _add_companion(self, clause: Clause) -> None:
        """Add, at random, "for", "with" or "without" and the other person."""
        subject = clause.subject
        if clause.place or clause.verb.frame != "transitive" or not subject or subject.entity not in self._cast:
            return
        companion = self._one_of_the_cast(but=subject.entity)
        if companion not in self._here and not subject.other and self._chance(self._rates.companion):
            preposition = self._one(self._vocabulary.for_people)
            clause.place = PrepositionalPhrase(preposition, preposition.case, self._mention(companion))

    def _add_relative(self, phrase: NounPhrase) -> None:
        """Add, at random, a relative clause: that was old, that she bought."""
        if not self._chance(self._rates.relative) or phrase.form not in ("definite", "indefinite"):
            return
        if self._chance(0.5):
            phrase.relative = self._state(phrase)
            phrase.relative.subject = None
        else:
            phrase.relative_role = "object"
            phrase.relative = self._does_to(self._somebody(), phrase, simple=True)
            phrase.relative.object = None

    def _about_people(self, subject: NounPhrase, *, clausal: bool = True) -> Clause:
        draw = self._random.random()
        if draw < 0.4 or subject.other:
            return self._does(subject)
        if draw < 0.65 or subject.entity not in self._cast:
            return self._is_so(subject)
        if draw < 0.75 and clausal:
            clause = Clause(subject, self._one(self._vocabulary.clausal), self._tense)
            other_person = self._somebody()
            clause.complement = self._does(other_person) if self._chance(0.5) else self._is_so(other_person)
            return clause
        return self._does_to(subject, self._somebody(but=subject.entity))

    def _with_subordinate(self, target: Entity | None) -> Clause:
        """Return a clause about people or a thing, with a subordinate clause about people."""
        fronted = self._chance(0.4)
        subordinate = self._about_people(self._somebody(), clausal=False) if fronted else None
        subject = self._somebody()
        if target is None:
            main = self._about_people(subject, clausal=False)
        else:
            main = self._acts_on(subject, self._introduced(target, subject))
        main.subordinate = subordinate or self._about_people(self._somebody(), clausal=False)
        main.subordinator = self._subordinator()
        main.fronted = "subordinate" if fronted else None
        return main

    def _subordinator(self) -> Word:
        return self._one([word for word in self._lexicon.subordinators.values() if self._tense in word.tenses])
