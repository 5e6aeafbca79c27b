"""The sentences of a document so far, and those that can follow: mentions of people, and their actions."""

from collections.abc import Sequence
from random import Random

from context_nmt.miniature.clauses import Clauses
from context_nmt.miniature.lexicon import Vocabulary
from context_nmt.miniature.meaning import Ambiguity, Clause, Entity, Form, NounPhrase, PrepositionalPhrase, Sentence
from context_nmt.miniature.words import Word
from context_nmt.settings.miniature import RateSettings


class Telling(Clauses):
    """The people of a document, the sentences so far and those that can follow."""

    def __init__(self, vocabulary: Vocabulary, rates: RateSettings, random: Random):
        super().__init__(vocabulary, rates, random)
        self.sentences: list[Sentence] = []
        self._cast = [self._person(gender) for gender in ("masculine", "feminine")]
        while self._cast[0].name and self._cast[1].name and _surname(self._cast[0]) == _surname(self._cast[1]):
            self._cast[1] = self._person("feminine")
        random.shuffle(self._cast)
        self._here: set[Entity] = set()  # people mentioned in this sentence
        self._before: set[Entity] = set()  # people mentioned in the previous sentence
        self._known: set[Entity] = set()
        self._used: set[str] = {person.wording.noun.name for person in self._cast}  # nouns of this document

    # People

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

    # Things

    def _thing(self) -> Entity:
        """Return a thing or an animal that this document has not mentioned."""
        while True:
            noun = self._one(self._vocabulary.things)
            if noun.name not in self._used:
                self._used.add(noun.name)
                return self._entity(noun, plural=self._chance(self._rates.plural))

    def _introduced(self, thing: Entity, subject: NounPhrase) -> NounPhrase:
        """Return the first mention of a thing: a table, his table, Anna's table, this table, two tables."""
        form: Form = "definite"
        numeral = possessor = None
        draw = self._random.random()
        if draw < 0.55:
            form = "indefinite"
            if thing.wording.plural and self._chance(0.5):
                numeral = self._one(list(self._lexicon.numerals.values()))
        elif draw < 0.7 and not subject.plural and subject.entity in self._cast:
            form, possessor = "possessive", NounPhrase(subject.entity, "pronoun")
        elif draw < 0.75 and not subject.other and (owner := self._one_of_the_cast(but=subject.entity)).name:
            form, possessor = "possessive", NounPhrase(owner, "name")
            self._here.add(owner)
            self._known.add(owner)
        elif draw < 0.8 and not thing.wording.plural:
            form = "demonstrative"
        return NounPhrase(thing, form, self._adjective(thing.wording.noun), numeral=numeral, possessor=possessor)

    def _acts_on(self, target: NounPhrase, subject: NounPhrase, *, simple: bool = False) -> Clause:
        """Return a clause in which the other person may be the recipient."""
        recipient, mentioned = None, set(self._here)
        alone = simple or subject.other or (target.possessor and target.possessor.form == "name")
        if not alone and subject.entity in self._cast:
            recipient = self._somebody(but=subject.entity)
        clause = self._does_to(subject, target, recipient, simple=simple)
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

    def _companion(self, clause: Clause) -> None:
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
            phrase.relative = self._acts_on(phrase, self._somebody(), simple=True)
            phrase.relative.object = None

    # Sentences

    def _add(self, clause: Clause, *, plain: bool = False, ambiguities: Sequence[Ambiguity] = ()) -> None:
        """Add a sentence; unless `plain`, sometimes as a question, as direct speech or with "But" before it."""
        sentence = Sentence(clause, ambiguities=tuple(ambiguities))
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

    def _finish(self, sentence: Sentence) -> None:
        self.sentences.append(sentence)
        self._used.update(phrase.noun.name for phrase in sentence.phrases())
        self._before, self._here = self._here, set()

    def _coordinate(self, first: Clause, second: Clause) -> None:
        self._finish(Sentence(first, self._conjunction(), second))

    def _subordinator(self) -> Word:
        return self._one([word for word in self._lexicon.subordinators.values() if self._tense in word.tenses])

    # Clauses about people alone

    def _does_or_is_so(self, subject: NounPhrase) -> Clause:
        return self._does(subject) or self._is_so(subject)

    def _about_people(self, subject: NounPhrase, *, clausal: bool = True) -> Clause:
        draw = self._random.random()
        if draw < 0.4 or subject.other:
            return self._does_or_is_so(subject)
        if draw < 0.65 or subject.entity not in self._cast:
            return self._is_so(subject)
        if draw < 0.75 and clausal:
            clause = Clause(subject, self._one(self._vocabulary.clausal), self._tense)
            other_person = self._somebody()
            clause.complement = self._does(other_person) if self._chance(0.5) else self._is_so(other_person)
            return clause
        return self._does_to(subject, self._somebody(but=subject.entity))

    def people(self) -> None:
        """Add a sentence that mentions only people and places."""
        if self._chance(self._rates.coordinated):
            clauses = [self._decorate(self._about_people(self._mention(person))) for person in self._cast]
            self._coordinate(*clauses)
        elif self._chance(self._rates.subordinate):
            clause = self._with_subordinate(None)
            self._add(clause, plain=clause.fronted == "subordinate")
        else:
            subject = self._subject()
            if subject.form == "definite" and not subject.other and self._chance(self._rates.relative):
                subject.relative = self._does_or_is_so(subject)
                subject.relative.subject = None
            self._add(self._decorate(self._about_people(subject)))

    def _with_subordinate(self, target: Entity | None) -> Clause:
        """Return a clause about people or a thing, with a subordinate clause about people."""
        fronted = self._chance(0.4)
        subordinate = self._about_people(self._somebody(), clausal=False) if fronted else None
        subject = self._somebody()
        if target is None:
            main = self._about_people(subject, clausal=False)
        else:
            main = self._acts_on(self._introduced(target, subject), subject)
        main.subordinate = subordinate or self._about_people(self._somebody(), clausal=False)
        main.subordinator = self._subordinator()
        main.fronted = "subordinate" if fronted else None
        return main


def _surname(person: Entity) -> str:
    return person.name.en.rpartition(" ")[2] if person.name else ""
