"""Sentence meanings as English constituency trees, with the Penn Treebank's labels and Moses' tokens."""

from context_nmt.miniature.english_morphology import PRONOUNS, indefinite_article
from context_nmt.miniature.grammar import Grammar, Leaf, Node, leaf, node, predicate_words
from context_nmt.miniature.meaning import Clause, NounPhrase, PrepositionalPhrase, Sentence
from context_nmt.miniature.words import english_verb

Trees = tuple[Node | Leaf, ...]  # constituents

HAVE, DO = english_verb("have, had").finite, english_verb("do, did").finite
STEMS_BEFORE_NOT = {"will": "wo", "can": "ca"}
TAGS_IN_PREPOSITIONS = {"to": "TO", "front": "NN"}  # next to, in front of
DETERMINERS = {"definite": "the", "negative": "no", "demonstrative": "this"}


class English(Grammar):
    """The English grammar: turns sentences into trees."""

    def sentence(self, sentence: Sentence) -> Node:
        """Return the tree of a sentence, without a capital at its start."""
        if sentence.question:
            label, constituents = "SQ", self._question(sentence.clause)
        elif sentence.speaker:
            label, constituents = "SINV", self._speech(sentence, sentence.speaker)
        else:
            label, constituents = "S", self._statement(sentence)
        stop = leaf(".", "?" if sentence.question else ".", sentence, "stop")
        return node("ROOT", node(label, *constituents, stop))

    def _statement(self, sentence: Sentence) -> Trees:
        constituents = self._clause(sentence.clause)
        if sentence.second and sentence.conjunction:
            comma = leaf(",", ",", sentence, "comma")
            conjunction = leaf("CC", sentence.conjunction.en, sentence, "conjunction")
            constituents = (Node("S", constituents), comma, conjunction, Node("S", self._clause(sentence.second)))
        return (
            (leaf("CC", sentence.opening.en, sentence, "opening"), *constituents) if sentence.opening else constituents
        )

    def _speech(self, sentence: Sentence, speaker: NounPhrase) -> Trees:
        assert sentence.speaking is not None
        tense, number = sentence.speaking_tense, self._number(speaker)
        verb = leaf(_finite_tag(tense, number), sentence.speaking.en.finite[tense, number], sentence, "said")
        return (
            leaf("``", '"', sentence, "open"),
            Node("S", self._clause(sentence.clause)),
            leaf(",", ",", sentence, "comma"),
            leaf("''", '"', sentence, "close"),
            node("VP", verb),
            self._noun_phrase(speaker, "subject"),
        )

    def _question(self, clause: Clause) -> Trees:
        assert clause.subject is not None
        finite, rest = _verbs(clause, self._number(clause.subject), support=True)
        return (*finite, self._noun_phrase(clause.subject, "subject"), *_nested(rest, self._complements(clause)))

    def _clause(self, clause: Clause) -> Trees:
        """Return the fronted constituent, the subject and the verb phrase."""
        assert clause.subject is not None
        front: Trees = ()
        if clause.fronted:
            subordinate = clause.fronted == "subordinate"
            first = self._subordinate(clause) if subordinate else self._adverbial(clause, clause.fronted)
            front = (first,) if first.label == "ADVP" else (first, leaf(",", ",", clause, "front"))
        subject = self._noun_phrase(clause.subject, "subject")
        return (*front, subject, *self._predicate(clause, self._number(clause.subject)))

    def _predicate(self, clause: Clause, number: str) -> Trees:
        """Return the verb phrase; "often" precedes a verb and "wants to", and follows an auxiliary or "be"."""
        finite, rest = _verbs(clause, number, support=clause.negated)
        adverb = (self._adverbial(clause, "frequency"),) if clause.frequency else ()
        has_marked_modal = clause.modal is not None and clause.modal.marker and not clause.negated
        complements = _nested(rest, self._complements(clause))
        if adverb and not has_marked_modal and (rest or clause.verb.frame == "copula"):
            return (node("VP", *finite, *adverb, *complements),)
        return (*adverb, node("VP", *finite, *complements))

    def _complements(self, clause: Clause) -> Trees:
        """Return the constituents that follow the verbs."""
        direct, indirect = clause.object, clause.indirect
        if indirect and direct and direct.form == "pronoun":
            to = leaf("TO", "to", indirect, "to")
            constituents = [self._noun_phrase(direct, "object"), node("PP", to, self._noun_phrase(indirect, "object"))]
        else:
            constituents = [self._noun_phrase(phrase, "object") for phrase in (indirect, direct) if phrase]
        word = clause.verb.preposition.en
        if word and clause.verb.frame != "prepositional":  # looked FOR, also in "that he looked for": German has none
            constituents = [node("PP", leaf("TO" if word == "to" else "IN", word, clause, "verb"), *constituents)]
        if clause.adjectives:
            constituents.append(node("ADJP", *predicate_words(clause, "en", "and", ("RB", "CC", "JJ"))))
        if clause.argument:
            constituents.append(self._prepositional_phrase(clause.argument))
        if clause.complement:
            that = leaf("IN", "that", clause, "that")
            constituents.append(node("SBAR", that, Node("S", self._clause(clause.complement))))
        for role in ("manner", "place", "time"):
            if getattr(clause, role) and clause.fronted != role:
                constituents.append(self._adverbial(clause, role))
        if clause.subordinate and clause.fronted != "subordinate":
            constituents.append(self._subordinate(clause))
        return tuple(constituents)

    def _subordinate(self, clause: Clause) -> Node:
        assert clause.subordinator is not None
        assert clause.subordinate is not None
        when = clause.subordinator.en == "when"
        opening = leaf("WRB" if when else "IN", clause.subordinator.en, clause, "subordinator")
        return node("SBAR", node("WHADVP", opening) if when else opening, Node("S", self._clause(clause.subordinate)))

    def _adverbial(self, clause: Clause, role: str) -> Node:
        """Return the adverbial of time, place, frequency or manner of a clause."""
        adverbial = getattr(clause, role)
        if isinstance(adverbial, PrepositionalPhrase):
            return self._prepositional_phrase(adverbial)
        *before, noun = adverbial.en.split()
        if not before:
            return node("ADVP", leaf("RB", noun, clause, role))
        tags = zip(("IN", "DT"), before, strict=False)
        preposition, *article = [leaf(tag, word, clause, f"{role} preposition") for tag, word in tags]
        head = leaf("NNP" if noun.istitle() else "NN", noun, clause, role)
        return node("PP", preposition, node("NP", *article, head))

    def _prepositional_phrase(self, phrase: PrepositionalPhrase) -> Node:
        words = phrase.preposition.en.split()
        prepositions = [leaf(TAGS_IN_PREPOSITIONS.get(word, "IN"), word, phrase, "preposition") for word in words]
        return node("PP", *prepositions, self._noun_phrase(phrase.noun_phrase, "object"))

    def _noun_phrase(self, phrase: NounPhrase, role: str) -> Node:
        if phrase.other:
            conjunction = leaf("CC", "and", phrase, "and")
            return node("NP", self._single(phrase, role), conjunction, self._noun_phrase(phrase.other, role))
        return self._single(phrase, role)

    def _single(self, phrase: NounPhrase, role: str) -> Node:
        wording = self._wording(phrase)
        if phrase.form == "pronoun":
            forms = PRONOUNS["plural" if wording.plural else wording.noun.gender]
            return node("NP", leaf("PRP", forms[role], phrase, "noun"))
        if phrase.form == "name":
            return node("NP", *_name(phrase))
        adjectives = [leaf("JJ", word.en, phrase, f"adjective {index}") for index, word in enumerate(phrase.adjectives)]
        noun = leaf("NNS" if wording.plural else "NN", wording.en.forms[wording.number], phrase, "noun")
        core = node("NP", *self._determiner(phrase, [*adjectives, noun][0].word), *adjectives, noun)
        if phrase.attribute:
            of = leaf("IN", "of", phrase.attribute, "of")
            core = node("NP", core, node("PP", of, self._noun_phrase(phrase.attribute, "object")))
        return node("NP", core, self._relative(phrase, phrase.relative)) if phrase.relative else core

    def _determiner(self, phrase: NounPhrase, following: str) -> Trees:
        if phrase.possessor:
            if phrase.possessor.form == "name":
                return (node("NP", *_name(phrase.possessor), leaf("POS", "'s", phrase.possessor, "name 0")),)
            possessive = PRONOUNS[self._wording(phrase.possessor).noun.gender]["possessive"]
            return (Leaf("PRP$", possessive, ((phrase, "determiner"), (phrase.possessor, "noun"))),)
        if phrase.numeral:
            return (leaf("CD", phrase.numeral.en, phrase, "determiner"),)
        if phrase.form == "indefinite" and self._wording(phrase).plural:
            return ()
        article = DETERMINERS.get(phrase.form) or indefinite_article(following)
        return (leaf("DT", article, phrase, "determiner"),)

    def _relative(self, phrase: NounPhrase, clause: Clause) -> Node:
        is_subject, wording = phrase.relative_role == "subject", self._wording(phrase)
        tag, word = ("WP", "who") if is_subject and wording.is_person else ("WDT", "that")
        inner = self._predicate(clause, wording.number) if is_subject else self._clause(clause)
        return node("SBAR", node("WHNP", leaf(tag, word, phrase, "relative")), Node("S", inner))


def _name(phrase: NounPhrase) -> list[Leaf]:
    assert phrase.entity.name is not None
    words = phrase.entity.name.en.split()
    return [leaf("NNP", word, phrase, f"name {index}") for index, word in enumerate(words)]


def _finite_tag(tense: str, number: str) -> str:
    return "VBD" if tense == "past" else "VBP" if number == "plural" else "VBZ"


def _verbs(clause: Clause, number: str, *, support: bool) -> tuple[list[Leaf], list[Leaf]]:
    """Return the finite verb with "n't", and the verbs below it; `support` adds "do" if there is no auxiliary."""
    verb, tense, role = clause.verb.en, clause.tense, "auxiliary"
    tag, rest = _finite_tag(tense, number), [leaf("VB", verb.lemma, clause, "verb")]
    if tense == "future":
        tag, word = "MD", "will"
    elif tense == "perfect":
        word, rest = HAVE["present", number], [leaf("VBN", verb.participle, clause, "verb")]
    elif clause.modal:
        word = clause.modal.en.finite[tense, number]
        if not clause.modal.marker:
            tag = "MD"
        else:
            rest = [leaf("TO", "to", clause, role), *rest]
            if support:
                rest = [leaf("VB", clause.modal.en.lemma, clause, role), *rest]
                word = DO[tense, number]
    elif support and clause.verb.frame != "copula":
        word, role = DO[tense, number], "verb"
    else:
        word, role, rest = verb.finite[tense, number], "verb", []
    if not clause.negated:
        return [leaf(tag, word, clause, role)], rest
    stem = STEMS_BEFORE_NOT.get(word, word)  # Moses' tokens: didn 't, won 't, can 't
    return [leaf(tag, stem + "n", clause, role), leaf("RB", "'t", clause, "not")], rest


def _nested(verbs: list[Leaf], complements: Trees) -> Trees:
    """Nest verb phrases: (S (VP to (VP buy …))) below "wants"."""
    for verb in reversed(verbs):
        complements = (node("VP", verb, *complements),)
        if verb.tag == "TO":
            complements = (Node("S", complements),)
    return complements
