"""A translation without context, by an oracle that guesses only the words that a sentence leaves open.

A sentence-level system cannot know the gender of "it" if its noun is in an earlier sentence, nor the sense of an
ambiguous noun if its cue is, nor which of two synonyms a text uses. The oracle knows everything else and fills these
words with the choice most frequent in training. Where the order of German is free, it keeps the source's order. Of a
pronoun, it sees only the form and case, and not that "er sah ihn" must be two people: from German, a system can do a
little better by learning which verbs and adjectives mostly go with people (from English, they tell nothing).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from context_nmt.miniature.english_morphology import PRONOUNS
from context_nmt.miniature.german_morphology import form
from context_nmt.miniature.lexicon import Vocabulary
from context_nmt.miniature.meaning import Entity, NounPhrase, PrepositionalPhrase, Sentence, Wording
from context_nmt.miniature.realising import Realised

Question = tuple[str, str]  # ("pronoun", "it nominative"), ("sense", "bank"), ("synonym", "picture")


@dataclass(frozen=True, slots=True)
class Undecided:
    """A question that a sentence leaves open, the right answer, and the wording of each answer."""

    question: Question
    answer: str
    mentions: tuple[Entity | NounPhrase, ...]
    answers: Mapping[str, Wording]


class Oracle:
    """Counts the answers of the training text, then guesses; `source` is the language that it reads."""

    def __init__(self, vocabulary: Vocabulary, source: str):
        self._vocabulary = vocabulary
        self._source, self._target = source, "de" if source == "en" else "en"
        self._counts: Counter[tuple[Question, str]] = Counter()

    def learn(self, sentence: Sentence, realised: Realised) -> None:
        """Count the answers to the questions that a training sentence leaves open."""
        self._counts.update((undecided.question, undecided.answer) for undecided in self._undecided(sentence, realised))

    def guesses(self, sentence: Sentence, realised: Realised) -> dict[Entity | NounPhrase, Wording]:
        """Return a wording for each undecided word of a sentence; ties go to the first in the alphabet."""
        wordings: dict[Entity | NounPhrase, Wording] = {}
        for undecided in self._undecided(sentence, realised):
            best = min(undecided.answers, key=lambda answer: (-self._counts[undecided.question, answer], answer))
            wordings |= dict.fromkeys(undecided.mentions, undecided.answers[best])
        return wordings

    def _undecided(self, sentence: Sentence, realised: Realised) -> Iterator[Undecided]:
        """Yield the questions that a sentence leaves open."""
        pronouns: dict[Entity, list[NounPhrase]] = {}
        named: set[Entity] = set()
        for phrase, _ in realised.mentions():
            if phrase.form == "pronoun":
                pronouns.setdefault(phrase.entity, []).append(phrase)
            else:
                named.add(phrase.entity)
        for entity, phrases in pronouns.items():
            if entity not in named:
                yield from self._pronoun(sentence, entity.wording, phrases)
        for ambiguity in sentence.ambiguities:
            wording = ambiguity.phrase.entity.wording
            if ambiguity.position == "previous" and wording.noun.side == self._source:
                other_wording = Wording.usual(self._vocabulary.lexicon.other_sense(wording.noun))
                answers = {wording.noun.name: wording, other_wording.noun.name: other_wording}
                question = ("sense", wording.noun.ambiguous_word)
                yield Undecided(question, wording.noun.name, (ambiguity.phrase.entity,), answers)
        for entity in sorted(named, key=lambda entity: entity.wording.noun.name):
            wording = entity.wording
            synonyms = getattr(wording.noun, self._target)
            if entity.name is None and len(synonyms) > 1:
                answers = {noun.lemma: replace(wording, plural=False, **{self._target: noun}) for noun in synonyms}
                right = getattr(wording, self._target).lemma
                yield Undecided(("synonym", wording.noun.name), right, (entity,), answers)

    def _pronoun(self, sentence: Sentence, wording: Wording, phrases: list[NounPhrase]) -> Iterator[Undecided]:
        """Yield the question that pronouns leave open, if several fitting wordings share them in the source."""
        roles = [(case, kinds) for phrase, case, kinds in _roles(sentence) if phrase in phrases]
        if len(roles) < len(phrases):  # possessors and speakers: always people
            return
        cases = [case for case, _ in roles]
        pronouns = _pronouns(wording, self._source, cases)
        answers: dict[str, Wording] = {}
        for option in self._vocabulary.all_pronouns:
            if "nominative" in cases and option.plural != wording.plural:  # the verb tells "sie war" from "sie waren"
                continue
            if _pronouns(option, self._source, cases) == pronouns and self._fits(option, [kinds for _, kinds in roles]):
                answers.setdefault(_pronouns(option, self._target, cases), option)
        if len(answers) > 1:
            answer = _pronouns(wording, self._target, cases)
            yield Undecided(("pronoun", f"{pronouns} {' '.join(cases)}"), answer, tuple(phrases), answers)

    def _fits(self, wording: Wording, roles: list[tuple[str, ...]]) -> bool:
        if wording.is_person:
            return all("person" in kinds for kinds in roles)
        return any(
            all(noun.kind in kinds for kinds in roles)
            for noun in self._vocabulary.things
            if wording.plural or noun.de[0].gender == wording.de.gender
        )


def _roles(sentence: Sentence) -> Iterator[tuple[NounPhrase, str, tuple[str, ...]]]:
    """Yield noun phrases with their case and the kinds of nouns that can replace theirs."""
    for clause in sentence.clauses():
        if clause.subject:
            kinds = clause.verb.subject
            if clause.adjectives:
                kinds = tuple(sorted(set.intersection(*(set(adjective.kinds) for adjective in clause.adjectives))))
            if clause.modal:
                kinds = tuple(kind for kind in kinds if kind in clause.modal.subject)
            yield clause.subject, "nominative", kinds
        if clause.indirect:
            yield clause.indirect, "dative", ("person",)
        if clause.object:
            yield clause.object, clause.verb.case, clause.verb.object
        if clause.argument and clause.verb.frame == "prepositional":  # "über ihn": things would be "darüber"
            yield clause.argument.noun_phrase, clause.argument.case, ("person",)
        if isinstance(clause.place, PrepositionalPhrase) and clause.place.noun_phrase.form == "pronoun":
            yield clause.place.noun_phrase, clause.place.case, ("person",)  # for her


def _pronouns(wording: Wording, language: str, cases: list[str]) -> str:
    """Return the pronouns of an entity in some cases, in one language."""
    if language == "de":
        return " ".join([form("personal", wording.de.gender, wording.number, case) for case in cases])
    forms = PRONOUNS["plural" if wording.plural else wording.noun.gender]
    return " ".join([forms["subject" if case == "nominative" else "object"] for case in cases])
