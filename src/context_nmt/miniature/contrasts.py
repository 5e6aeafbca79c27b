"""Contrastive sets: a sentence, its right translation, and one that is wrong in a single word and what agrees with it.

Where the deciding word stands in an earlier sentence, items come in mirrored pairs: the same sentence and the same two
translations behind another context, so that right and wrong swap. Whoever sees the sentence alone is right once in two.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from context_nmt.files import UserError
from context_nmt.miniature.clauses import Clauses, Vocabulary
from context_nmt.miniature.documents import Document
from context_nmt.miniature.gold import other_sense
from context_nmt.miniature.lexicon import Noun
from context_nmt.miniature.meaning import Clause, Entity, Form, NounPhrase, Sentence, Tense, Wording
from context_nmt.miniature.realising import realise
from context_nmt.settings.miniature import MiniatureSettings, RateSettings

Item = dict[str, Any]
CONTRASTIVE_SETS = ("pronouns", "senses")
GENDERS = ("masculine", "feminine", "neuter")
ATTEMPTS = 200  # for one new item


class Contrasts:
    """Draws contrastive items for one direction."""

    def __init__(self, vocabulary: Vocabulary, settings: MiniatureSettings, source: str):
        self._vocabulary = vocabulary
        self._settings = settings
        self._source, self._target = (source, "de" if source == "en" else "en")
        self._seen: set[str] = set()

    def pronouns(self) -> Iterator[Item]:
        """Items by whether the noun stands in the sentence (within) or 1 to 3 sentences back (cross, distance_1 …)."""
        sizes = self._settings.contrastive
        for number in range(sizes.within):
            yield self._new("pronouns within", number, self._within)
        for number in range(sizes.cross_pairs):
            yield from self._new(f"pronouns cross {1 + number % 3}", number, self._cross_pronoun)

    def senses(self) -> Iterator[Item]:
        """Items by the position of the cue: beside, far, cross (in the sentence before)."""
        sizes = self._settings.contrastive
        for number in range(sizes.beside):
            yield self._new("senses beside", number, self._sense)
        for number in range(sizes.far):
            yield self._new("senses far", number, self._sense)
        for number in range(sizes.previous_pairs):
            yield from self._new("senses cross", number, self._cross_sense)

    def _new(self, kind: str, number: int, draw: Any) -> Any:
        """Draw until the source has more than four words and is new."""
        for attempt in range(ATTEMPTS):
            random = Random(f"{self._settings.seed} {self._source} {kind} {number} {attempt}")
            drawn = draw(kind, random)
            item = drawn[0] if isinstance(drawn, list) else drawn
            if not item or item["right"] in item["wrong"]:  # "ihm" is of two genders
                continue
            if item["source"] not in self._seen and len(item["source"].split()) > 4:
                self._seen.add(item["source"])
                return drawn
        raise UserError(
            f"contrastive: found no {number + 1} different items of {kind!r} with these rates; ask for fewer, or raise "
            "the rates of what they need (one thing, not several: plural below 1)"
        )

    def _item(
        self,
        sentences: Sequence[Sentence],
        wordings: Mapping[Any, Wording],
        wrong: Mapping[Any, Wording],
        categories: Sequence[str],
    ) -> Item:
        """The last of some sentences, said with `wordings`; the distractor with `wrong` in addition."""
        *context, last = [realise(sentence, dict(wordings)) for sentence in sentences]
        return {
            "source": last.text(self._source),
            "right": last.text(self._target),
            "wrong": [realise(sentences[-1], {**wordings, **wrong}).text(self._target)],
            "categories": list(categories),
            "context": {
                "source": [sentence.text(self._source) for sentence in context],
                "target": [sentence.text(self._target) for sentence in context],
            },
        }

    # Pronouns

    def _within(self, kind: str, random: Random) -> Item | None:
        """A thing and its pronoun in one sentence; from German, no person there has the thing's gender."""
        document = Document(self._vocabulary, self._settings.rates, random)
        document.pronoun_within()
        sentence = document.sentences[-1]
        mentions = [phrase for phrase, _ in realise(sentence).mentions()]
        pronouns = [phrase for phrase in mentions if phrase.form == "pronoun" and not phrase.entity.wording.is_person]
        thing = pronouns[0].entity
        gender = thing.wording.german.gender
        if thing.wording.plural:
            return None
        if self._source == "en":
            # Nor of the gender of a place: "es" could be the bed that the bag stands behind.
            things = {phrase.entity.wording.german.gender for phrase in mentions if not phrase.entity.wording.is_person}
            if things.issuperset(GENDERS):
                return None
            wrong = self._vocabulary.of_gender[random.choice([other for other in GENDERS if other not in things])]
        else:
            people = {phrase.entity.wording.german.gender for phrase in mentions if phrase.entity.wording.is_person}
            if gender == "neuter" or gender in people:
                return None
            wrong = self._vocabulary.person_of_gender[gender]
        return self._item([sentence], {}, dict.fromkeys(pronouns, wrong), ["within"])

    def _cross_pronoun(self, kind: str, random: Random) -> list[Item | None]:
        """A pronoun behind two contexts that differ in the noun it refers to."""
        distance = int(kind[-1])
        vocabulary = self._vocabulary
        first = random.choice(vocabulary.things)
        gender = first.german[0].gender
        if self._source == "en":
            others = [noun for noun in vocabulary.lexicon.kinds[first.kind] if noun.german[0].gender != gender]
        else:
            others = vocabulary.people.get(gender, [])
        if not others:
            return [None]
        second = random.choice(others)
        person = "feminine" if gender == "masculine" else "masculine"
        scene = _Scene(vocabulary, self._settings.rates, random, person)
        thing = Entity(Wording.usual(first))
        sentences = scene.about(thing, second, distance)
        pronouns = [
            phrase
            for phrase, _ in realise(sentences[-1]).mentions()
            if phrase.form == "pronoun" and phrase.entity is thing
        ]
        categories = ["cross", f"distance_{distance}"]
        items: list[Item | None] = []
        for right, wrong in ((first, second), (second, first)):
            replaced = dict.fromkeys(pronouns, Wording.usual(wrong))
            items.append(self._item(sentences, {thing: Wording.usual(right)}, replaced, categories))
        return items

    # Senses

    def _ambiguous(self, random: Random) -> Noun:
        senses = [
            noun for noun in self._vocabulary.lexicon.senses.values() if noun.sense and noun.sense.side == self._source
        ]
        return random.choice(senses)

    def _sense(self, kind: str, random: Random) -> Item | None:
        document = Document(self._vocabulary, self._settings.rates, random)
        noun = self._ambiguous(random)
        if document.misleads(noun):
            return None
        thing = Entity(Wording.usual(noun))
        category = kind.rpartition(" ")[2]
        getattr(document, f"sense_{category}")(thing)
        wrong = other_sense(self._vocabulary.lexicon, thing.wording)
        return self._item(document.sentences, {}, {thing: wrong}, [category])

    def _cross_sense(self, kind: str, random: Random) -> list[Item | None]:
        """An ambiguous noun behind two contexts that differ in the cue."""
        lexicon = self._vocabulary.lexicon
        document = Document(self._vocabulary, self._settings.rates, random)
        first = self._ambiguous(random)
        assert first.sense is not None
        second = lexicon.senses[first.sense.other]
        if document.misleads(first):  # it asks for both senses
            return [None]
        cues = [lexicon.nouns[random.choice(noun.sense.cues)] for noun in (first, second) if noun.sense]
        thing, cue = Entity(Wording.usual(first)), Entity(Wording.usual(cues[0]))
        document.sense_previous(thing, cue)
        items: list[Item | None] = []
        for right, wrong, its_cue in ((first, second, cues[0]), (second, first, cues[1])):
            wordings = {thing: Wording.usual(right), cue: Wording.usual(its_cue)}
            items.append(self._item(document.sentences, wordings, {thing: Wording.usual(wrong)}, ["cross"]))
        return items


class _Scene:
    """One person and what they do to something, in a few plain sentences."""

    def __init__(self, vocabulary: Vocabulary, rates: RateSettings, random: Random, gender: str):
        tense: Tense = "present" if random.random() < rates.present else "past"
        self._clauses = Clauses(vocabulary, rates, random, tense)
        self._vocabulary = vocabulary
        self._person = self._clauses.entity(random.choice(vocabulary.people[gender]))
        if self._clauses.chance(rates.named):
            self._person.name = random.choice(vocabulary.names[gender])

    def _noun(self) -> NounPhrase:
        return NounPhrase(self._person, "name" if self._person.name else "definite")

    def about(self, thing: Entity, other: Noun, distance: int) -> list[Sentence]:
        """Sentences: the first names the thing, which could as well be `other`, the last has a pronoun for it."""
        clauses = self._clauses
        form: Form = "definite" if clauses.chance(0.5) else "indefinite"
        first = clauses.does_to(self._noun(), NounPhrase(thing, form), neutral=True)
        clauses.decorate(first, place=False, spoken_of=True)
        between = [self._alone() for _ in range(distance - 1)]
        return [*map(Sentence, (first, *between)), self._last(thing, other)]

    def _alone(self) -> Clause:
        subject = NounPhrase(self._person, "pronoun") if self._clauses.chance(0.5) else self._noun()
        clause = self._clauses.does(subject) or self._clauses.is_so(subject)
        return self._clauses.decorate(clause, place=False)  # "it" could be the garden

    def _last(self, thing: Entity, other: Noun) -> Sentence:
        clauses = self._clauses
        fitting = self._vocabulary.adjectives[thing.wording.noun.kind]
        adjectives = [word for word in fitting if other.kind in word.kinds]
        pronoun = NounPhrase(thing, "pronoun")
        if adjectives and clauses.chance(0.5):
            clause = clauses.is_so(pronoun, only=adjectives)
        else:
            clause = clauses.does_to(self._noun(), pronoun, neutral=True)
        clauses.decorate(clause)
        if clause.tense not in ("present", "past") or clauses.chance(0.5):
            return Sentence(clause)
        again = clauses.does_to(self._noun(), NounPhrase(thing, "pronoun"), neutral=True)
        return Sentence(clause, clauses.conjunction(), again)


def with_mirrors(drawn: Iterable[Item]) -> list[Item]:
    """Say of each item with a context where its mirror stands: beside it."""
    items, place = list(drawn), 0
    while place < len(items):
        if items[place]["context"]["source"]:
            items[place]["mirror"], items[place + 1]["mirror"] = place + 1, place
            place += 1
        place += 1
    return items
