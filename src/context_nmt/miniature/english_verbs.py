"""The verbs of an English clause: the finite one, and those below it."""

from context_nmt.miniature.english_morphology import DO, HAVE
from context_nmt.miniature.meaning import Clause
from context_nmt.miniature.trees import Leaf


def finite_tag(tense: str, number: str) -> str:
    """The tag of a finite verb in the third person."""
    return "VBD" if tense == "past" else "VBP" if number == "plural" else "VBZ"


def verbs(clause: Clause, number: str, *, support: bool) -> tuple[tuple[Leaf, ...], list[Leaf]]:
    """The finite verb with "n't", and the verbs below it; `support`: with "do" where there is no auxiliary."""
    part, auxiliary = ((clause, "verb"),), ((clause, "auxiliary"),)
    verb = clause.verb.english
    rest = [Leaf("VB", verb.base, part)]
    tag = finite_tag(clause.tense, number)
    if clause.tense == "future":
        finite = Leaf("MD", "will", auxiliary)
    elif clause.tense == "perfect":
        finite = Leaf("VBP" if number == "plural" else "VBZ", HAVE["present", 3, number], auxiliary)
        rest = [Leaf("VBN", verb.participle, part)]
    elif clause.modal:
        finite = Leaf("MD", clause.modal.english.finite[clause.tense, 3, number], auxiliary)
        if clause.modal.english.marker:
            finite = finite._replace(tag=tag)
            rest = [Leaf("TO", "to", auxiliary), *rest]
            if support:
                rest = [Leaf("VB", clause.modal.english.base, auxiliary), *rest]
                finite = Leaf(tag, DO[clause.tense, 3, number], auxiliary)
    elif clause.verb.frame == "copula":
        finite, rest = Leaf(tag, verb.finite[clause.tense, 3, number], part), []
    elif support:
        finite = Leaf(tag, DO[clause.tense, 3, number], part)
    else:
        finite, rest = Leaf(tag, verb.finite[clause.tense, 3, number], part), []
    return (_negated(finite, clause) if clause.negated else (finite,)), rest


def _negated(finite: Leaf, clause: Clause) -> tuple[Leaf, ...]:
    """The verb with "n't" in Moses' tokens: didn 't, won 't, can 't."""
    stem = {"will": "wo", "can": "ca"}.get(finite.word, finite.word)
    return finite._replace(word=stem + "n"), Leaf("RB", "'t", ((clause, "not"),))
