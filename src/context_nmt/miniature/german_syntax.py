"""The meaning of a sentence as German tokens, with the Stuttgart-Tübingen tags (STTS) and Moses' tokens.

A clause is laid out in fields: what stands in front of the finite verb of a main clause (Vorfeld), the middle
(Mittelfeld), the verbs at its end (rechte Klammer), and subordinate clauses behind them (Nachfeld).
"""

from context_nmt.miniature.german_morphology import (
    adjective,
    article,
    contraction,
    declension_after,
    personal_pronoun,
    relative_pronoun,
)
from context_nmt.miniature.german_verbs import punctuated, verbs
from context_nmt.miniature.lexicon import Adverb, TimePhrase
from context_nmt.miniature.meaning import (
    Clause,
    Front,
    NounPhrase,
    Predicate,
    PrepositionalPhrase,
    Sentence,
    Wording,
    Wordings,
)
from context_nmt.miniature.trees import Leaf

COMMA = Leaf("$,", ",")
QUOTE = Leaf("$(", '"')
ARTICLE_TAGS = {"definite": "ART", "indefinite": "ART", "negative": "PIAT", "demonstrative": "PDAT"}
POSSESSIVES = {"masculine": "his", "feminine": "her"}


class German:
    """German words for sentences; `wordings` are the entities that are called by another noun than their own."""

    def __init__(self, wordings: Wordings):
        self._wordings = wordings

    def sentence(self, sentence: Sentence) -> list[Leaf]:
        """The leaves of a sentence, without a capital at its start."""
        if sentence.speaker:
            said = self._speaking(sentence, sentence.speaker)
            words = [_quote(sentence, "open"), *self._main(sentence.clause), _quote(sentence, "close"), *said]
        elif sentence.question:
            words = self._main(sentence.clause, verb_first=True)
        else:
            words = self._statement(sentence)
        stop = "?" if sentence.question else "."
        return punctuated([*words, Leaf("$.", stop, ((sentence, "stop"),))])

    def _statement(self, sentence: Sentence) -> list[Leaf]:
        words = self._main(sentence.clause)
        if sentence.opening:
            words = [Leaf("KON", sentence.opening.german, ((sentence, "opening"),)), *words]
        if sentence.second and sentence.conjunction:
            comma = [Leaf("$,", ",", ((sentence, "comma"),))] if sentence.conjunction.german != "und" else []
            conjunction = Leaf("KON", sentence.conjunction.german, ((sentence, "conjunction"),))
            words = [*words, *comma, conjunction, *self._main(sentence.second)]
        return words

    def _speaking(self, sentence: Sentence, speaker: NounPhrase) -> list[Leaf]:
        assert sentence.speaking is not None
        finite = sentence.speaking.german.finite[sentence.speaking_tense, 3, self._number(speaker)]
        comma = Leaf("$,", ",", ((sentence, "comma"),))
        return [comma, Leaf("VVFIN", finite, ((sentence, "said"),)), *self._noun_phrase(speaker, "nominative")]

    def _main(self, clause: Clause, *, verb_first: bool = False) -> list[Leaf]:
        """A clause with the verb in second place, or in the first of a question."""
        assert clause.subject is not None
        finite, end = verbs(clause, self._number(clause.subject), last=False)
        front: list[Leaf] = []
        fronted = None if verb_first else clause.fronted_in_german
        if fronted == "subordinate":
            front = self._subordinate(clause)
        elif fronted:
            front = self._adverbial(clause, fronted)
        elif not verb_first:
            front = self._noun_phrase(clause.subject, "nominative")
        middle = self._middle(clause, fronted, subject=verb_first or fronted is not None)
        return [*front, *finite, *middle, *end, *self._behind(clause)]

    def _verb_last(self, clause: Clause, number: str) -> list[Leaf]:
        """What follows the word that opens a subordinate clause."""
        finite, end = verbs(clause, number, last=True)
        front = self._adverbial(clause, clause.fronted) if clause.fronted else []
        return [*front, *self._middle(clause, clause.fronted, subject=True), *end, *finite, *self._behind(clause)]

    def _middle(self, clause: Clause, fronted: Front, *, subject: bool) -> list[Leaf]:
        """Pronouns before adverbs of time, these before nouns, the dative before the accusative, then "nicht"."""
        words = self._noun_phrase(clause.subject, "nominative") if subject and clause.subject else []
        case = clause.verb.german.case
        objects = [(phrase, case) for phrase in (clause.object,) if phrase]
        indirect = [(phrase, "dative") for phrase in (clause.indirect,) if phrase]
        for phrase, its_case in (*objects, *indirect):
            if phrase.form == "pronoun":
                words += self._noun_phrase(phrase, its_case)
        if clause.time and fronted != "time":
            words += self._adverbial(clause, "time")
        if clause.frequency:
            words += self._adverbial(clause, "frequency")
        for phrase, its_case in (*indirect, *objects):
            if phrase.form != "pronoun":
                words += self._noun_phrase(phrase, its_case)
        if clause.negated:
            words.append(Leaf("PTKNEG", "nicht", ((clause, "not"),)))
        if clause.manner:
            words += self._adverbial(clause, "manner")
        if clause.place and fronted != "place":
            words += self._adverbial(clause, "place")
        if clause.argument:
            words += self._prepositional_phrase(clause.argument)
        if clause.predicate:
            words += _adjectives(clause.predicate)
        return words

    def _behind(self, clause: Clause) -> list[Leaf]:
        words: list[Leaf] = []
        if clause.complement and clause.complement.subject:
            that = Leaf("KOUS", "dass", ((clause, "that"),))
            words += [COMMA, that, *self._verb_last(clause.complement, self._number(clause.complement.subject)), COMMA]
        if clause.subordinate and clause.fronted != "subordinate":
            words += [COMMA, *self._subordinate(clause), COMMA]
        return words

    def _subordinate(self, clause: Clause) -> list[Leaf]:
        assert clause.subordinator is not None
        assert clause.subordinate is not None
        assert clause.subordinate.subject is not None
        opening = Leaf("KOUS", clause.subordinator.german, ((clause, "subordinator"),))
        words = [opening, *self._verb_last(clause.subordinate, self._number(clause.subordinate.subject))]
        return [*words, Leaf("$,", ",", ((clause, "front"),))] if clause.fronted == "subordinate" else words

    def _adverbial(self, clause: Clause, role: str) -> list[Leaf]:
        """What a clause says of its time, place, frequency or manner."""
        adverbial: Adverb | TimePhrase | PrepositionalPhrase = getattr(clause, role)
        if isinstance(adverbial, PrepositionalPhrase):
            return self._prepositional_phrase(adverbial)
        part = ((clause, role),)
        if isinstance(adverbial, Adverb):
            return [Leaf("ADV", adverbial.german, part)]
        before = ((clause, f"{role} preposition"),)
        *others, noun = adverbial.german
        tags = ("APPRART",) if len(others) == 1 else ("APPR", "ART")
        return [*(Leaf(tag, word, before) for tag, word in zip(tags, others, strict=True)), Leaf("NN", noun, part)]

    def _prepositional_phrase(self, phrase: PrepositionalPhrase) -> list[Leaf]:
        first, *others = self._noun_phrase(phrase.noun_phrase, phrase.case)
        part = (phrase, "preposition")
        preposition = Leaf("APPR", phrase.preposition.german, (part,))
        # A relative clause that picks one out keeps the article apart: "in dem Haus, das …".
        if phrase.noun_phrase.form == "definite" and not phrase.noun_phrase.relative:
            both = contraction(preposition.word, first.word)
            if both:
                return [Leaf("APPRART", both, (part, *first.parts)), *others]
        return [preposition, first, *others]

    def _number(self, phrase: NounPhrase) -> str:
        return "plural" if phrase.other else self._wording(phrase).number

    def _wording(self, phrase: NounPhrase) -> Wording:
        return self._wordings.get(phrase) or self._wordings.get(phrase.entity) or phrase.entity.wording

    def _noun_phrase(self, phrase: NounPhrase, case: str) -> list[Leaf]:
        words = self._single(phrase, case)
        if phrase.other:
            words += [Leaf("KON", "und", ((phrase, "and"),)), *self._noun_phrase(phrase.other, case)]
        return words

    def _single(self, phrase: NounPhrase, case: str) -> list[Leaf]:
        wording = self._wording(phrase)
        noun, number = wording.german, wording.number
        head = ((phrase, "noun"),)
        if phrase.form == "pronoun":
            return [Leaf("PPER", personal_pronoun(3, number, noun.gender, case), head)]
        if phrase.form == "name":
            return self._name(phrase, case)
        determiner, declension = self._determiner(phrase, noun.gender, number, case)
        words = [
            *determiner,
            *(
                Leaf(
                    "ADJA",
                    adjective(word.stem, declension, noun.gender, number, case),
                    ((phrase, f"adjective {place}"),),
                )
                for place, word in enumerate(phrase.adjectives)
            ),
            Leaf("NN", noun.forms[case, number], head),
        ]
        if phrase.attribute:
            article_, *others = self._noun_phrase(phrase.attribute, "genitive")
            words += [article_._replace(parts=((phrase.attribute, "of"), *article_.parts)), *others]
        if phrase.relative:
            words += [COMMA, *self._relative(phrase, phrase.relative, noun.gender, number), COMMA]
        return words

    def _name(self, phrase: NounPhrase, case: str) -> list[Leaf]:
        name = phrase.entity.name
        assert name is not None
        words = name.german[case].split()
        tags = ["NN"] * (len(words) - 1) + ["NE"]
        return [
            Leaf(tag, word, ((phrase, f"name {place}"),))
            for place, (tag, word) in enumerate(zip(tags, words, strict=True))
        ]

    def _determiner(self, phrase: NounPhrase, gender: str, number: str, case: str) -> tuple[list[Leaf], str]:
        """The article, or what stands in its place, and the declension of the adjectives behind it."""
        part = ((phrase, "determiner"),)
        if phrase.form == "possessive":
            assert phrase.possessor is not None
            if phrase.possessor.form == "name":
                return self._name(phrase.possessor, "genitive"), "strong"
            kind = POSSESSIVES[self._wording(phrase.possessor).noun.gender]
            parts = (*part, (phrase.possessor, "noun"))
            return [Leaf("PPOSAT", article(kind, gender, number, case), parts)], declension_after(kind, number)
        if phrase.numeral:
            return [Leaf("CARD", phrase.numeral.german, part)], "strong"
        if phrase.form == "indefinite" and number == "plural":
            return [], "strong"
        word = article(phrase.form, gender, number, case)
        return [Leaf(ARTICLE_TAGS[phrase.form], word, part)], declension_after(phrase.form, number)

    def _relative(self, phrase: NounPhrase, clause: Clause, gender: str, number: str) -> list[Leaf]:
        case = "nominative"
        if phrase.relative_role == "object":
            case = clause.verb.german.case
        pronoun = Leaf("PRELS", relative_pronoun(gender, number, case), ((phrase, "relative"),))
        return [pronoun, *self._verb_last(clause, number if clause.subject is None else self._number(clause.subject))]


def _adjectives(predicate: Predicate) -> list[Leaf]:
    words: list[Leaf] = []
    if predicate.degree:
        words.append(Leaf("ADV", predicate.degree.german, ((predicate, "degree"),)))
    for place, word in enumerate(predicate.adjectives):
        if place:
            words.append(Leaf("KON", "und", ((predicate, "and"),)))
        words.append(Leaf("ADJD", word.german, ((predicate, f"adjective {place}"),)))
    return words


def _quote(sentence: Sentence, role: str) -> Leaf:
    return QUOTE._replace(parts=((sentence, role),))
