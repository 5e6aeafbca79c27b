"""Put sentence meanings into words: English constituency trees (Penn Treebank) and German tokens (STTS).

Tokens are those of Moses. Every leaf is linked to the parts of the meaning that it expresses; these links align the two
languages. A German clause is laid out in fields: the constituent before the finite verb (Vorfeld), the middle
(Mittelfeld), the verbs at its end (rechte Klammer), and the subordinate clauses after them (Nachfeld).
"""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

from context_nmt.miniature.lexicon import PRONOUNS, TABLES, a_or_an, english_verb, german_adjective, german_form
from context_nmt.miniature.meaning import Clause, NounPhrase, Part, PrepositionalPhrase, Sentence, Wording

HAVE, DO = english_verb("have, had").finite, english_verb("do, did").finite
STEMS_BEFORE_NOT = {"will": "wo", "can": "ca"}
PREPOSITION_TAGS = {"to": "TO", "front": "NN"}  # next to, in front of; all other words are IN
DETERMINERS = {"definite": "the", "negative": "no", "demonstrative": "this"}

ARTICLE_TAGS = {"definite": "ART", "indefinite": "ART", "negative": "PIAT", "demonstrative": "PDAT"}
POSSESSIVES = {"masculine": "his", "feminine": "her"}


class Leaf(NamedTuple):
    """A word with its tag and the parts of the meaning that it expresses."""

    tag: str
    word: str
    parts: tuple[Part, ...] = ()


class Node(NamedTuple):
    """A constituent."""

    label: str
    children: "tuple[Node | Leaf, ...]"


Trees = tuple[Node | Leaf, ...]
Wordings = Mapping[Any, Wording]  # replacement wordings by entity or noun phrase
COMMA = Leaf("$,", ",")


def leaf(tag: str, word: str, meaning: Hashable, role: str) -> Leaf:
    """Return a leaf that expresses one part of the meaning."""
    return Leaf(tag, word, ((meaning, role),))


def node(label: str, *children: Node | Leaf) -> Node:
    """Return a constituent with the given children."""
    return Node(label, children)


def leaves(tree: Node | Leaf) -> Iterator[Leaf]:
    """Yield the leaves of a tree from left to right."""
    if isinstance(tree, Leaf):
        yield tree
    else:
        for child in tree.children:
            yield from leaves(child)


def _bracketed(tree: Node | Leaf, words: Iterator[str]) -> str:
    if isinstance(tree, Leaf):
        return f"({tree.tag} {next(words)})"
    return f"({tree.label} {' '.join([_bracketed(child, words) for child in tree.children])})"


def _predicate_words(clause: Clause, side: str, conjunction: str, tags: tuple[str, str, str]) -> list[Leaf]:
    """Return "very old and heavy"; the tags are for the degree, the conjunction and the adjectives."""
    words = [leaf(tags[0], getattr(clause.degree, side), clause, "degree")] if clause.degree else []
    for index, entry in enumerate(clause.adjectives):
        words += [leaf(tags[1], conjunction, clause, "and")] if index else []
        words.append(leaf(tags[2], getattr(entry, side), clause, f"adjective {index}"))
    return words


class Grammar:
    """Puts sentences into words; `wordings` replaces the wordings of some entities or noun phrases."""

    def __init__(self, wordings: Wordings):
        self._wordings = wordings

    def _wording(self, phrase: NounPhrase) -> Wording:
        return self._wordings.get(phrase) or self._wordings.get(phrase.entity) or phrase.entity.wording

    def _number(self, phrase: NounPhrase) -> str:
        return "plural" if phrase.other else self._wording(phrase).number


class English(Grammar):
    """The English grammar: turns sentences into trees."""

    def sentence(self, sentence: Sentence) -> Node:
        """Return the tree of a sentence, without a capital at its start."""
        label, constituents = "SQ" if sentence.question else "S", self._clause(sentence.clause, sentence.question)
        if sentence.speaker and sentence.speaking:
            tense, number = sentence.speaking_tense, self._number(sentence.speaker)
            verb = leaf(_finite_tag(tense, number), sentence.speaking.en.finite[tense, number], sentence, "said")
            quotes = [leaf("``", '"', sentence, "open"), leaf("''", '"', sentence, "close")]
            comma, speaker = leaf(",", ",", sentence, "comma"), self._noun_phrase(sentence.speaker, "subject")
            label = "SINV"
            constituents = (quotes[0], Node("S", constituents), comma, quotes[1], node("VP", verb), speaker)
        if sentence.second and sentence.conjunction:
            comma = leaf(",", ",", sentence, "comma")
            conjunction = leaf("CC", sentence.conjunction.en, sentence, "conjunction")
            constituents = (Node("S", constituents), comma, conjunction, Node("S", self._clause(sentence.second)))
        opening = [leaf("CC", sentence.opening.en, sentence, "opening")] if sentence.opening else []
        stop = leaf(".", "?" if sentence.question else ".", sentence, "stop")
        return node("ROOT", node(label, *opening, *constituents, stop))

    def _clause(self, clause: Clause, question: bool = False) -> Trees:
        """Return the fronted constituent, the subject and the verb phrase; a question begins with the finite verb."""
        assert clause.subject is not None
        subject, number = self._noun_phrase(clause.subject, "subject"), self._number(clause.subject)
        if question:
            finite, rest = _english_verbs(clause, number, support=True)
            return (*finite, subject, *_nested(rest, self._complements(clause)))
        front: Trees = ()
        if clause.fronted:
            subordinate = clause.fronted == "subordinate"
            first = self._subordinate(clause) if subordinate else self._adverbial(clause, clause.fronted)
            front = (first,) if first.label == "ADVP" else (first, leaf(",", ",", clause, "front"))
        return (*front, subject, *self._predicate(clause, number))

    def _predicate(self, clause: Clause, number: str) -> Trees:
        """Return the verb phrase; "often" precedes a verb and "wants to", and follows an auxiliary or "be"."""
        finite, rest = _english_verbs(clause, number, support=clause.negated)
        adverb = (self._adverbial(clause, "frequency"),) if clause.frequency else ()
        has_marked_modal = clause.modal is not None and clause.modal.marker and not clause.negated
        complements = _nested(rest, self._complements(clause))
        if adverb and not has_marked_modal and (rest or clause.verb.frame == "copula"):
            return (node("VP", *finite, *adverb, *complements),)
        return (*adverb, node("VP", *finite, *complements))

    def _complements(self, clause: Clause) -> Trees:
        direct, indirect = clause.object, clause.indirect
        if indirect and direct and direct.form == "pronoun":
            to = leaf("TO", "to", indirect, "to")
            constituents = [self._noun_phrase(direct, "object"), node("PP", to, self._noun_phrase(indirect, "object"))]
        else:
            constituents = [self._noun_phrase(phrase, "object") for phrase in (indirect, direct) if phrase]
        word = clause.verb.preposition.en
        if word and clause.verb.frame != "prepositional":  # looked FOR a table; the German verb has no preposition
            constituents = [node("PP", leaf("TO" if word == "to" else "IN", word, clause, "verb"), *constituents)]
        if clause.adjectives:
            constituents.append(node("ADJP", *_predicate_words(clause, "en", "and", ("RB", "CC", "JJ"))))
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
        prepositions = [leaf(PREPOSITION_TAGS.get(word, "IN"), word, phrase, "preposition") for word in words]
        return node("PP", *prepositions, self._noun_phrase(phrase.noun_phrase, "object"))

    def _noun_phrase(self, phrase: NounPhrase, role: str) -> Node:
        first = self._simple_noun_phrase(phrase, role)
        if not phrase.other:
            return first
        return node("NP", first, leaf("CC", "and", phrase, "and"), self._noun_phrase(phrase.other, role))

    def _simple_noun_phrase(self, phrase: NounPhrase, role: str) -> Node:
        wording = self._wording(phrase)
        if phrase.form == "pronoun":
            forms = PRONOUNS["plural" if wording.plural else wording.noun.gender]
            return node("NP", leaf("PRP", forms[role], phrase, "noun"))
        if phrase.form == "name":
            return node("NP", *_english_name(phrase))
        adjectives = [leaf("JJ", word.en, phrase, f"adjective {index}") for index, word in enumerate(phrase.adjectives)]
        noun = leaf("NNS" if wording.plural else "NN", wording.en.forms[wording.number], phrase, "noun")
        core = node("NP", *self._determiner(phrase, [*adjectives, noun][0].word), *adjectives, noun)
        if phrase.attribute:
            of = leaf("IN", "of", phrase.attribute, "of")
            core = node("NP", core, node("PP", of, self._noun_phrase(phrase.attribute, "object")))
        if not phrase.relative:
            return core
        is_subject = phrase.relative_role == "subject"
        tag, word = ("WP", "who") if is_subject and wording.is_person else ("WDT", "that")
        inner = self._predicate(phrase.relative, wording.number) if is_subject else self._clause(phrase.relative)
        return node("NP", core, node("SBAR", node("WHNP", leaf(tag, word, phrase, "relative")), Node("S", inner)))

    def _determiner(self, phrase: NounPhrase, following: str) -> Trees:
        if phrase.possessor and phrase.possessor.form == "name":
            return (node("NP", *_english_name(phrase.possessor), leaf("POS", "'s", phrase.possessor, "name 0")),)
        if phrase.possessor:
            possessive = PRONOUNS[self._wording(phrase.possessor).noun.gender]["possessive"]
            return (Leaf("PRP$", possessive, ((phrase, "determiner"), (phrase.possessor, "noun"))),)
        if phrase.numeral:
            return (leaf("CD", phrase.numeral.en, phrase, "determiner"),)
        if phrase.form == "indefinite" and self._wording(phrase).plural:
            return ()
        article = DETERMINERS.get(phrase.form) or a_or_an(following)
        return (leaf("DT", article, phrase, "determiner"),)


def _english_name(phrase: NounPhrase) -> list[Leaf]:
    assert phrase.entity.name is not None
    words = phrase.entity.name.en.split()
    return [leaf("NNP", word, phrase, f"name {index}") for index, word in enumerate(words)]


def _finite_tag(tense: str, number: str) -> str:
    return "VBD" if tense == "past" else "VBP" if number == "plural" else "VBZ"


def _english_verbs(clause: Clause, number: str, *, support: bool) -> tuple[list[Leaf], list[Leaf]]:
    """Return the finite verb with "n't", and the other verbs; `support` adds "do" if there is no auxiliary."""
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


class German(Grammar):
    """The German grammar: turns sentences into tokens."""

    def sentence(self, sentence: Sentence) -> list[Leaf]:
        """Return the leaves of a sentence, without a capital at its start."""
        words = self._main(sentence.clause, verb_first=sentence.question)
        if sentence.speaker and sentence.speaking:
            finite = sentence.speaking.de.finite[sentence.speaking_tense, self._number(sentence.speaker)]
            opening_quote, closing_quote = (leaf("$(", '"', sentence, role) for role in ("open", "close"))
            verb = [leaf("$,", ",", sentence, "comma"), leaf("VVFIN", finite, sentence, "said")]
            words = [opening_quote, *words, closing_quote, *verb, *self._noun_phrase(sentence.speaker, "nominative")]
        if sentence.second and sentence.conjunction:
            comma = [leaf("$,", ",", sentence, "comma")] if sentence.conjunction.de != "und" else []
            conjunction = leaf("KON", sentence.conjunction.de, sentence, "conjunction")
            words = [*words, *comma, conjunction, *self._main(sentence.second)]
        opening = [leaf("KON", sentence.opening.de, sentence, "opening")] if sentence.opening else []
        return _punctuated([*opening, *words, leaf("$.", "?" if sentence.question else ".", sentence, "stop")])

    def _main(self, clause: Clause, *, verb_first: bool = False) -> list[Leaf]:
        """Return a main clause with the verb in second position, or in first position for a question."""
        assert clause.subject is not None
        finite, end = _german_verbs(clause, self._number(clause.subject), last=False)
        fields, fronted, front = self._fields(clause), clause.fronted_in_german, []
        if not verb_first:
            front = self._subordinate(clause) if fronted == "subordinate" else fields.pop(fronted or "subject")
        return [*front, *finite, *chain(*fields.values()), *end, *self._after(clause)]

    def _verb_last(self, opening: Leaf, clause: Clause, number: str = "") -> list[Leaf]:
        """Return a subordinate clause; `number` is the subject's if the opening word is the subject."""
        finite, end = _german_verbs(clause, self._number(clause.subject) if clause.subject else number, last=True)
        fields = self._fields(clause)
        front = fields.pop(clause.fronted) if clause.fronted else []
        return [opening, *front, *chain(*fields.values()), *end, *finite, *self._after(clause)]

    def _fields(self, clause: Clause) -> dict[str, list[Leaf]]:
        """Return all constituents before the last verbs, in the order of the middle field: dative before accusative."""
        cases = ((clause.object, clause.verb.case), (clause.indirect, "dative"))
        objects = [(phrase.form == "pronoun", self._noun_phrase(phrase, case)) for phrase, case in cases if phrase]
        return {
            "subject": self._noun_phrase(clause.subject, "nominative") if clause.subject else [],
            "pronouns": [word for is_pronoun, words in objects if is_pronoun for word in words],
            "time": self._adverbial(clause, "time"),
            "frequency": self._adverbial(clause, "frequency"),
            "nouns": [word for is_pronoun, words in reversed(objects) if not is_pronoun for word in words],
            "negation": [leaf("PTKNEG", "nicht", clause, "not")] if clause.negated else [],
            "manner": self._adverbial(clause, "manner"),
            "place": self._adverbial(clause, "place"),
            "argument": self._prepositional_phrase(clause.argument) if clause.argument else [],
            "predicate": _predicate_words(clause, "de", "und", ("ADV", "KON", "ADJD")),
        }

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
        first, *rest = self._noun_phrase(phrase.noun_phrase, phrase.case)
        preposition = leaf("APPR", phrase.preposition.de, phrase, "preposition")
        contraction = TABLES["contractions"].get(f"{preposition.word} {first.word}")
        # A restrictive relative clause prevents the contraction: "in dem Haus, das …".
        if contraction and phrase.noun_phrase.form == "definite" and not phrase.noun_phrase.relative:
            return [Leaf("APPRART", contraction, preposition.parts + first.parts), *rest]
        return [preposition, first, *rest]

    def _noun_phrase(self, phrase: NounPhrase, case: str) -> list[Leaf]:
        words = self._simple_noun_phrase(phrase, case)
        if phrase.other:
            words += [leaf("KON", "und", phrase, "and"), *self._noun_phrase(phrase.other, case)]
        return words

    def _simple_noun_phrase(self, phrase: NounPhrase, case: str) -> list[Leaf]:
        wording = self._wording(phrase)
        noun, number = wording.de, wording.number
        if phrase.form == "pronoun":
            return [leaf("PPER", german_form("personal", noun.gender, number, case), phrase, "noun")]
        if phrase.form == "name":
            return _german_name(phrase, case)
        words, declension = self._determiner(phrase, noun.gender, number, case)
        for index, entry in enumerate(phrase.adjectives):
            declined = german_adjective(entry.stem or entry.de, declension, noun.gender, number, case)
            words.append(leaf("ADJA", declined, phrase, f"adjective {index}"))
        words.append(leaf("NN", noun.forms[case, number], phrase, "noun"))
        if phrase.attribute:
            article, *rest = self._noun_phrase(phrase.attribute, "genitive")
            words += [article._replace(parts=((phrase.attribute, "of"), *article.parts)), *rest]
        if phrase.relative:
            relative_case = phrase.relative.verb.case if phrase.relative_role == "object" else "nominative"
            pronoun = leaf("PRELS", german_form("relative", noun.gender, number, relative_case), phrase, "relative")
            words += [COMMA, *self._verb_last(pronoun, phrase.relative, number), COMMA]
        return words

    def _determiner(self, phrase: NounPhrase, gender: str, number: str, case: str) -> tuple[list[Leaf], str]:
        """Return the article or another determiner, and the declension of the adjectives after it."""
        if phrase.possessor and phrase.possessor.form == "name":
            return _german_name(phrase.possessor, "genitive"), "strong"
        if phrase.numeral:
            return [leaf("CARD", phrase.numeral.de, phrase, "determiner")], "strong"
        if phrase.form == "indefinite" and number == "plural":
            return [], "strong"
        kind, tag, parts = str(phrase.form), ARTICLE_TAGS.get(phrase.form, "PPOSAT"), [(phrase, "determiner")]
        if phrase.possessor:
            kind = POSSESSIVES[self._wording(phrase.possessor).noun.gender]
            parts.append((phrase.possessor, "noun"))
        return [Leaf(tag, german_form(kind, gender, number, case), tuple(parts))], TABLES["declensions"][kind]


def _german_name(phrase: NounPhrase, case: str) -> list[Leaf]:
    assert phrase.entity.name is not None
    *title, last = phrase.entity.name.de[case].split()
    words = [leaf("NN", word, phrase, f"name {index}") for index, word in enumerate(title)]
    return [*words, leaf("NE", last, phrase, f"name {len(title)}")]


def _german_verbs(clause: Clause, number: str, *, last: bool) -> tuple[list[Leaf], list[Leaf]]:
    """Return the finite verb, and the verbs at the end of the clause; with `last`, the finite verb joins its prefix."""
    verb, stem, role = clause.verb.de, "VA" if clause.verb.frame == "copula" else "VV", "auxiliary"
    end = [leaf(f"{stem}INF", verb.lemma, clause, "verb")]
    if clause.tense == "future":
        tag, word = "VAFIN", TABLES["auxiliaries"]["werden"][number]
    elif clause.tense == "perfect":
        tag, word = "VAFIN", TABLES["auxiliaries"][verb.auxiliary][number]
        end = [leaf(f"{stem}PP", verb.participle, clause, "verb")]
    elif clause.modal:
        tag, word = "VMFIN", clause.modal.de.finite[clause.tense, number]
    else:
        tag, word, role = f"{stem}FIN", verb.finite[clause.tense, number], "verb"
        if last:
            word, end = verb.prefix + word, []
        else:
            end = [leaf("PTKVZ", verb.prefix, clause, "verb")] if verb.prefix else []
    return [leaf(tag, word, clause, role)], end


def _punctuated(words: list[Leaf]) -> list[Leaf]:
    """Remove commas before the end and next to another comma; of two, keep the one that has an English counterpart."""
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


@dataclass(frozen=True, slots=True)
class Realised:
    """A sentence in words."""

    sentence: Sentence
    tree: Node  # English, in lower case at its start
    en: tuple[Leaf, ...]
    de: tuple[Leaf, ...]

    def tokens(self, language: str) -> list[str]:
        """Return Moses tokens; the first word, which may follow a quotation mark, has a capital."""
        tokens = [leaf.word for leaf in getattr(self, language)]
        first = 1 if tokens[0] == '"' else 0
        tokens[first] = tokens[first][:1].upper() + tokens[first][1:]
        return tokens

    def tags(self, language: str) -> list[str]:
        """Return the tag of each token."""
        return [leaf.tag for leaf in getattr(self, language)]

    def brackets(self) -> str:
        """Return the English tree in the Penn Treebank's brackets."""
        return _bracketed(self.tree, iter(self.tokens("en")))

    def text(self, language: str) -> str:
        """Return the raw line: punctuation and clitics join the word before them, quotes the text between them."""
        joined = re.sub(r""" (?=[,.?]|'[st]\b)""", "", " ".join(self.tokens(language)))
        return re.sub(r'" (.*?) ?"', r'"\1"', joined)

    def position(self, language: str, part: Part) -> int:
        """Return the index of the first token that expresses a part of the meaning."""
        return next(index for index, leaf in enumerate(getattr(self, language)) if part in leaf.parts)

    def mentions(self) -> list[tuple[NounPhrase, Part]]:
        """Return the noun phrases in the order of the English sentence, each with the part that its head expresses."""
        parts = dict.fromkeys(part for leaf in self.en for part in leaf.parts if part[1] in ("noun", "name 0"))
        return [(part[0], part) for part in parts if isinstance(part[0], NounPhrase)]

    def alignment(self) -> list[tuple[int, int]]:
        """Return pairs of token indices (English, German) that express the same part of the meaning."""
        german_indices: dict[Part, list[int]] = defaultdict(list)
        for index, leaf in enumerate(self.de):
            for part in leaf.parts:
                german_indices[part].append(index)
        parts = [(english, part) for english, leaf in enumerate(self.en) for part in leaf.parts]
        return sorted({(english, german) for english, part in parts for german in german_indices[part]})


def realise(sentence: Sentence, wordings: Wordings = MappingProxyType({})) -> Realised:
    """Put a sentence into words; `wordings` replaces the wordings of some entities or noun phrases."""
    tree = English(wordings).sentence(sentence)
    return Realised(sentence, tree, tuple(leaves(tree)), tuple(German(wordings).sentence(sentence)))
