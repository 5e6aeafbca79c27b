"""What a document has said so far, and sentences that can come next: whom to mention how, and what they do."""

from collections.abc import Sequence
from random import Random

from context_nmt.miniature.clauses import Clauses, Vocabulary
from context_nmt.miniature.lexicon import Subordinator
from context_nmt.miniature.meaning import (
    Ambiguity,
    Clause,
    Entity,
    Form,
    NounPhrase,
    PrepositionalPhrase,
    Sentence,
    Tense,
)
from context_nmt.settings.miniature import RateSettings


class Telling:
    """The people of a document, the sentences so far and those that can follow."""

    def __init__(self, vocabulary: Vocabulary, rates: RateSettings, random: Random):
        tense: Tense = "present" if random.random() < rates.present else "past"
        self._clauses = Clauses(vocabulary, rates, random, tense)
        self._vocabulary, self._rates, self._random = vocabulary, rates, random
        self.sentences: list[Sentence] = []
        self._cast = [self._person(gender) for gender in ("masculine", "feminine")]
        while self._cast[0].name and self._cast[1].name and _surname(self._cast[0]) == _surname(self._cast[1]):
            self._cast[1] = self._person("feminine")
        random.shuffle(self._cast)
        self._here: set[Entity] = set()  # people mentioned in this sentence
        self._before: set[Entity] = set()  # and in the one before
        self._known: set[Entity] = set()
        self._used: set[str] = {person.wording.noun.name for person in self._cast}  # nouns of this document

    # People

    def _person(self, gender: str) -> Entity:
        person = self._clauses.entity(self._clauses.one(self._vocabulary.people[gender]))
        if self._clauses.chance(self._rates.named):
            person.name = self._clauses.one(self._vocabulary.names[gender])
        return person

    def _mention(self, person: Entity) -> NounPhrase:
        """A pronoun in a sentence that has mentioned them, often one in the next sentence; else a name or a noun."""
        again = person in self._here or (person in self._before and self._clauses.chance(self._rates.person_pronoun))
        known = person in self._known
        self._here.add(person)
        self._known.add(person)
        if again:
            return NounPhrase(person, "pronoun")
        if person.name:
            return NounPhrase(person, "name")
        adjectives = () if known else self._clauses.adjective(person.wording.noun)
        return NounPhrase(person, "definite", adjectives)

    def _one_of_the_cast(self, but: Entity | None = None) -> Entity:
        others = [person for person in self._cast if person is not but]
        return self._clauses.one(others)

    def _subject(self) -> NounPhrase:
        """One of the people, now and then two of them, or a whole group."""
        if self._clauses.chance(0.06) and not self._here:
            self._before = set()
            phrase, other = [self._mention(person) for person in self._cast]
            phrase.other = other
            return phrase
        if self._clauses.chance(self._rates.plural):
            gender = self._clauses.one(("masculine", "feminine"))
            people = self._clauses.entity(self._clauses.one(self._vocabulary.people[gender]), plural=True)
            return NounPhrase(people, "definite", self._clauses.adjective(people.wording.noun))
        return self._mention(self._one_of_the_cast())

    # Things

    def _thing(self) -> Entity:
        """A thing or an animal that this document has not spoken of."""
        while True:
            noun = self._clauses.one(self._vocabulary.things)
            if noun.name not in self._used:
                self._used.add(noun.name)
                return self._clauses.entity(noun, plural=self._clauses.chance(self._rates.plural))

    def _introduced(self, thing: Entity, subject: NounPhrase, *, plain: bool = False) -> NounPhrase:
        """The first mention of a thing: a table, his table, Anna's table, this table, two tables."""
        form: Form = "definite"
        numeral = possessor = None
        draw = self._random.random()
        if plain:
            form = "indefinite" if draw < 0.5 and not thing.wording.plural else "definite"
            return NounPhrase(thing, form)
        if draw < 0.55:
            form = "indefinite"
            if thing.wording.plural and self._clauses.chance(0.5):
                numeral = self._clauses.one(list(self._vocabulary.lexicon.numerals.values()))
        elif draw < 0.7 and not subject.plural and subject.entity in self._cast:
            form, possessor = "possessive", NounPhrase(subject.entity, "pronoun")
        elif draw < 0.75 and not subject.other and (owner := self._one_of_the_cast(but=subject.entity)).name:
            form, possessor = "possessive", NounPhrase(owner, "name")
            self._here.add(owner)
            self._known.add(owner)
        elif draw < 0.8 and not thing.wording.plural:
            form = "demonstrative"
        adjectives = self._clauses.adjective(thing.wording.noun)
        return NounPhrase(thing, form, adjectives, numeral=numeral, possessor=possessor)

    def _does_to(
        self, target: NounPhrase, subject: NounPhrase, *, neutral: bool = False, simple: bool = False
    ) -> Clause:
        recipient, here = None, set(self._here)
        alone = neutral or simple or subject.other or (target.possessor and target.possessor.form == "name")
        if not alone and subject.entity in self._cast:
            recipient = self._mention(self._one_of_the_cast(but=subject.entity))
        clause = self._clauses.does_to(subject, target, recipient, neutral=neutral, simple=simple)
        if recipient and clause.indirect is None:
            self._here = here
        return clause

    def _state(self, subject: NounPhrase) -> Clause:
        """A thing is old, stands somewhere or belongs to one of the people."""
        belonging = self._vocabulary.belonging[0].subject
        if subject.entity.wording.noun.kind in belonging and self._clauses.chance(0.15):
            return self._clauses.belongs(subject, self._mention(self._one_of_the_cast()))
        return self._clauses.state(subject)

    def _companion(self, clause: Clause) -> None:
        """Now and then for, with or without the other person."""
        subject = clause.subject
        if clause.place or clause.verb.frame != "transitive" or not subject or subject.entity not in self._cast:
            return
        other = self._one_of_the_cast(but=subject.entity)
        if other not in self._here and not subject.other and self._clauses.chance(self._rates.companion):
            preposition = self._clauses.one(self._vocabulary.for_people)
            clause.place = PrepositionalPhrase(preposition, preposition.case, self._mention(other))

    def _add_relative(self, phrase: NounPhrase) -> None:
        """Now and then a relative clause: that was old, that she bought."""
        if not self._clauses.chance(self._rates.relative) or phrase.form not in ("definite", "indefinite"):
            return
        if self._clauses.chance(0.5):
            clause = self._clauses.state(phrase)
            clause.subject = None
            phrase.relative, phrase.relative_role = clause, "subject"
        else:
            clause = self._does_to(phrase, self._mention(self._one_of_the_cast()), simple=True)
            clause.object = None
            phrase.relative, phrase.relative_role = clause, "object"

    # Sentences

    def _add(self, clause: Clause, *, plain: bool = False, ambiguities: Sequence[Ambiguity] = ()) -> None:
        """End a sentence; unless `plain`, now and then as a question, as direct speech or with "But" before it."""
        sentence = Sentence(clause, ambiguities=tuple(ambiguities))
        draw = self._random.random()
        if not plain:
            simple = clause.fronted is None and clause.frequency is None and clause.subordinate is None
            if draw < self._rates.question and simple and clause.complement is None:
                sentence.question = True
            elif draw < self._rates.question + self._rates.speech:
                subject = clause.subject.entity if clause.subject else None
                person = self._one_of_the_cast(but=subject)
                if person not in self._here:  # nobody calls themselves by name
                    self._mention(person)
                    sentence.speaker = NounPhrase(person, "name" if person.name else "definite")
                    sentence.speaking = self._vocabulary.lexicon.verbs["say"]
                    sentence.speaking_tense = self._clauses.tense
            elif draw < self._rates.question + self._rates.speech + self._rates.opening and self.sentences:
                sentence.opening = self._vocabulary.lexicon.conjunctions["but"]
        self._finish(sentence)

    def _finish(self, sentence: Sentence) -> None:
        self.sentences.append(sentence)
        self._used.update(phrase.entity.wording.noun.name for phrase in sentence.phrases())
        self._before, self._here = self._here, set()

    def _coordinate(self, first: Clause, second: Clause) -> None:
        self._finish(Sentence(first, self._clauses.conjunction(), second))

    def _subordinator(self) -> Subordinator:
        subordinators = self._vocabulary.lexicon.subordinators.values()
        return self._clauses.one([word for word in subordinators if self._clauses.tense in word.tenses])

    # Clauses about people alone

    def _about_people(self, subject: NounPhrase, *, clausal: bool = True) -> Clause:
        draw = self._random.random()
        if draw < 0.4 or subject.other:
            return self._clauses.does(subject) or self._clauses.is_so(subject)
        if draw < 0.65 or subject.entity not in self._cast:
            return self._clauses.is_so(subject)
        if draw < 0.75 and clausal:
            clause = Clause(subject, self._clauses.one(self._vocabulary.lexicon.frames["clausal"]), self._clauses.tense)
            other = self._mention(self._one_of_the_cast())
            clause.complement = self._clauses.does(other) if self._clauses.chance(0.5) else self._clauses.is_so(other)
            return clause
        other = self._mention(self._one_of_the_cast(but=subject.entity))
        return self._clauses.does_to(subject, other)

    def people(self) -> None:
        """A sentence that mentions nothing but people and places."""
        if self._clauses.chance(self._rates.coordinated):
            first = self._clauses.decorate(self._about_people(self._mention(self._cast[0])))
            second = self._clauses.decorate(self._about_people(self._mention(self._cast[1])))
            self._coordinate(first, second)
            return
        if self._clauses.chance(self._rates.subordinate):
            clause = self._with_subordinate(None)
            self._add(clause, plain=clause.fronted == "subordinate")
            return
        subject = self._subject()
        self._add_relative_of_person(subject)
        self._add(self._clauses.decorate(self._about_people(subject)))

    def _add_relative_of_person(self, phrase: NounPhrase) -> None:
        if phrase.form == "definite" and not phrase.other and self._clauses.chance(self._rates.relative):
            clause = self._clauses.does(phrase) or self._clauses.is_so(phrase)
            clause.subject = None
            phrase.relative = clause

    def _with_subordinate(self, target: Entity | None) -> Clause:
        """A clause about people or a thing, with another one about people that says why, when or if."""
        fronted = self._clauses.chance(0.4)
        subordinate: Clause | None = None
        if fronted:
            subordinate = self._about_people(self._mention(self._one_of_the_cast()), clausal=False)
        subject = self._mention(self._one_of_the_cast())
        if target is None:
            main = self._about_people(subject, clausal=False)
        else:
            main = self._does_to(self._introduced(target, subject), subject)
        if subordinate is None:
            subordinate = self._about_people(self._mention(self._one_of_the_cast()), clausal=False)
        main.subordinator, main.subordinate = self._subordinator(), subordinate
        main.fronted = "subordinate" if fronted else None
        return main


def _surname(person: Entity) -> str:
    return person.name.english.rpartition(" ")[2] if person.name else ""
