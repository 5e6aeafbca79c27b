"""The two grammars of the miniature corpus: sentences of a grammar book, and rules that all sentences keep."""

from dataclasses import replace
from random import Random

import pytest

from context_nmt.miniature import german_morphology as german
from context_nmt.miniature.documents import Document
from context_nmt.miniature.gold import gold_records
from context_nmt.miniature.grammar import bracketed
from context_nmt.miniature.lexicon import Vocabulary, load_lexicon
from context_nmt.miniature.meaning import (
    Clause,
    Entity,
    NounPhrase,
    Predicate,
    PrepositionalPhrase,
    Sentence,
    Wording,
)
from context_nmt.miniature.realising import realise
from context_nmt.settings.miniature import RateSettings

LEXICON = load_lexicon()
VERBS, ADJECTIVES, ADVERBS = LEXICON.verbs, LEXICON.adjectives, LEXICON.adverbs


def entity(name, *, plural=False, called=None):
    noun = LEXICON.nouns.get(name) or LEXICON.senses[name]
    person = next((name for names in LEXICON.names for name in names.declined() if name.en == called), None)
    return Entity(Wording(noun, noun.en[0], noun.de[0], plural), name=person)


MAN, WOMAN, BOY = entity("man"), entity("woman"), entity("boy")
TABLE, LAMP, BOOK, DOOR, KNIFE = (entity(name) for name in ("table", "lamp", "book", "door", "knife"))
ANNA, WEBER = entity("woman", called="Anna"), entity("man", called="Mr. Weber")


def the(of, *adjectives, **more):
    return NounPhrase(of, "definite", tuple(ADJECTIVES[name] for name in adjectives), **more)


def a(of, *adjectives, **more):
    return NounPhrase(of, "indefinite", tuple(ADJECTIVES[name] for name in adjectives), **more)


def it(of):
    return NounPhrase(of, "pronoun")


def said(clause, **more):
    words = realise(Sentence(clause, **more))
    return words.text("en"), words.text("de")


def is_(subject, *adjectives, degree=None, **more):
    predicate = Predicate(tuple(ADJECTIVES[name] for name in adjectives), degree and ADVERBS[degree])
    return Clause(subject, VERBS["be"], more.pop("tense", "past"), predicate=predicate, **more)


def buy(subject, target, verb="buy", **more):
    return Clause(subject, VERBS[verb], more.pop("tense", "past"), object=target, **more)


def at(place, preposition, case, **more):
    return PrepositionalPhrase(LEXICON.prepositions[preposition], case, the(place, **more))


def in_the(place):
    noun = LEXICON.nouns[place]
    return PrepositionalPhrase(noun.at, "dative", the(entity(place)))


SENTENCES = {
    "adjectives behind articles": (
        buy(the(MAN, "old"), a(TABLE, "expensive")),
        "The old man bought an expensive table.",
        "Der alte Mann kaufte einen teuren Tisch.",
    ),
    "verb second": (
        buy(the(MAN), the(LAMP), time=ADVERBS["yesterday"], fronted="time"),
        "Yesterday the man bought the lamp.",
        "Gestern kaufte der Mann die Lampe.",
    ),
    "German fronts what English does not": (
        buy(the(MAN), the(LAMP), time=ADVERBS["yesterday"], reordered=True),
        "The man bought the lamp yesterday.",
        "Gestern kaufte der Mann die Lampe.",
    ),
    "English fronts what German does not": (
        buy(the(MAN), the(LAMP), time=ADVERBS["yesterday"], fronted="time", reordered=True),
        "Yesterday the man bought the lamp.",
        "Der Mann kaufte gestern die Lampe.",
    ),
    "verb last and a comma": (
        buy(the(MAN), the(TABLE), subordinator=LEXICON.subordinators["because"], subordinate=is_(it(TABLE), "cheap")),
        "The man bought the table because it was cheap.",
        "Der Mann kaufte den Tisch, weil er billig war.",
    ),
    "subordinate clause in front": (
        buy(
            the(MAN),
            the(LAMP),
            subordinator=LEXICON.subordinators["when"],
            subordinate=Clause(the(WOMAN), VERBS["sleep"], "past"),
            fronted="subordinate",
        ),
        "When the woman slept, the man bought the lamp.",
        "Als die Frau schlief, kaufte der Mann die Lampe.",
    ),
    "separable verb": (
        buy(the(BOY), the(DOOR), "open"),
        "The boy opened the door.",
        "Der Junge machte die Tür auf.",
    ),
    "separable verb at the end": (
        is_(
            the(MAN),
            "happy",
            subordinator=LEXICON.subordinators["because"],
            subordinate=buy(the(BOY), the(DOOR), "open"),
        ),
        "The man was happy because the boy opened the door.",
        "Der Mann war glücklich, weil der Junge die Tür aufmachte.",
    ),
    "perfect with haben": (
        buy(the(BOY), the(DOOR), "open", tense="perfect", negated=True),
        "The boy hasn't opened the door.",
        "Der Junge hat die Tür nicht aufgemacht.",
    ),
    "perfect with sein": (
        Clause(the(WOMAN), VERBS["arrive"], "perfect"),
        "The woman has arrived.",
        "Die Frau ist angekommen.",
    ),
    "modal verb": (
        buy(the(MAN), a(BOOK), modal=VERBS["want"], frequency=ADVERBS["sometimes"]),
        "The man sometimes wanted to buy a book.",
        "Der Mann wollte manchmal ein Buch kaufen.",
    ),
    "modal verb with a negation": (
        buy(the(MAN), the(BOOK), modal=VERBS["have"], negated=True),
        "The man didn't have to buy the book.",
        "Der Mann musste das Buch nicht kaufen.",
    ),
    "future": (
        is_(the(LAMP), "old", degree="very", tense="future"),
        "The lamp will be very old.",
        "Die Lampe wird sehr alt sein.",
    ),
    "kein": (
        buy(the(WOMAN), NounPhrase(LAMP, "negative", (ADJECTIVES["new"],))),
        "The woman bought no new lamp.",
        "Die Frau kaufte keine neue Lampe.",
    ),
    "a person in the dative before a thing": (
        buy(the(WOMAN), a(BOOK), "give", indirect=the(BOY)),
        "The woman gave the boy a book.",
        "Die Frau gab dem Jungen ein Buch.",
    ),
    "a pronoun before a person": (
        buy(the(WOMAN), it(BOOK), "give", indirect=the(BOY)),
        "The woman gave it to the boy.",
        "Die Frau gab es dem Jungen.",
    ),
    "a verb with the dative": (
        buy(the(MAN), it(WOMAN), "help", negated=True),
        "The man didn't help her.",
        "Der Mann half ihr nicht.",
    ),
    "a verb with a preposition in English alone": (
        buy(the(MAN), it(KNIFE), "look"),
        "The man looked for it.",
        "Der Mann suchte es.",
    ),
    "relative clause of the subject": (
        buy(the(MAN, relative=Clause(None, VERBS["sleep"], "past")), the(BOOK)),
        "The man who slept bought the book.",
        "Der Mann, der schlief, kaufte das Buch.",
    ),
    "relative clause of the object": (
        is_(the(TABLE, relative=buy(NounPhrase(ANNA, "name"), None), relative_role="object"), "old"),
        "The table that Anna bought was old.",
        "Der Tisch, den Anna kaufte, war alt.",
    ),
    "a preposition without its object": (
        buy(the(MAN), the(TABLE, relative=buy(it(WOMAN), None, "look"), relative_role="object")),
        "The man bought the table that she looked for.",
        "Der Mann kaufte den Tisch, den sie suchte.",
    ),
    "one comma where two clauses end": (
        buy(the(MAN), the(TABLE, relative=buy(it(WOMAN), None), relative_role="object")),
        "The man bought the table that she bought.",
        "Der Mann kaufte den Tisch, den sie kaufte.",
    ),
    "contraction": (
        Clause(the(MAN), VERBS["sleep"], "past", place=in_the("garden"), fronted="place"),
        "In the garden, the man slept.",
        "Im Garten schlief der Mann.",
    ),
    "a place where something is": (
        Clause(it(KNIFE), VERBS["lie"], "past", argument=at(TABLE, "under", "dative")),
        "It lay under the table.",
        "Es lag unter dem Tisch.",
    ),
    "a place to which something goes": (
        buy(the(MAN), the(KNIFE), "place", argument=at(TABLE, "under", "accusative")),
        "The man placed the knife under the table.",
        "Der Mann legte das Messer unter den Tisch.",
    ),
    "genitive": (
        buy(the(MAN), NounPhrase(entity("bank_shore"), "definite", attribute=the(entity("river"))), "see"),
        "The man saw the bank of the river.",
        "Der Mann sah das Ufer des Flusses.",
    ),
    "a name in the genitive": (
        buy(the(MAN), NounPhrase(TABLE, "possessive", (ADJECTIVES["new"],), possessor=NounPhrase(ANNA, "name")), "see"),
        "The man saw Anna's new table.",
        "Der Mann sah Annas neuen Tisch.",
    ),
    "his": (
        buy(the(MAN), NounPhrase(LAMP, "possessive", (ADJECTIVES["old"],), possessor=it(MAN)), "sell"),
        "The man sold his old lamp.",
        "Der Mann verkaufte seine alte Lampe.",
    ),
    "Herr and Herrn": (
        buy(NounPhrase(WEBER, "name"), NounPhrase(WEBER, "name"), "see"),
        "Mr. Weber saw Mr. Weber.",
        "Herr Weber sah Herrn Weber.",
    ),
    "plural without an article": (
        buy(the(MAN), a(entity("lamp", plural=True), "old"), "sell"),
        "The man sold old lamps.",
        "Der Mann verkaufte alte Lampen.",
    ),
    "two subjects": (
        Clause(the(MAN, other=the(WOMAN)), VERBS["sleep"], "present"),
        "The man and the woman sleep.",
        "Der Mann und die Frau schlafen.",
    ),
    "that": (
        Clause(the(MAN), VERBS["say"], "past", complement=is_(the(WOMAN), "happy")),
        "The man said that the woman was happy.",
        "Der Mann sagte, dass die Frau glücklich war.",
    ),
}


@pytest.mark.parametrize(("clause", "english", "german"), SENTENCES.values(), ids=SENTENCES)
def test_a_clause_is_said_right(clause, english, german):
    assert said(clause) == (english, german)


def test_a_relative_clause_keeps_preposition_and_article_apart():
    garden = entity("garden")
    place = PrepositionalPhrase(garden.wording.noun.at, "dative", the(garden, relative=is_(None, "beautiful")))
    assert said(Clause(the(MAN), VERBS["sleep"], "past", place=place)) == (
        "The man slept in the garden that was beautiful.",
        "Der Mann schlief in dem Garten, der schön war.",
    )


def test_kinds_of_sentences():
    old = is_(the(TABLE), "old")
    assert said(old, question=True) == ("Was the table old?", "War der Tisch alt?")
    assert said(buy(the(MAN), it(LAMP)), question=True) == ("Did the man buy it?", "Kaufte der Mann sie?")
    yesterday = buy(the(MAN), it(LAMP), time=ADVERBS["yesterday"], reordered=True)
    assert said(yesterday, question=True) == ("Did the man buy it yesterday?", "Kaufte der Mann sie gestern?")
    assert said(old, speaker=NounPhrase(ANNA, "name"), speaking=VERBS["say"]) == (
        '"The table was old," said Anna.',
        '"Der Tisch war alt", sagte Anna.',
    )
    but, and_ = LEXICON.conjunctions["but"], LEXICON.conjunctions["and"]
    assert said(old, opening=but) == ("But the table was old.", "Aber der Tisch war alt.")
    second = buy(the(MAN), it(TABLE))
    assert said(old, conjunction=but, second=second) == (
        "The table was old, but the man bought it.",
        "Der Tisch war alt, aber der Mann kaufte ihn.",
    )
    assert said(old, conjunction=and_, second=second)[1] == "Der Tisch war alt und der Mann kaufte ihn."


def test_a_sentence_in_the_order_of_one_language():
    clause = buy(the(MAN), the(LAMP), time=ADVERBS["yesterday"], reordered=True)
    sentence = Sentence(clause, conjunction=LEXICON.conjunctions["and"], second=replace(clause, fronted="time"))
    english, german = (realise(sentence.ordered_as(language)) for language in ("en", "de"))
    assert english.text("de") == "Der Mann kaufte gestern die Lampe und gestern kaufte der Mann die Lampe."
    assert german.text("en") == "Yesterday the man bought the lamp, and the man bought the lamp yesterday."
    asked = Sentence(clause, question=True).ordered_as("de")
    assert realise(asked).text("en") == "Did the man buy the lamp yesterday?"
    assert (english.text("en"), german.text("de")) == (realise(sentence).text("en"), realise(sentence).text("de"))


def test_an_entity_can_be_called_by_another_noun():
    clause = buy(the(MAN), a(TABLE, "old"), subordinator=LEXICON.subordinators["because"])
    pronoun = it(TABLE)
    clause.subordinate = is_(pronoun, "cheap")
    sentence = Sentence(clause)
    assert (
        realise(sentence, {TABLE: LAMP.wording}).text("de") == "Der Mann kaufte eine alte Lampe, weil sie billig war."
    )
    assert (
        realise(sentence, {pronoun: LAMP.wording}).text("de")
        == "Der Mann kaufte einen alten Tisch, weil sie billig war."
    )


def test_tree_tags_and_alignment():
    words = realise(Sentence(buy(the(BOY), the(DOOR), "open", time=ADVERBS["yesterday"], fronted="time")))
    assert bracketed(words.tree, iter(words.tokens("en"))) == (
        "(ROOT (S (ADVP (RB Yesterday)) (NP (DT the) (NN boy)) (VP (VBD opened) (NP (DT the) (NN door))) (. .)))"
    )
    assert words.tokens("de") == ["Gestern", "machte", "der", "Junge", "die", "Tür", "auf", "."]
    assert [leaf.tag for leaf in words.de] == ["ADV", "VVFIN", "ART", "NN", "ART", "NN", "PTKVZ", "$."]
    assert words.alignment() == [(0, 0), (1, 2), (2, 3), (3, 1), (3, 6), (4, 4), (5, 5), (6, 7)]


@pytest.fixture(scope="module")
def drawn():
    vocabulary = Vocabulary(LEXICON)
    documents = [Document(vocabulary, RateSettings(), Random(f"syntax {number}")).plan() for number in range(600)]
    return [realise(sentence) for document in documents for sentence in document]


def _noun_phrases(words):
    """Yield (article, adjectives, noun) of each German noun phrase with an article."""
    tags = [leaf.tag for leaf in words.de]
    for place, tag in enumerate(tags):
        if tag in ("ART", "PIAT", "PDAT", "PPOSAT"):
            end = place + 1
            while tags[end] == "ADJA":
                end += 1
            assert tags[end] == "NN", words.text("de")
            yield tuple(leaf.word for leaf in words.de[place : end + 1])


def test_article_adjectives_and_noun_agree_in_a_cell_of_the_tables(drawn):
    nouns = [word for noun in (*LEXICON.nouns.values(), *LEXICON.senses.values()) for word in noun.de]
    kinds = ("definite", "indefinite", "negative", "demonstrative", "his", "her")
    cells = {}
    for word in nouns:
        for (case, number), form in word.forms.items():
            cells.setdefault(form, []).append((word.gender, number, case))
    stems = [entry.stem or entry.de for entry in ADJECTIVES.values()]

    def agrees(article, adjectives, kind, cell):
        gender, number, case = cell
        declension = "strong" if (kind, number) == ("indefinite", "plural") else german.DECLENSIONS[kind]
        allowed = {german.adjective(stem, declension, gender, number, case) for stem in stems}
        return german.form(kind, gender, number, case) == article and allowed.issuperset(adjectives)

    seen = 0
    for words in drawn:
        for article, *adjectives, noun in _noun_phrases(words):
            if noun in cells:
                seen += 1
                possible = [(kind, cell) for kind in kinds for cell in cells[noun]]
                assert any(agrees(article, adjectives, kind, cell) for kind, cell in possible), words.text("de")
    assert seen > 3000


def test_the_finite_verb_is_second_in_main_clauses_and_last_in_others(drawn):
    finite = {"VVFIN", "VAFIN", "VMFIN"}
    subordinate = 0
    for words in drawn:
        leaves = [*words.de]
        for place, leaf in enumerate(leaves):
            if leaf.tag not in ("KOUS", "PRELS"):
                continue
            subordinate += 1
            assert place == 0 or leaves[place - 1].word in (",", '"') or leaves[place - 1].tag == "KON", words.text(
                "de"
            )
            depth, verb = 0, None
            for later, other in enumerate(leaves[place + 1 :], start=place + 1):
                if other.tag in ("KOUS", "PRELS"):
                    depth += 1
                if other.tag in finite:
                    if depth == 0:
                        verb = later
                        break
                    depth -= 1
            assert verb is not None, words.text("de")
            assert leaves[verb + 1].tag in ("$,", "$.", "$(", "KON"), words.text("de")
    assert subordinate > 500


def test_english_agrees_and_negates_with_do(drawn):
    for words in drawn:
        tokens = words.tokens("en")
        for place, token in enumerate(tokens[:-1]):
            following = tokens[place + 1]
            if token in ("a", "A"):
                assert following[0] not in "aeiou", tokens
            if token in ("an", "An"):
                assert following[0] in "aeiou", tokens
            if token in ("he", "she", "it", "He", "She", "It") and tokens[place - 1] != "of":
                assert following not in ("are", "were", "have", "do"), tokens
            if token in ("they", "They"):
                assert following not in ("is", "was", "has", "does"), tokens


@pytest.mark.slow
def test_every_pronoun_of_many_documents_has_an_antecedent():
    vocabulary = Vocabulary(LEXICON)
    for number in range(2500):
        plan = Document(vocabulary, RateSettings(relative=0.4, subordinate=0.4), Random(f"gold {number}")).plan()
        words = [realise(sentence) for sentence in plan]
        assert len(list(gold_records(LEXICON, number, plan, words))) == len(plan)
