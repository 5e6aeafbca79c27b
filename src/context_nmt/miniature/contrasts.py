"""Contrastive sets: a sentence, its right translation, and a translation with one wrong word and its agreement.

If the deciding word is in an earlier sentence, items come in mirrored pairs: the same sentence and the same two
translations after another context, so that right and wrong swap. A system that sees only the sentence is right on
exactly half of these items.
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from context_nmt.files import UserError
from context_nmt.miniature.clauses import Clauses, LexiconIndex
from context_nmt.miniature.documents import Document
from context_nmt.miniature.grammar import Wordings, realise
from context_nmt.miniature.lexicon import Noun
from context_nmt.miniature.meaning import Clause, Entity, NounPhrase, Sentence, Wording
from context_nmt.settings.miniature import MiniatureSettings

Item = dict[str, Any]
CONTRASTIVE_SETS = ("pronouns", "senses")
GENDERS = ("masculine", "feminine", "neuter")
MAX_ATTEMPTS = 200  # for one new item
SHORT_SENTENCE = 4  # words: sentences of up to this length may occur both in training and in a test set


class ContrastiveItems:
    """Draws contrastive items for one direction."""

    def __init__(self, index: LexiconIndex, settings: MiniatureSettings, source: str):
        self._index, self._lexicon = index, index.lexicon
        self._settings = settings
        self._source, self._target = source, "de" if source == "en" else "en"
        self._seen: set[str] = set()

    def items(self, name: str) -> Iterator[Item]:
        """Yield the items of one of CONTRASTIVE_SETS, by the position of the deciding word; mirrors are adjacent."""
        sizes = self._settings.contrastive
        plans = {
            "pronouns": [("within", sizes.within, self._within), ("cross", sizes.cross_pairs, self._cross_pronoun)],
            "senses": [
                ("beside", sizes.beside, self._sense),
                ("far", sizes.far, self._sense),
                ("cross", sizes.previous_pairs, self._sense),
            ],
        }
        index = 0
        for position, size, draw in plans[name]:
            for number in range(size):
                distance = f" {1 + number % 3}" if draw == self._cross_pronoun else ""
                items = self._draw_new(f"{name} {position}{distance}", number, draw)
                if len(items) == 2:
                    items[0]["mirror"], items[1]["mirror"] = index + 1, index
                index += len(items)
                yield from items

    def _draw_new(self, kind: str, number: int, draw: Callable[[str, Random], list[Item]]) -> list[Item]:
        """Draw an item, or a pair, until its source is new and has more than SHORT_SENTENCE words."""
        for attempt in range(MAX_ATTEMPTS):
            items = draw(kind, Random(f"{self._settings.seed} {self._source} {kind} {number} {attempt}"))
            if not items or items[0]["right"] in items[0]["wrong"]:  # "ihm" has two genders
                continue
            source = items[0]["source"]
            if source not in self._seen and len(source.split()) > SHORT_SENTENCE:
                self._seen.add(source)
                return items
        raise UserError(
            f"contrastive: cannot draw {number + 1} different items of {kind!r} with these rates; lower their"
            " number, or raise the rates of the phenomena that they need (plural must be below 1)"
        )

    def _item(self, sentences: Sequence[Sentence], category: str, wordings: Wordings, wrong: Wordings) -> Item:
        """Return an item for the last sentence, worded with `wordings`; the wrong translation also with `wrong`."""
        *context, last = [realise(sentence, wordings) for sentence in sentences]
        return {
            "source": last.text(self._source),
            "right": last.text(self._target),
            "wrong": [realise(sentences[-1], {**wordings, **wrong}).text(self._target)],
            "categories": category.split(),
            "context": {
                "source": [sentence.text(self._source) for sentence in context],
                "target": [sentence.text(self._target) for sentence in context],
            },
        }

    def _within(self, kind: str, random: Random) -> list[Item]:
        """Draw a thing and its pronoun in one sentence; from German, no person in it has the thing's gender."""
        document = Document(self._index, self._settings.rates, random)
        document.pronoun_within()
        sentence = document.sentences[-1]
        mentions = [phrase for phrase, _ in realise(sentence).mentions()]
        people, things = (
            {phrase.entity.wording.de.gender for phrase in mentions if phrase.entity.wording.is_person == is_person}
            for is_person in (True, False)
        )
        pronouns = [phrase for phrase in mentions if phrase.form == "pronoun" and not phrase.entity.wording.is_person]
        thing = pronouns[0].entity.wording
        if self._source == "en":
            # The gender of a place is also excluded: "es" could be the bed that the bag is behind.
            genders = [gender for gender in GENDERS if gender not in things]
            wordings = self._index.thing_of_gender
        else:
            genders = [thing.de.gender] if thing.de.gender not in people | {"neuter"} else []
            wordings = self._index.person_of_gender
        if thing.plural or not genders:
            return []
        wrong = wordings[random.choice(genders)]
        return [self._item([sentence], "within", {}, dict.fromkeys(pronouns, wrong))]

    def _cross_pronoun(self, kind: str, random: Random) -> list[Item]:
        """Draw a pronoun after two contexts that differ in its antecedent."""
        distance = int(kind[-1])
        first = random.choice(self._index.things)
        gender = first.de[0].gender
        if self._source == "en":
            nouns = [noun for noun in self._index.nouns_of_kind[first.kind] if noun.de[0].gender != gender]
        else:
            nouns = self._index.people.get(gender, [])
        if not nouns:
            return []
        second = random.choice(nouns)
        scene = _Scene(self._index, self._settings.rates, random)
        thing = Entity(Wording.usual(first))
        person = "feminine" if gender == "masculine" else "masculine"
        sentences = scene.sentences_about(thing, second, distance, person=person)
        mentions = [phrase for phrase, _ in realise(sentences[-1]).mentions()]
        pronouns = [phrase for phrase in mentions if phrase.form == "pronoun" and phrase.entity is thing]
        category, wordings = f"cross distance_{distance}", (Wording.usual(first), Wording.usual(second))
        return [
            self._item(sentences, category, {thing: right}, dict.fromkeys(pronouns, wrong))
            for right, wrong in (wordings, wordings[::-1])
        ]

    def _sense(self, kind: str, random: Random) -> list[Item]:
        """Draw an ambiguous noun with its cue in the sentence, or after two contexts that differ in the cue."""
        document = Document(self._index, self._settings.rates, random)
        noun = random.choice([noun for noun in self._lexicon.senses.values() if noun.side == self._source])
        if document.misleads(noun):
            return []
        senses = [Wording.usual(sense) for sense in (noun, self._lexicon.other_sense(noun))]
        thing, category = Entity(senses[0]), kind.rpartition(" ")[2]
        if category != "cross":
            getattr(document, f"sense_{category}")(thing)
            return [self._item(document.sentences, category, {}, {thing: senses[1]})]
        cues = [Wording.usual(self._lexicon.nouns[random.choice(sense.noun.cues)]) for sense in senses]
        cue = Entity(cues[0])
        document.sense_previous(thing, cue)
        return [
            self._item(document.sentences, "cross", {thing: right, cue: right_cue}, {thing: wrong})
            for right, wrong, right_cue in zip(senses, reversed(senses), cues, strict=True)
        ]


class _Scene(Clauses):
    """A few plain sentences about one person and a thing."""

    def sentences_about(self, thing: Entity, other: Noun, distance: int, *, person: str) -> list[Sentence]:
        """Return sentences: the first names the thing (`other` would also fit), the last has its pronoun.

        `person` is a gender.
        """
        self._person = self._entity(self._random.choice(self._index.people[person]))
        if self._chance(self._rates.named):
            self._person.name = self._random.choice(self._index.names[person])
        mention = NounPhrase(thing, "definite" if self._chance(0.5) else "indefinite")
        first = self._action(self._person_phrase(), mention, neutral=True)
        self._decorate(first, place=False, object_exists=True)
        between = [self._person_clause() for _ in range(distance - 1)]
        return [*map(Sentence, (first, *between)), self._last_sentence(thing, other)]

    def _person_phrase(self) -> NounPhrase:
        return NounPhrase(self._person, "name" if self._person.name else "definite")

    def _person_clause(self) -> Clause:
        subject = NounPhrase(self._person, "pronoun") if self._chance(0.5) else self._person_phrase()
        return self._decorate(self._intransitive(subject), place=False)  # "it" could be the garden

    def _last_sentence(self, thing: Entity, other: Noun) -> Sentence:
        fitting = self._index.adjectives[thing.wording.noun.kind]
        adjectives = [word for word in fitting if other.kind in word.kinds]
        pronoun = NounPhrase(thing, "pronoun")
        if adjectives and self._chance(0.5):
            clause = self._description(pronoun, allowed=adjectives)
        else:
            clause = self._action(self._person_phrase(), pronoun, neutral=True)
        self._decorate(clause)
        if clause.tense not in ("present", "past") or self._chance(0.5):
            return Sentence(clause)
        again = self._action(self._person_phrase(), NounPhrase(thing, "pronoun"), neutral=True)
        return Sentence(clause, self._choose(self._index.conjunctions), again)
