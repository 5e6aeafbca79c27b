"""The two grammars of the miniature corpus: sentences of a grammar book, and rules that all sentences follow."""

import re
from dataclasses import replace
from random import Random

import pytest
from measured import assert_golden

from context_nmt.miniature.clauses import LexiconIndex
from context_nmt.miniature.documents import Document
from context_nmt.miniature.grammar import realise
from context_nmt.miniature.lexicon import TABLES, german_adjective, german_form, load_lexicon
from context_nmt.miniature.meaning import Clause, Entity, NounPhrase, PrepositionalPhrase, Sentence, Wording
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


def the(of, *adjectives, form="definite", **more):
    return NounPhrase(of, form, tuple(ADJECTIVES[name] for name in adjectives), **more)


def a(of, *adjectives):
    return the(of, *adjectives, form="indefinite")


def it(of):
    return NounPhrase(of, "pronoun")


def named(of):
    return NounPhrase(of, "name")


def is_(subject, *adjectives, degree=None, tense="past", **more):
    words = tuple(ADJECTIVES[name] for name in adjectives)
    return Clause(subject, VERBS["be"], tense, adjectives=words, degree=degree and ADVERBS[degree], **more)


def does(subject, verb, target=None, tense="past", **more):
    return Clause(subject, VERBS[verb], tense, object=target, **more)


def joined(subordinator, clause):
    return {"subordinator": LEXICON.subordinators[subordinator], "subordinate": clause}


def at(place, preposition, case):
    return PrepositionalPhrase(LEXICON.prepositions[preposition], case, the(place))


def in_the(place, **more):
    return PrepositionalPhrase(LEXICON.nouns[place].at, "dative", the(entity(place), **more))


OLD, YESTERDAY = is_(the(TABLE), "old"), ADVERBS["yesterday"]
AND, BUT = LEXICON.conjunctions["and"], LEXICON.conjunctions["but"]
SENTENCES = [  # golden/miniature-sentences.txt has their texts
    does(the(MAN, "old"), "buy", a(TABLE, "expensive")),
    does(the(MAN), "buy", the(LAMP), time=YESTERDAY, fronted="time"),
    does(the(MAN), "buy", the(LAMP), time=YESTERDAY, reordered=True),
    does(the(MAN), "buy", the(LAMP), time=YESTERDAY, fronted="time", reordered=True),
    does(the(MAN), "buy", the(TABLE), **joined("because", is_(it(TABLE), "cheap"))),
    does(the(MAN), "buy", the(LAMP), fronted="subordinate", **joined("when", does(the(WOMAN), "sleep"))),
    does(the(BOY), "open", the(DOOR)),
    is_(it(MAN), "happy", **joined("because", does(the(BOY), "open", the(DOOR)))),
    does(the(BOY), "open", the(DOOR), tense="perfect", negated=True),
    does(the(WOMAN), "arrive", tense="perfect"),
    does(the(MAN), "buy", a(BOOK), modal=VERBS["want"], frequency=ADVERBS["sometimes"]),
    does(the(MAN), "buy", the(BOOK), modal=VERBS["have"], negated=True),
    is_(the(LAMP), "old", degree="very", tense="future"),
    does(the(WOMAN), "buy", the(LAMP, "new", form="negative")),
    does(the(WOMAN), "give", a(BOOK), indirect=the(BOY)),
    does(the(WOMAN), "give", it(BOOK), indirect=the(BOY)),
    does(the(MAN), "help", it(WOMAN), negated=True),
    does(the(MAN), "look", it(KNIFE)),
    does(the(MAN, relative=does(None, "sleep")), "buy", the(BOOK)),
    is_(the(TABLE, relative=does(named(ANNA), "buy"), relative_role="object"), "old"),
    does(the(MAN), "buy", the(TABLE, relative=does(it(WOMAN), "look"), relative_role="object")),
    does(the(MAN), "buy", the(TABLE, relative=does(it(WOMAN), "buy"), relative_role="object")),
    does(the(MAN), "sleep", place=in_the("garden"), fronted="place"),
    does(it(KNIFE), "lie", argument=at(TABLE, "under", "dative")),
    does(the(MAN), "place", the(KNIFE), argument=at(TABLE, "under", "accusative")),
    does(the(MAN), "see", the(entity("bank_shore"), attribute=the(entity("river")))),
    does(the(MAN), "see", the(TABLE, "new", form="possessive", possessor=named(ANNA))),
    does(the(MAN), "sell", the(LAMP, "old", form="possessive", possessor=it(MAN))),
    does(named(WEBER), "see", named(WEBER)),
    does(the(MAN), "sell", a(entity("lamp", plural=True), "old")),
    does(the(MAN, other=the(WOMAN)), "sleep", tense="present"),
    does(the(MAN), "say", complement=is_(the(WOMAN), "happy")),
    does(the(MAN), "sleep", place=in_the("garden", relative=is_(None, "beautiful"))),
    Sentence(OLD, question=True),
    Sentence(does(the(MAN), "buy", it(LAMP)), question=True),
    Sentence(does(the(MAN), "buy", it(LAMP), time=YESTERDAY, reordered=True), question=True),
    Sentence(OLD, speaker=named(ANNA), speaking=VERBS["say"]),
    Sentence(OLD, opening=BUT),
    Sentence(OLD, BUT, does(the(MAN), "buy", it(TABLE))),
    Sentence(OLD, AND, does(the(MAN), "buy", it(TABLE))),
]


def test_sentences_have_the_right_texts():
    lines = []
    for sentence in SENTENCES:
        words = realise(sentence if isinstance(sentence, Sentence) else Sentence(sentence))
        lines.append(f"{words.text('en')} | {words.text('de')}\n")
    assert_golden("".join(lines), "miniature-sentences.txt")


def test_a_sentence_in_the_order_of_one_language():
    clause = does(the(MAN), "buy", the(LAMP), time=YESTERDAY, reordered=True)
    sentence = Sentence(clause, AND, replace(clause, fronted="time"))
    english, german = (realise(sentence.ordered_as(language)) for language in ("en", "de"))
    assert english.text("de") == "Der Mann kaufte gestern die Lampe und gestern kaufte der Mann die Lampe."
    assert german.text("en") == "Yesterday the man bought the lamp, and the man bought the lamp yesterday."
    question = Sentence(clause, question=True).ordered_as("de")
    assert realise(question).text("en") == "Did the man buy the lamp yesterday?"
    assert (english.text("en"), german.text("de")) == (realise(sentence).text("en"), realise(sentence).text("de"))


def test_an_entity_or_a_single_mention_can_have_another_wording():
    pronoun = it(TABLE)
    sentence = Sentence(does(the(MAN), "buy", a(TABLE, "old"), **joined("because", is_(pronoun, "cheap"))))
    texts = [realise(sentence, {replaced: LAMP.wording}).text("de") for replaced in (TABLE, pronoun)]
    assert texts[0] == "Der Mann kaufte eine alte Lampe, weil sie billig war."
    assert texts[1] == "Der Mann kaufte einen alten Tisch, weil sie billig war."


def test_tree_tags_and_alignment():
    words = realise(Sentence(does(the(BOY), "open", the(DOOR), time=YESTERDAY, fronted="time")))
    assert words.brackets() == (
        "(ROOT (S (ADVP (RB Yesterday)) (NP (DT the) (NN boy)) (VP (VBD opened) (NP (DT the) (NN door))) (. .)))"
    )
    assert words.tokens("de") == ["Gestern", "machte", "der", "Junge", "die", "Tür", "auf", "."]
    assert words.tags("de") == ["ADV", "VVFIN", "ART", "NN", "ART", "NN", "PTKVZ", "$."]
    assert words.alignment() == [(0, 0), (1, 2), (2, 3), (3, 1), (3, 6), (4, 4), (5, 5), (6, 7)]


@pytest.fixture(scope="module")
def drawn():
    index = LexiconIndex(LEXICON)
    documents = [Document(index, RateSettings(), Random(f"syntax {number}")).plan() for number in range(600)]
    return [realise(sentence) for document in documents for sentence in document]


def test_article_adjectives_and_noun_agree_in_a_cell_of_the_tables(drawn):
    cells = {}
    for noun in (*LEXICON.nouns.values(), *LEXICON.senses.values()):
        for word in noun.de:
            for (case, number), form in word.forms.items():
                cells.setdefault(form, []).append((word.gender, number, case))

    def agrees(article, adjectives, kind, cell):
        stems = [entry.stem or entry.de for entry in ADJECTIVES.values()]
        allowed = {german_adjective(stem, TABLES["declensions"][kind], *cell) for stem in stems}
        return german_form(kind, *cell) == article and allowed.issuperset(adjectives)

    seen = 0
    for words in drawn:
        tags = " ".join(leaf.tag for leaf in words.de)
        for match in re.finditer(r"\b(ART|PIAT|PDAT|PPOSAT)( ADJA)* (\w+)", tags):
            first = tags[: match.start()].count(" ")
            article, *adjectives, noun = [leaf.word for leaf in words.de[first:][: match[0].count(" ") + 1]]
            assert match[3] == "NN", words.text("de")
            if noun in cells:
                seen += 1
                possible = [(kind, cell) for kind in TABLES["declensions"] for cell in cells[noun]]
                assert any(agrees(article, adjectives, kind, cell) for kind, cell in possible), words.text("de")
    assert seen > 3000


def test_the_finite_verb_is_last_in_subordinate_clauses(drawn):
    subordinate = 0
    for words in drawn:
        tags = words.tags("de")
        for start in [index for index, tag in enumerate(tags) if tag in ("KOUS", "PRELS")]:
            subordinate += 1
            assert start == 0 or tags[start - 1] in ("$,", "$(", "KON"), words.text("de")
            verb, open_clauses = start, 1
            while open_clauses:
                verb += 1
                open_clauses += (tags[verb] in ("KOUS", "PRELS")) - (tags[verb] in ("VVFIN", "VAFIN", "VMFIN"))
            assert tags[verb + 1] in ("$,", "$.", "$(", "KON"), words.text("de")
    assert subordinate > 500


def test_english_subjects_and_articles_agree(drawn):
    plural, singular = {"are", "were", "have", "do"}, {"is", "was", "has", "does"}
    wrong = {"he": plural, "she": plural, "it": plural, "they": singular}
    for words in drawn:
        tokens = [token.lower() for token in words.tokens("en")]
        for before, token, following in zip(["", *tokens], tokens, tokens[1:], strict=False):
            if token in ("a", "an"):
                assert (following[0] in "aeiou") == (token == "an"), tokens
            assert before == "of" or following not in wrong.get(token, ()), tokens
