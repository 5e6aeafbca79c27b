"""Plan documents: a few people, and episodes about things.

All pronouns follow one rule: "it" refers to the nearest thing or animal before it that is not merely part of a place
("under the table") or an attribute ("of the river"); "he" and "she" are the document's man and woman.
"""

from collections.abc import Sequence
from random import Random

from context_nmt.miniature.clauses import Clauses, LexiconIndex
from context_nmt.miniature.lexicon import Noun, Word
from context_nmt.miniature.meaning import Ambiguity, Clause, Entity, Form, NounPhrase, PrepositionalPhrase, Sentence
from context_nmt.settings.miniature import CUES, DISTANCES, EPISODES, RateSettings

MIN_SENTENCES, MAX_SENTENCES = 4, 10  # per document


class Document(Clauses):
    """A document under construction, made of episodes of one or a few sentences."""

    def __init__(self, index: LexiconIndex, rates: RateSettings, random: Random):
        super().__init__(index, rates, random)
        self.sentences: list[Sentence] = []
        self._cast = [self._person(gender) for gender in ("masculine", "feminine")]
        while len({person.name.en.split()[-1] if person.name else person for person in self._cast}) == 1:
            self._cast[1] = self._person("feminine")
        random.shuffle(self._cast)
        self._mentioned_here: set[Entity] = set()  # people mentioned in this sentence
        self._mentioned_before: set[Entity] = set()  # people mentioned in the previous sentence
        self._introduced_people: set[Entity] = set()
        self._used_nouns: set[str] = {person.wording.noun.name for person in self._cast}  # nouns of this document

    def plan(self) -> list[Sentence]:
        """Return a whole document of 4 to 10 sentences."""
        length = self._random.randint(MIN_SENTENCES, MAX_SENTENCES)
        while len(self.sentences) < length:
            getattr(self, self._weighted(EPISODES))()
        return self.sentences[:MAX_SENTENCES]

    def _weighted(self, names: Sequence[str]) -> str:
        return self._random.choices(names, [getattr(self._rates, name) for name in names])[0]

    # Episodes

    def pronoun_cross(self) -> None:
        """Add sentences about a thing, then about people, then one with a pronoun for the thing."""
        thing = self._thing()
        self._introduce(thing)
        for _ in range(DISTANCES.index(self._weighted(DISTANCES))):
            self.people()
        self._refer(thing)

    def pronoun_within(self) -> None:
        """Add a sentence with a thing and a pronoun for it."""
        thing = self._thing()
        subject = self._mention_somebody()
        target = self._introduced(thing, subject)
        pronoun = NounPhrase(thing, "pronoun")
        if self._chance(0.5):
            clause = self._action_with_recipient(subject, target)
            if self._chance(0.5):
                clause.subordinate = self._state_or_ownership(pronoun)
            else:
                clause.subordinate = self._action_with_recipient(self._mention_somebody(), pronoun)
            clause.subordinator = self._subordinator()
            self._add(clause)
        else:
            first = self._decorate(self._action_with_recipient(subject, target), place=False, object_exists=True)
            if self._chance(0.6):
                second = self._action_with_recipient(self._mention_somebody(excluded=subject.entity), pronoun)
            else:
                second = self._state_or_ownership(pronoun)
            self._coordinate(first, second)

    def sense(self) -> None:
        """Use an ambiguous noun with its cue next to it, in another clause, or in the previous sentence."""
        noun = self._choose(list(self._lexicon.senses.values()))
        position = self._weighted(CUES).removeprefix("cue_")
        if self.misleads(noun):
            self.people()
            return
        thing = self._entity(noun)
        getattr(self, f"sense_{position}")(thing)
        # "it" refers to the nearest thing: no other thing may follow the noun, which must not be negated ("no bank").
        phrase = self.sentences[-1].ambiguities[0].phrase
        if self._chance(0.3) and position != "far" and phrase.form != "negative":
            self._refer(thing)

    def misleads(self, noun: Noun) -> bool:
        """Return whether the document has already used the word or a cue for one of its senses."""
        other_sense = self._lexicon.other_sense(noun)
        return not self._used_nouns.isdisjoint({noun.name, other_sense.name, *noun.cues, *other_sense.cues})

    def sense_beside(self, thing: Entity) -> None:
        """Use an ambiguous noun with its cue next to it: the muddy bank, the bank of the river."""
        noun, phrase = thing.wording.noun, NounPhrase(thing, "definite")
        if noun.adjectives and self._chance(0.5):
            phrase.adjectives = (self._lexicon.adjectives[self._choose(noun.adjectives)],)
            phrase.form = self._choose(("definite", "indefinite"))
            cue = (phrase, "adjective 0")
        else:
            phrase.attribute = NounPhrase(self._cue(noun.of), "definite")
            cue = (phrase.attribute, "noun")
        clause = self._action(self._mention_somebody(), phrase, neutral=True)
        self._add(self._decorate(clause, place=False), ambiguities=(Ambiguity(phrase, "beside", cue),))

    def sense_far(self, thing: Entity) -> None:
        """Use an ambiguous noun with its cue in another clause: when she saw the river, he looked for the bank."""
        cue = NounPhrase(self._cue(thing.wording.noun.cues), self._choose(("definite", "indefinite")))
        phrase = NounPhrase(thing, self._choose(("definite", "indefinite")))
        order = (cue, phrase) if self._chance(0.5) else (phrase, cue)
        main, subordinate = [
            self._action(self._mention(person), target, neutral=True)
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
        subject = self._mention_somebody()  # a group of people could be a cue
        mention = NounPhrase(cue, "indefinite" if self._chance(0.5) else "definite")
        clause = self._action(subject, mention, neutral=True)
        self._add(self._decorate(clause, place=False, object_exists=True), declarative=True)
        phrase = NounPhrase(thing, self._choose(("definite", "indefinite")))
        clause = self._action(self._mention_somebody(), phrase, neutral=True)
        ambiguity = Ambiguity(phrase, "previous", (mention, "noun"))
        self._add(self._decorate(clause, place=False), declarative=True, ambiguities=(ambiguity,))

    def people(self) -> None:
        """Add a sentence that mentions only people and places."""
        if self._chance(self._rates.coordinated):
            first, second = [self._decorate(self._about_people(self._mention(person))) for person in self._cast]
            self._coordinate(first, second)
        elif self._chance(self._rates.subordinate):
            clause = self._with_subordinate(None)
            self._add(clause, declarative=clause.fronted == "subordinate")
        else:
            subject = self._subject()
            if subject.form == "definite" and not subject.other and self._chance(self._rates.relative):
                subject.relative = self._intransitive(subject)
                subject.relative.subject = None
            self._add(self._decorate(self._about_people(subject)))

    # Sentences

    def _introduce(self, thing: Entity) -> None:
        """Add a sentence with the first mention of a thing."""
        if self._chance(self._rates.subordinate):
            self._add(self._with_subordinate(thing), declarative=True)
            return
        subject = self._subject()
        target = self._introduced(thing, subject)
        clause = self._action_with_recipient(subject, target)
        if clause.verb.frame != "directional":
            self._add_relative(target)
        self._decorate(clause, place=False, object_exists=True)
        if target.relative:  # anything after it would belong to the relative clause
            clause.fronted = "time" if clause.time else None
        else:
            self._add_companion(clause)
        self._add(clause)

    def _refer(self, thing: Entity) -> None:
        """Add a sentence with a pronoun for a thing of an earlier sentence."""
        pronoun = NounPhrase(thing, "pronoun")
        if self._index.adjectives[thing.wording.noun.kind] and self._chance(0.55):
            clause = self._decorate(self._state_or_ownership(pronoun))
        else:
            clause = self._decorate(self._action_with_recipient(self._mention_somebody(), pronoun))
        if clause.tense in ("present", "past") and self._chance(self._rates.coordinated):
            again = self._action(self._mention_somebody(), NounPhrase(thing, "pronoun"), neutral=True)
            self._coordinate(clause, again)
        else:
            self._add(clause)

    def _add(self, clause: Clause, *, declarative: bool = False, ambiguities: tuple[Ambiguity, ...] = ()) -> None:
        """Add a sentence; unless it must be `declarative`, sometimes as a question, direct speech or with "But"."""
        sentence = Sentence(clause, ambiguities=ambiguities)
        draw = self._random.random()
        question_limit, speech_limit = self._rates.question, self._rates.question + self._rates.speech
        if not declarative:
            simple = clause.fronted is None and clause.frequency is None and clause.subordinate is None
            if draw < question_limit and simple and clause.complement is None:
                sentence.question = True
            elif draw < speech_limit:
                person = self._person_of_cast(excluded=clause.subject.entity if clause.subject else None)
                if person not in self._mentioned_here:  # nobody calls themselves by name
                    self._mention(person)
                    sentence.speaker = NounPhrase(person, "name" if person.name else "definite")
                    sentence.speaking, sentence.speaking_tense = self._lexicon.verbs["say"], self._tense
            elif draw < speech_limit + self._rates.opening and self.sentences:
                sentence.opening = self._lexicon.conjunctions["but"]
        self._finish(sentence)

    def _coordinate(self, first: Clause, second: Clause, ambiguities: tuple[Ambiguity, ...] = ()) -> None:
        self._finish(Sentence(first, self._choose(self._index.conjunctions), second, ambiguities=ambiguities))

    def _finish(self, sentence: Sentence) -> None:
        self.sentences.append(sentence)
        self._used_nouns.update(phrase.noun.name for phrase in sentence.phrases())
        self._mentioned_before, self._mentioned_here = self._mentioned_here, set()

    # Mentions

    def _person(self, gender: str) -> Entity:
        person = self._entity(self._choose(self._index.people[gender]))
        if self._chance(self._rates.named):
            person.name = self._choose(self._index.names[gender])
        return person

    def _mention(self, person: Entity) -> NounPhrase:
        """Mention a person: by a pronoun if this sentence has, often if the last one has, else by name or noun."""
        use_pronoun = person in self._mentioned_here or (
            person in self._mentioned_before and self._chance(self._rates.person_pronoun)
        )
        is_introduced = person in self._introduced_people
        self._mentioned_here.add(person)
        self._introduced_people.add(person)
        if use_pronoun:
            return NounPhrase(person, "pronoun")
        if person.name:
            return NounPhrase(person, "name")
        return NounPhrase(person, "definite", () if is_introduced else self._adjective(person.wording.noun))

    def _person_of_cast(self, excluded: Entity | None = None) -> Entity:
        return self._choose([person for person in self._cast if person is not excluded])

    def _mention_somebody(self, excluded: Entity | None = None) -> NounPhrase:
        return self._mention(self._person_of_cast(excluded))

    def _subject(self) -> NounPhrase:
        """Mention one of the two people, sometimes both, or a group of other people."""
        if self._chance(0.06) and not self._mentioned_here:
            self._mentioned_before = set()
            phrase, second = [self._mention(person) for person in self._cast]
            phrase.other = second
            return phrase
        if self._chance(self._rates.plural):
            gender = self._choose(("masculine", "feminine"))
            group = self._entity(self._choose(self._index.people[gender]), plural=True)
            return NounPhrase(group, "definite", self._adjective(group.wording.noun))
        return self._mention_somebody()

    def _thing(self) -> Entity:
        """Draw a thing or an animal that this document has not mentioned."""
        while True:
            noun = self._choose(self._index.things)
            if noun.name not in self._used_nouns:
                self._used_nouns.add(noun.name)
                return self._entity(noun, plural=self._chance(self._rates.plural))

    def _cue(self, names: Sequence[str]) -> Entity:
        return self._entity(self._lexicon.nouns[self._choose(names)])

    def _introduced(self, thing: Entity, subject: NounPhrase) -> NounPhrase:
        """Draw the first mention of a thing: a table, his table, Anna's table, this table, two tables."""
        form: Form = "definite"
        numeral = possessor = None
        draw = self._random.random()
        if draw < 0.55:
            form = "indefinite"
            if thing.wording.plural and self._chance(0.5):
                numeral = self._choose(self._index.numerals)
        elif draw < 0.7 and not subject.plural and subject.entity in self._cast:
            form, possessor = "possessive", NounPhrase(subject.entity, "pronoun")
        elif draw < 0.75 and not subject.other and (owner := self._person_of_cast(excluded=subject.entity)).name:
            form, possessor = "possessive", NounPhrase(owner, "name")
            self._mentioned_here.add(owner)
            self._introduced_people.add(owner)
        elif draw < 0.8 and not thing.wording.plural:
            form = "demonstrative"
        return NounPhrase(thing, form, self._adjective(thing.wording.noun), numeral=numeral, possessor=possessor)

    # Clauses

    def _action_with_recipient(self, subject: NounPhrase, target: NounPhrase) -> Clause:
        """Draw an action in which the other person may be the recipient."""
        recipient, mentioned = None, set(self._mentioned_here)
        mentions_both = subject.other or (target.possessor and target.possessor.form == "name")
        if not mentions_both and subject.entity in self._cast:
            recipient = self._mention_somebody(excluded=subject.entity)
        clause = self._action(subject, target, recipient)
        if recipient and clause.indirect is None:
            self._mentioned_here = mentioned
        return clause

    def _state_or_ownership(self, subject: NounPhrase) -> Clause:
        """Draw a clause: a thing is old, is somewhere or belongs to one of the people."""
        verbs = self._index.belonging
        if subject.noun.kind in verbs[0].subject and self._chance(0.15):
            owner = self._mention_somebody()
            return Clause(subject, self._choose(verbs), self._tense, object=owner)
        return self._state(subject)

    def _add_companion(self, clause: Clause) -> None:
        """Add, at random, "for", "with" or "without" and the other person."""
        subject = clause.subject
        if clause.place or clause.verb.frame != "transitive" or not subject or subject.entity not in self._cast:
            return
        companion = self._person_of_cast(excluded=subject.entity)
        if companion not in self._mentioned_here and not subject.other and self._chance(self._rates.companion):
            preposition = self._choose(self._index.companion_prepositions)
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
            phrase.relative = self._action(self._mention_somebody(), phrase, simple=True)
            phrase.relative.object = None

    def _about_people(self, subject: NounPhrase, *, clausal: bool = True) -> Clause:
        draw = self._random.random()
        if draw < 0.4 or subject.other:
            return self._intransitive(subject)
        if draw < 0.65 or subject.entity not in self._cast:
            return self._description(subject)
        if draw < 0.75 and clausal:
            clause = Clause(subject, self._choose(self._index.clausal), self._tense)
            person = self._mention_somebody()
            clause.complement = self._intransitive(person) if self._chance(0.5) else self._description(person)
            return clause
        return self._action(subject, self._mention_somebody(excluded=subject.entity))

    def _with_subordinate(self, target: Entity | None) -> Clause:
        """Draw a clause about people or a thing, with a subordinate clause about people."""
        fronted = self._chance(0.4)
        subordinate = self._about_people(self._mention_somebody(), clausal=False) if fronted else None
        subject = self._mention_somebody()
        if target is None:
            main = self._about_people(subject, clausal=False)
        else:
            main = self._action_with_recipient(subject, self._introduced(target, subject))
        main.subordinate = subordinate or self._about_people(self._mention_somebody(), clausal=False)
        main.subordinator = self._subordinator()
        main.fronted = "subordinate" if fronted else None
        return main

    def _subordinator(self) -> Word:
        return self._choose([word for word in self._lexicon.subordinators.values() if self._tense in word.tenses])
