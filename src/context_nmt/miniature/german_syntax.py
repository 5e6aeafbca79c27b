"""Sentence meanings as German tokens, with the Stuttgart-Tübingen tags (STTS) and Moses' tokens.

A clause is laid out in fields: the constituent before the finite verb (Vorfeld), the middle (Mittelfeld), the verbs at
its end (rechte Klammer), and the subordinate clauses after them (Nachfeld).
"""

from context_nmt.miniature.german_morphology import AUXILIARIES, CONTRACTIONS, DECLENSIONS, adjective, form
from context_nmt.miniature.grammar import Grammar, Leaf, leaf, predicate_words
from context_nmt.miniature.meaning import Clause, Front, NounPhrase, PrepositionalPhrase, Sentence

COMMA = Leaf("$,", ",")
ARTICLE_TAGS = {"definite": "ART", "indefinite": "ART", "negative": "PIAT", "demonstrative": "PDAT"}
POSSESSIVES = {"masculine": "his", "feminine": "her"}


class German(Grammar):
    """The German grammar: turns sentences into tokens."""

    def sentence(self, sentence: Sentence) -> list[Leaf]:
        """Return the leaves of a sentence, without a capital at its start."""
        words = self._main(sentence.clause, verb_first=sentence.question)
        if sentence.speaker:
            assert sentence.speaking is not None
            finite = sentence.speaking.de.finite[sentence.speaking_tense, self._number(sentence.speaker)]
            opening_quote, closing_quote = (leaf("$(", '"', sentence, role) for role in ("open", "close"))
            verb = [leaf("$,", ",", sentence, "comma"), leaf("VVFIN", finite, sentence, "said")]
            words = [opening_quote, *words, closing_quote, *verb, *self._noun_phrase(sentence.speaker, "nominative")]
        if sentence.opening:
            words = [leaf("KON", sentence.opening.de, sentence, "opening"), *words]
        if sentence.second and sentence.conjunction:
            comma = [leaf("$,", ",", sentence, "comma")] if sentence.conjunction.de != "und" else []
            conjunction = leaf("KON", sentence.conjunction.de, sentence, "conjunction")
            words = [*words, *comma, conjunction, *self._main(sentence.second)]
        return _punctuated([*words, leaf("$.", "?" if sentence.question else ".", sentence, "stop")])

    def _main(self, clause: Clause, *, verb_first: bool = False) -> list[Leaf]:
        """Return a main clause with the verb in second place, or in first place for a question."""
        assert clause.subject is not None
        finite, end = _verbs(clause, self._number(clause.subject), last=False)
        front: list[Leaf] = []
        fronted = None if verb_first else clause.fronted_in_german
        if fronted == "subordinate":
            front = self._subordinate(clause)
        elif fronted:
            front = self._adverbial(clause, fronted)
        elif not verb_first:
            front = self._noun_phrase(clause.subject, "nominative")
        middle = self._middle(clause, fronted, subject=verb_first or fronted is not None)
        return [*front, *finite, *middle, *end, *self._after(clause)]

    def _verb_last(self, opening: Leaf, clause: Clause, number: str = "") -> list[Leaf]:
        """Return a subordinate clause; `number` is that of its subject if the subject is the opening word."""
        finite, end = _verbs(clause, self._number(clause.subject) if clause.subject else number, last=True)
        front = self._adverbial(clause, clause.fronted) if clause.fronted else []
        middle = self._middle(clause, clause.fronted, subject=True)
        return [opening, *front, *middle, *end, *finite, *self._after(clause)]

    def _middle(self, clause: Clause, fronted: Front, *, subject: bool) -> list[Leaf]:
        """Return the middle field: pronouns, adverbs of time, nouns (dative before accusative), "nicht", the rest."""
        words = self._noun_phrase(clause.subject, "nominative") if subject and clause.subject else []
        cases = ((clause.object, clause.verb.case), (clause.indirect, "dative"))
        objects = [(phrase, case) for phrase, case in cases if phrase]
        for phrase, case in objects:
            if phrase.form == "pronoun":
                words += self._noun_phrase(phrase, case)
        for role in ("time", "frequency"):
            words += self._adverbial(clause, role) if fronted != role else []
        for phrase, case in reversed(objects):
            if phrase.form != "pronoun":
                words += self._noun_phrase(phrase, case)
        if clause.negated:
            words.append(leaf("PTKNEG", "nicht", clause, "not"))
        for role in ("manner", "place"):
            words += self._adverbial(clause, role) if fronted != role else []
        if clause.argument:
            words += self._prepositional_phrase(clause.argument)
        return words + predicate_words(clause, "de", "und", ("ADV", "KON", "ADJD"))

    def _after(self, clause: Clause) -> list[Leaf]:
        words: list[Leaf] = []
        if clause.complement:
            words += [COMMA, *self._verb_last(leaf("KOUS", "dass", clause, "that"), clause.complement), COMMA]
        if clause.subordinate and clause.fronted != "subordinate":
            words += [COMMA, *self._subordinate(clause), COMMA]
        return words

    def _subordinate(self, clause: Clause) -> list[Leaf]:
        assert clause.subordinator is not None
        assert clause.subordinate is not None
        words = self._verb_last(leaf("KOUS", clause.subordinator.de, clause, "subordinator"), clause.subordinate)
        return [*words, leaf("$,", ",", clause, "front")] if clause.fronted == "subordinate" else words

    def _adverbial(self, clause: Clause, role: str) -> list[Leaf]:
        """Return the adverbial of time, place, frequency or manner of a clause."""
        adverbial = getattr(clause, role)
        if adverbial is None:
            return []
        if isinstance(adverbial, PrepositionalPhrase):
            return self._prepositional_phrase(adverbial)
        *before, last = adverbial.de.split()
        tags = ([], ["APPRART"], ["APPR", "ART"])[len(before)]  # "am Abend", "in der Nacht"
        words = [leaf(tag, word, clause, f"{role} preposition") for tag, word in zip(tags, before, strict=True)]
        return [*words, leaf("NN" if before else "ADV", last, clause, role)]

    def _prepositional_phrase(self, phrase: PrepositionalPhrase) -> list[Leaf]:
        first, *others = self._noun_phrase(phrase.noun_phrase, phrase.case)
        preposition = leaf("APPR", phrase.preposition.de, phrase, "preposition")
        contraction = CONTRACTIONS.get(f"{preposition.word} {first.word}")
        # A restrictive relative clause prevents the contraction: "in dem Haus, das …".
        if contraction and phrase.noun_phrase.form == "definite" and not phrase.noun_phrase.relative:
            return [Leaf("APPRART", contraction, preposition.parts + first.parts), *others]
        return [preposition, first, *others]

    def _noun_phrase(self, phrase: NounPhrase, case: str) -> list[Leaf]:
        words = self._single(phrase, case)
        if phrase.other:
            words += [leaf("KON", "und", phrase, "and"), *self._noun_phrase(phrase.other, case)]
        return words

    def _single(self, phrase: NounPhrase, case: str) -> list[Leaf]:
        wording = self._wording(phrase)
        noun, number = wording.de, wording.number
        if phrase.form == "pronoun":
            return [leaf("PPER", form("personal", noun.gender, number, case), phrase, "noun")]
        if phrase.form == "name":
            return _name(phrase, case)
        words, declension = self._determiner(phrase, noun.gender, number, case)
        for index, entry in enumerate(phrase.adjectives):
            declined = adjective(entry.stem or entry.de, declension, noun.gender, number, case)
            words.append(leaf("ADJA", declined, phrase, f"adjective {index}"))
        words.append(leaf("NN", noun.forms[case, number], phrase, "noun"))
        if phrase.attribute:
            article, *others = self._noun_phrase(phrase.attribute, "genitive")
            words += [article._replace(parts=((phrase.attribute, "of"), *article.parts)), *others]
        if phrase.relative:
            relative_case = phrase.relative.verb.case if phrase.relative_role == "object" else "nominative"
            pronoun = leaf("PRELS", form("relative", noun.gender, number, relative_case), phrase, "relative")
            words += [COMMA, *self._verb_last(pronoun, phrase.relative, number), COMMA]
        return words

    def _determiner(self, phrase: NounPhrase, gender: str, number: str, case: str) -> tuple[list[Leaf], str]:
        """Return the article or another determiner, and the declension of the adjectives after it."""
        if phrase.possessor:
            if phrase.possessor.form == "name":
                return _name(phrase.possessor, "genitive"), "strong"
            possessive = POSSESSIVES[self._wording(phrase.possessor).noun.gender]
            parts = ((phrase, "determiner"), (phrase.possessor, "noun"))
            return [Leaf("PPOSAT", form(possessive, gender, number, case), parts)], DECLENSIONS[possessive]
        if phrase.numeral:
            return [leaf("CARD", phrase.numeral.de, phrase, "determiner")], "strong"
        if phrase.form == "indefinite" and number == "plural":
            return [], "strong"
        article = leaf(ARTICLE_TAGS[phrase.form], form(phrase.form, gender, number, case), phrase, "determiner")
        return [article], DECLENSIONS[phrase.form]


def _name(phrase: NounPhrase, case: str) -> list[Leaf]:
    assert phrase.entity.name is not None
    *title, last = phrase.entity.name.de[case].split()
    words = [leaf("NN", word, phrase, f"name {index}") for index, word in enumerate(title)]
    return [*words, leaf("NE", last, phrase, f"name {len(title)}")]


def _verbs(clause: Clause, number: str, *, last: bool) -> tuple[list[Leaf], list[Leaf]]:
    """Return the finite verb, and the verbs at the end of the clause; with `last`, the finite verb joins its prefix."""
    verb, tag_stem = clause.verb.de, "VA" if clause.verb.frame == "copula" else "VV"
    infinitive = leaf(f"{tag_stem}INF", verb.lemma, clause, "verb")
    if clause.tense == "future":
        return [leaf("VAFIN", AUXILIARIES["werden"][number], clause, "auxiliary")], [infinitive]
    if clause.tense == "perfect":
        participle = leaf(f"{tag_stem}PP", verb.participle, clause, "verb")
        return [leaf("VAFIN", AUXILIARIES[verb.auxiliary][number], clause, "auxiliary")], [participle]
    if clause.modal:
        return [leaf("VMFIN", clause.modal.de.finite[clause.tense, number], clause, "auxiliary")], [infinitive]
    word = verb.finite[clause.tense, number]
    if last:
        return [leaf(f"{tag_stem}FIN", verb.prefix + word, clause, "verb")], []
    return [leaf(f"{tag_stem}FIN", word, clause, "verb")], [
        leaf("PTKVZ", verb.prefix, clause, "verb")
    ] if verb.prefix else []


def _punctuated(words: list[Leaf]) -> list[Leaf]:
    """Remove commas next to another one or before the end; of two, keep the one with a counterpart in English."""
    kept: list[Leaf] = []
    for word in words:
        if kept and kept[-1].word == ",":
            if word.word == ",":
                kept[-1] = max(kept[-1], word, key=lambda comma: len(comma.parts))
                continue
            if word.tag in ("$.", "$("):
                kept.pop()
        kept.append(word)
    return kept
