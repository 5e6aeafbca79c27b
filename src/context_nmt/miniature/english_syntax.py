"""The meaning of a sentence as an English constituency tree, with the Penn Treebank's labels and Moses' tokens."""

from context_nmt.miniature.english_morphology import indefinite_article, personal_pronoun
from context_nmt.miniature.english_verbs import finite_tag, verbs
from context_nmt.miniature.lexicon import Adverb, TimePhrase
from context_nmt.miniature.meaning import (
    Clause,
    NounPhrase,
    Predicate,
    PrepositionalPhrase,
    Sentence,
    Wording,
    Wordings,
)
from context_nmt.miniature.trees import Leaf, Node

Tree = Node | Leaf  # a constituent

TAGS_IN_PREPOSITIONS = {"to": "TO", "front": "NN"}  # next to, in front of
DETERMINERS = {"definite": "the", "negative": "no", "demonstrative": "this"}


class English:
    """English words for sentences; `wordings` are the entities that are called by another noun than their own."""

    def __init__(self, wordings: Wordings):
        self._wordings = wordings

    def sentence(self, sentence: Sentence) -> Node:
        """The tree of a sentence, without a capital at its start."""
        if sentence.question:
            top = self._question(sentence)
        elif sentence.speaker:
            top = self._speech(sentence, sentence.speaker)
        else:
            top = self._statement(sentence)
        return Node("ROOT", (top,))

    def _statement(self, sentence: Sentence) -> Node:
        opening = (Leaf("CC", sentence.opening.english, ((sentence, "opening"),)),) if sentence.opening else ()
        stop = Leaf(".", ".", ((sentence, "stop"),))
        if sentence.second is None or sentence.conjunction is None:
            return Node("S", (*opening, *self._clause(sentence.clause), stop))
        first = Node("S", self._clause(sentence.clause))
        second = Node("S", self._clause(sentence.second))
        comma = Leaf(",", ",", ((sentence, "comma"),))
        conjunction = Leaf("CC", sentence.conjunction.english, ((sentence, "conjunction"),))
        return Node("S", (*opening, first, comma, conjunction, second, stop))

    def _speech(self, sentence: Sentence, speaker: NounPhrase) -> Node:
        assert sentence.speaking is not None
        tense, number = sentence.speaking_tense, self._number(speaker)
        word = sentence.speaking.english.finite[tense, 3, number]
        said = Leaf(finite_tag(tense, number), word, ((sentence, "said"),))
        return Node(
            "SINV",
            (
                Leaf("``", '"', ((sentence, "open"),)),
                Node("S", self._clause(sentence.clause)),
                Leaf(",", ",", ((sentence, "comma"),)),
                Leaf("''", '"', ((sentence, "close"),)),
                Node("VP", (said,)),
                self._noun_phrase(speaker, "subject"),
                Leaf(".", ".", ((sentence, "stop"),)),
            ),
        )

    def _question(self, sentence: Sentence) -> Node:
        clause = sentence.clause
        assert clause.subject is not None
        finite, rest = verbs(clause, self._number(clause.subject), support=True)
        subject = self._noun_phrase(clause.subject, "subject")
        stop = Leaf(".", "?", ((sentence, "stop"),))
        return Node("SQ", (*finite, subject, *_nested(rest, self._complements(clause)), stop))

    def _clause(self, clause: Clause) -> tuple[Tree, ...]:
        """What is fronted, the subject and the verb phrase."""
        assert clause.subject is not None
        subject = self._noun_phrase(clause.subject, "subject")
        return (*self._front(clause), subject, *self._predicate(clause, self._number(clause.subject)))

    def _front(self, clause: Clause) -> tuple[Tree, ...]:
        comma = Leaf(",", ",", ((clause, "front"),))
        if clause.fronted == "subordinate":
            return self._subordinate(clause), comma
        if clause.fronted is None:
            return ()
        front = self._adverbial(clause, clause.fronted)
        return (front,) if front.label == "ADVP" else (front, comma)

    def _predicate(self, clause: Clause, number: str) -> tuple[Tree, ...]:
        """The verb phrase; "often" stands before a verb and "wants to", and behind an auxiliary or "be"."""
        finite, rest = verbs(clause, number, support=clause.negated)
        often = (self._adverbial(clause, "frequency"),) if clause.frequency else ()
        wants = clause.modal is not None and clause.modal.english.marker and not clause.negated
        if often and not wants and (rest or clause.verb.frame == "copula"):
            return (Node("VP", (*finite, *often, *_nested(rest, self._complements(clause)))),)
        return (*often, Node("VP", (*finite, *_nested(rest, self._complements(clause)))))

    def _complements(self, clause: Clause) -> tuple[Tree, ...]:
        """What follows the verbs."""
        parts: list[Tree] = []
        direct, indirect = clause.object, clause.indirect
        if indirect and direct and direct.form == "pronoun":
            recipient = self._noun_phrase(indirect, "object")
            to = Leaf("TO", "to", ((indirect, "to"),))
            parts += [self._noun_phrase(direct, "object"), Node("PP", (to, recipient))]
        else:
            parts += [self._noun_phrase(phrase, "object") for phrase in (indirect, direct) if phrase]
        word = clause.verb.english.preposition
        if word and clause.verb.frame != "prepositional":  # looked FOR, also in "that he looked for": German has none
            preposition = Leaf("TO" if word == "to" else "IN", word, ((clause, "verb"),))
            parts = [Node("PP", (preposition, *parts))]
        if clause.predicate:
            parts.append(_adjective_phrase(clause.predicate))
        if clause.argument:
            parts.append(self._prepositional_phrase(clause.argument))
        if clause.complement:
            that = Leaf("IN", "that", ((clause, "that"),))
            parts.append(Node("SBAR", (that, Node("S", self._clause(clause.complement)))))
        if clause.manner:
            parts.append(self._adverbial(clause, "manner"))
        if clause.place and clause.fronted != "place":
            parts.append(self._adverbial(clause, "place"))
        if clause.time and clause.fronted != "time":
            parts.append(self._adverbial(clause, "time"))
        if clause.subordinate and clause.fronted != "subordinate":
            parts.append(self._subordinate(clause))
        return tuple(parts)

    def _subordinate(self, clause: Clause) -> Node:
        assert clause.subordinator is not None
        assert clause.subordinate is not None
        word = clause.subordinator.english
        parts = ((clause, "subordinator"),)
        when = Node("WHADVP", (Leaf("WRB", word, parts),)) if word == "when" else Leaf("IN", word, parts)
        return Node("SBAR", (when, Node("S", self._clause(clause.subordinate))))

    def _adverbial(self, clause: Clause, role: str) -> Node:
        """What a clause says of its time, place, frequency or manner."""
        adverbial: Adverb | TimePhrase | PrepositionalPhrase = getattr(clause, role)
        if isinstance(adverbial, PrepositionalPhrase):
            return self._prepositional_phrase(adverbial)
        part = ((clause, role),)
        if isinstance(adverbial, Adverb):
            return Node("ADVP", (Leaf("RB", adverbial.english, part),))
        before = ((clause, f"{role} preposition"),)
        preposition, *article, noun = adverbial.english
        articles = [Leaf("DT", word, before) for word in article]
        tag = "NNP" if noun.istitle() else "NN"
        return Node("PP", (Leaf("IN", preposition, before), Node("NP", (*articles, Leaf(tag, noun, part)))))

    def _prepositional_phrase(self, phrase: PrepositionalPhrase) -> Node:
        words = phrase.preposition.english.split()
        part = ((phrase, "preposition"),)
        prepositions = [Leaf(TAGS_IN_PREPOSITIONS.get(word, "IN"), word, part) for word in words]
        return Node("PP", (*prepositions, self._noun_phrase(phrase.noun_phrase, "object")))

    def _number(self, phrase: NounPhrase) -> str:
        return "plural" if phrase.other else self._wording(phrase).number

    def _wording(self, phrase: NounPhrase) -> Wording:
        return self._wordings.get(phrase) or self._wordings.get(phrase.entity) or phrase.entity.wording

    def _noun_phrase(self, phrase: NounPhrase, role: str) -> Node:
        if phrase.other:
            conjunction = Leaf("CC", "and", ((phrase, "and"),))
            return Node("NP", (self._single(phrase, role), conjunction, self._noun_phrase(phrase.other, role)))
        return self._single(phrase, role)

    def _single(self, phrase: NounPhrase, role: str) -> Node:
        wording = self._wording(phrase)
        head = ((phrase, "noun"),)
        number = wording.number
        if phrase.form == "pronoun":
            word = personal_pronoun(3, number, wording.noun.gender, role)
            return Node("NP", (Leaf("PRP", word, head),))
        if phrase.form == "name":
            return Node("NP", self._name(phrase))
        noun = wording.english.plural if wording.plural else wording.english.singular
        adjectives = [
            Leaf("JJ", adjective.english, ((phrase, f"adjective {place}"),))
            for place, adjective in enumerate(phrase.adjectives)
        ]
        following = adjectives[0].word if adjectives else noun
        core = Node(
            "NP",
            (
                *self._determiner(phrase, following),
                *adjectives,
                Leaf("NNS" if number == "plural" else "NN", noun, head),
            ),
        )
        if phrase.attribute:
            of = Leaf("IN", "of", ((phrase.attribute, "of"),))
            core = Node("NP", (core, Node("PP", (of, self._noun_phrase(phrase.attribute, "object")))))
        return Node("NP", (core, self._relative(phrase, phrase.relative, wording))) if phrase.relative else core

    def _name(self, phrase: NounPhrase) -> tuple[Leaf, ...]:
        name = phrase.entity.name
        assert name is not None
        words = name.english.split()
        return tuple(Leaf("NNP", word, ((phrase, f"name {place}"),)) for place, word in enumerate(words))

    def _determiner(self, phrase: NounPhrase, following: str) -> tuple[Tree, ...]:
        parts = ((phrase, "determiner"),)
        if phrase.form == "possessive":
            assert phrase.possessor is not None
            if phrase.possessor.form == "name":
                return (
                    Node("NP", (*self._name(phrase.possessor), Leaf("POS", "'s", ((phrase.possessor, "name 0"),)))),
                )
            gender = self._wording(phrase.possessor).noun.gender
            his = personal_pronoun(3, "singular", gender, "possessive")
            return (Leaf("PRP$", his, (*parts, (phrase.possessor, "noun"))),)
        if phrase.numeral:
            return (Leaf("CD", phrase.numeral.english, parts),)
        if phrase.form == "indefinite":
            return () if self._wording(phrase).plural else (Leaf("DT", indefinite_article(following), parts),)
        return (Leaf("DT", DETERMINERS[phrase.form], parts),)

    def _relative(self, phrase: NounPhrase, clause: Clause, wording: Wording) -> Node:
        who = phrase.relative_role == "subject" and wording.is_person
        parts = ((phrase, "relative"),)
        pronoun = Node("WHNP", (Leaf("WP", "who", parts) if who else Leaf("WDT", "that", parts),))
        if phrase.relative_role == "subject":
            number = wording.number
            return Node("SBAR", (pronoun, Node("S", self._predicate(clause, number))))
        return Node("SBAR", (pronoun, Node("S", self._clause(clause))))


def _nested(verbs: list[Leaf], complements: tuple[Tree, ...]) -> tuple[Tree, ...]:
    """Verb phrases inside each other: (S (VP to (VP buy …))) below "wants"."""
    for verb in reversed(verbs):
        complements = (Node("VP", (verb, *complements)),)
        if verb.tag == "TO":
            complements = (Node("S", complements),)
    return complements


def _adjective_phrase(predicate: Predicate) -> Node:
    words: list[Leaf] = []
    if predicate.degree:
        words.append(Leaf("RB", predicate.degree.english, ((predicate, "degree"),)))
    for place, adjective in enumerate(predicate.adjectives):
        if place:
            words.append(Leaf("CC", "and", ((predicate, "and"),)))
        words.append(Leaf("JJ", adjective.english, ((predicate, f"adjective {place}"),)))
    return Node("ADJP", tuple(words))
