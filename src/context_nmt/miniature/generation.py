"""Write the miniature corpus: parallel text with gold annotation, contrastive sets and probing tasks.

The README.md of this folder lists the files and the keys of the gold records. Every document and item has its own
random generator, seeded by the corpus's seed and the number of the document or item. A larger size, or a further kind
of file, therefore leaves the rest as it is.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from context_nmt.corpus.workers import in_parallel, usable_cores
from context_nmt.files import replacing_folder, write_lines
from context_nmt.miniature.clauses import LexiconIndex
from context_nmt.miniature.contrasts import CONTRASTIVE_SETS, SHORT_SENTENCE, ContrastiveItems
from context_nmt.miniature.documents import Document
from context_nmt.miniature.grammar import Realised, realise
from context_nmt.miniature.lexicon import LANGUAGES, PRONOUNS, Lexicon, german_form, load_lexicon
from context_nmt.miniature.meaning import Ambiguity, Entity, NounPhrase, Part, PrepositionalPhrase, Sentence, Wording
from context_nmt.miniature.probing import ParsedSentence, write_probing_tasks
from context_nmt.progress import Progress, tracked
from context_nmt.settings.miniature import MiniatureSettings

DIRECTIONS = (("en", "de"), ("de", "en"))

Record = dict[str, Any]
Question = tuple[str, str]  # ("pronoun", "it nominative"), ("sense", "bank"), ("synonym", "picture")
# A question that a sentence leaves open, the right answer, the mentions that it concerns, and each answer's wording.
OpenChoice = tuple[Question, str, tuple[Entity | NounPhrase, ...], Mapping[str, Wording]]


def generate(settings: MiniatureSettings, destination: Path) -> None:
    """Write the corpus into the folder `destination`, whole or not at all; the same settings give the same bytes."""
    with replacing_folder(destination) as folder:
        tasks = (Generation(settings, folder).run, partial(_write_probing, settings, folder / "probing"))
        workers = min(len(tasks), usable_cores())
        for _ in in_parallel(lambda number: tasks[number](), range(len(tasks)), workers, ordered=False):
            pass


class Generation:
    """A corpus under construction."""

    def __init__(self, settings: MiniatureSettings, folder: Path):
        self._settings, self._folder = settings, folder
        self._index = LexiconIndex(load_lexicon())
        self._held_out: set[str] = set()  # sentences and whole documents that the training set must not contain
        self._oracles = {source: Oracle(self._index, source) for source in LANGUAGES}

    def run(self) -> None:
        """Write all files except the probing tasks."""
        test = list(self._documents("test", self._settings.test))
        self._hold_out(text for document in test for text in _texts(document))
        self._write_contrastive_sets()
        valid = list(self._documents("valid", self._settings.valid))
        self._hold_out(text for document in valid for text in _texts(document))
        self._write("train", self._documents("train", self._settings.train), self._oracles.values())
        for split, documents in (("valid", valid), ("test", test)):
            self._write(split, documents)
            self._write_bound(split, documents)

    def _documents(self, split: str, sentences: int) -> Iterator[list[Realised]]:
        """Yield documents until they have enough sentences; skip documents with held-out text."""
        number = 0
        with Progress(split, sentences, "sentences") as progress:
            while progress.done < sentences:
                random = Random(f"{self._settings.seed} {split} {number}")
                number += 1
                plan = Document(self._index, self._settings.rates, random).plan()
                document = [realise(sentence) for sentence in plan]
                if self._held_out.isdisjoint(_texts(document)):
                    progress.advance(len(document))
                    yield document

    def _hold_out(self, texts: Iterable[str]) -> None:
        self._held_out.update(text for text in texts if len(text.split()) > SHORT_SENTENCE)

    def _write(self, split: str, documents: Iterable[list[Realised]], oracles: Iterable["Oracle"] = ()) -> None:
        lines = 0
        with ExitStack() as stack:
            english, german, index, gold = (
                stack.enter_context((self._folder / f"{split}.{name}").open("w", encoding="utf-8", newline=""))
                for name in ("en", "de", "documents", "gold.jsonl")
            )
            for number, document in enumerate(documents):
                index.write(f"{lines}\n")
                lines += len(document)
                records = gold_records(self._index.lexicon, number, document)
                for realised, record in zip(document, records, strict=True):
                    english.write(realised.text("en") + "\n")
                    german.write(realised.text("de") + "\n")
                    gold.write(json.dumps(record, ensure_ascii=False) + "\n")
                    for oracle in oracles:
                        oracle.learn(realised)

    def _write_bound(self, split: str, documents: Iterable[list[Realised]]) -> None:
        for source, target in DIRECTIONS:
            oracle = self._oracles[source]
            translations = (
                realise(realised.sentence.ordered_as(source), oracle.guesses(realised)).text(target)
                for document in documents
                for realised in document
            )
            write_lines(self._folder / f"{split}.bound.{target}", translations)

    def _write_contrastive_sets(self) -> None:
        for source, target in DIRECTIONS:
            sampler = ContrastiveItems(self._index, self._settings, source)
            for contrastive_set in CONTRASTIVE_SETS:
                name = f"{contrastive_set}.{source}-{target}"
                items = list(tracked(sampler.items(contrastive_set), name, unit="items"))
                self._hold_out(line for item in items for line in (item["source"], item["right"], *item["wrong"]))
                write_lines(self._folder / f"{name}.jsonl", (json.dumps(item, ensure_ascii=False) for item in items))


def _write_probing(settings: MiniatureSettings, folder: Path) -> None:
    index = LexiconIndex(load_lexicon())
    sentences: list[ParsedSentence] = []
    for number in range(settings.probing.documents):
        random = Random(f"{settings.seed} probing {number}")
        for sentence in Document(index, settings.probing_rates, random).plan():
            sentences.append(ParsedSentence.of(realise(sentence)))
    write_probing_tasks(sentences, folder, settings.probing, Random(f"{settings.seed} probing tasks"))


def _texts(document: list[Realised]) -> list[str]:
    """Return the sentences of a document, and the whole document, in both languages."""
    sides = [[sentence.text(language) for sentence in document] for language in LANGUAGES]
    return [text for lines in sides for text in (*lines, "\n".join(lines))]


# Gold records


def gold_records(lexicon: Lexicon, number: int, document: Sequence[Realised]) -> Iterator[Record]:
    """Yield a record for each sentence of document `number`; raise ValueError for a pronoun without an antecedent."""
    last: dict[Entity, tuple[int, Part]] = {}  # the latest mention: the index of its sentence, and its head
    for index, realised in enumerate(document):
        pronouns: list[Record] = []
        synonyms: list[Record] = []
        nouns: set[Entity] = set()
        for phrase, head in realised.mentions():
            positions, previous = _positions(realised, head), last.get(phrase.entity)
            distance = None if previous is None else index - previous[0]
            if phrase.form != "pronoun":
                nouns.add(phrase.entity)
                if phrase.form != "name":
                    synonyms += _synonym_records(phrase.entity.wording, positions, distance)
            elif previous is None:
                raise ValueError(f"a pronoun without an antecedent in: {realised.text('en')}")
            else:
                antecedent = {"sentence": previous[0], **_positions(document[previous[0]], previous[1])}
                within = phrase.entity in nouns
                pronouns.append({**positions, "distance": distance, "within": within, "antecedent": antecedent})
            last[phrase.entity] = (index, head)
        yield {
            "document": number,
            "sentence": index,
            **_tokens_and_tree(realised),
            "alignment": realised.alignment(),
            "pronouns": pronouns,
            "senses": [
                _sense_record(lexicon, document, index, ambiguity) for ambiguity in realised.sentence.ambiguities
            ],
            "synonyms": synonyms,
        }


def _tokens_and_tree(realised: Realised) -> Record:
    return {
        **{language: {"tokens": realised.tokens(language), "tags": realised.tags(language)} for language in LANGUAGES},
        "tree": realised.brackets(),
    }


def _positions(realised: Realised, part: Part) -> dict[str, int]:
    return {language: realised.position(language, part) for language in LANGUAGES}


def _sense_record(lexicon: Lexicon, document: Sequence[Realised], index: int, ambiguity: Ambiguity) -> Record:
    realised, entity = document[index], ambiguity.phrase.entity
    noun, cue_index = entity.wording.noun, index - 1 if ambiguity.position == "previous" else index
    wrong = realise(realised.sentence, {entity: Wording.usual(lexicon.other_sense(noun))})
    return {
        "side": noun.side,
        "word": noun.ambiguous_word,
        "sense": noun.name,
        **_positions(realised, (ambiguity.phrase, "noun")),
        "cue": ambiguity.position,
        "cue_word": {"sentence": cue_index, **_positions(document[cue_index], ambiguity.cue)},
        "distractor": wrong.text("de" if noun.side == "en" else "en"),
    }


def _synonym_records(wording: Wording, positions: Record, distance: int | None) -> Iterator[Record]:
    for side in LANGUAGES:
        lemmas, chosen = [noun.lemma for noun in getattr(wording.noun, side)], getattr(wording, side).lemma
        if len(lemmas) > 1:
            others = [lemma for lemma in lemmas if lemma != chosen]
            yield {"side": side, **positions, "chosen": chosen, "others": others, "distance": distance}


# The bound


class Oracle:
    """Translates from `source` without context, and guesses only the words that a sentence leaves open.

    A sentence-level system cannot know the gender of "it" if its noun is in an earlier sentence, nor the sense of an
    ambiguous noun if its cue is in an earlier sentence, nor which of two synonyms a text uses. The oracle knows
    everything else, and for these words makes the choice that is most frequent in training. If German word order is
    free, it keeps the order of the source. Of a pronoun, it sees only the form and the case, and not that "er sah ihn"
    must be two people. From German, a system can therefore do a little better: it can learn which verbs and adjectives
    mostly go with people. From English, they do not help.
    """

    def __init__(self, index: LexiconIndex, source: str):
        self._index = index
        self._source, self._target = source, "de" if source == "en" else "en"
        self._counts: Counter[tuple[Question, str]] = Counter()

    def learn(self, realised: Realised) -> None:
        """Count the answers to the questions that a training sentence leaves open."""
        self._counts.update((question, answer) for question, answer, _, _ in self._open_choices(realised))

    def guesses(self, realised: Realised) -> dict[Entity | NounPhrase, Wording]:
        """Return a wording for each word that a sentence leaves open; ties go to the first answer in the alphabet."""
        wordings: dict[Entity | NounPhrase, Wording] = {}
        for question, _, mentions, answers in self._open_choices(realised):
            best = min(answers, key=lambda answer: (-self._counts[question, answer], answer))
            wordings |= dict.fromkeys(mentions, answers[best])
        return wordings

    def _open_choices(self, realised: Realised) -> Iterator[OpenChoice]:
        pronouns: dict[Entity, list[NounPhrase]] = {}
        named: set[Entity] = set()
        for phrase, _ in realised.mentions():
            if phrase.form == "pronoun":
                pronouns.setdefault(phrase.entity, []).append(phrase)
            else:
                named.add(phrase.entity)
        for entity, phrases in pronouns.items():
            if entity not in named:
                yield from self._open_pronoun(realised.sentence, entity.wording, phrases)
        for ambiguity in realised.sentence.ambiguities:
            entity = ambiguity.phrase.entity
            noun = entity.wording.noun
            if ambiguity.position == "previous" and noun.side == self._source:
                other = self._index.lexicon.other_sense(noun)
                answers = {noun.name: entity.wording, other.name: Wording.usual(other)}
                yield ("sense", noun.ambiguous_word), noun.name, (entity,), answers
        for entity in sorted(named, key=lambda entity: entity.wording.noun.name):
            wording = entity.wording
            synonyms = getattr(wording.noun, self._target)
            if entity.name is None and len(synonyms) > 1:
                answers = {noun.lemma: replace(wording, plural=False, **{self._target: noun}) for noun in synonyms}
                yield ("synonym", wording.noun.name), getattr(wording, self._target).lemma, (entity,), answers

    def _open_pronoun(self, sentence: Sentence, wording: Wording, phrases: list[NounPhrase]) -> Iterator[OpenChoice]:
        """Yield the question that pronouns leave open, if several fitting wordings have them in the source."""
        roles = [(case, kinds) for phrase, case, kinds in _roles(sentence) if phrase in phrases]
        if len(roles) < len(phrases):  # possessors and speakers are always people
            return
        cases, kinds = [case for case, _ in roles], set.intersection(*(kinds for _, kinds in roles))
        pronouns = _pronouns(wording, self._source, cases)
        answers: dict[str, Wording] = {}
        for option in self._index.all_pronouns:
            if "nominative" in cases and option.plural != wording.plural:  # the verb tells "sie war" from "sie waren"
                continue
            if _pronouns(option, self._source, cases) == pronouns and self._fits(option, kinds):
                answers.setdefault(_pronouns(option, self._target, cases), option)
        if len(answers) > 1:
            question = ("pronoun", f"{pronouns} {' '.join(cases)}")
            yield question, _pronouns(wording, self._target, cases), tuple(phrases), answers

    def _fits(self, wording: Wording, kinds: set[str]) -> bool:
        if wording.is_person:
            return "person" in kinds
        things = (noun for noun in self._index.things if noun.kind in kinds)
        return any(wording.plural or noun.de[0].gender == wording.de.gender for noun in things)


def _roles(sentence: Sentence) -> Iterator[tuple[NounPhrase, str, set[str]]]:
    """Yield noun phrases with their case and the kinds of nouns that can replace theirs."""
    for clause in sentence.clauses():
        if clause.subject:
            kinds = set(clause.verb.subject)
            if clause.adjectives:
                kinds = set.intersection(*(set(adjective.kinds) for adjective in clause.adjectives))
            if clause.modal:
                kinds &= set(clause.modal.subject)
            yield clause.subject, "nominative", kinds
        if clause.indirect:
            yield clause.indirect, "dative", {"person"}
        if clause.object:
            yield clause.object, clause.verb.case, set(clause.verb.object)
        if clause.argument and clause.verb.frame == "prepositional":  # "über ihn"; for things, "darüber"
            yield clause.argument.noun_phrase, clause.argument.case, {"person"}
        if isinstance(clause.place, PrepositionalPhrase) and clause.place.noun_phrase.form == "pronoun":
            yield clause.place.noun_phrase, clause.place.case, {"person"}  # for her


def _pronouns(wording: Wording, language: str, cases: list[str]) -> str:
    if language == "de":
        return " ".join([german_form("personal", wording.de.gender, wording.number, case) for case in cases])
    forms = PRONOUNS["plural" if wording.plural else wording.noun.gender]
    return " ".join([forms["subject" if case == "nominative" else "object"] for case in cases])
