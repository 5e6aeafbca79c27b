"""The verbs of a German clause, at its two places, and its commas."""

from context_nmt.miniature.german_morphology import AUXILIARIES
from context_nmt.miniature.meaning import Clause
from context_nmt.miniature.trees import Leaf


def verbs(clause: Clause, number: str, *, last: bool) -> tuple[list[Leaf], list[Leaf]]:
    """The finite verb, and the verbs at the end of the clause; `last`: the finite one joins its prefix there."""
    part, helping = ((clause, "verb"),), ((clause, "auxiliary"),)
    verb = clause.verb.german
    kind = "VA" if clause.verb.frame == "copula" else "VV"
    if clause.tense == "future":
        return (
            [Leaf("VAFIN", AUXILIARIES["werden"]["present", 3, number], helping)],
            [Leaf(f"{kind}INF", verb.infinitive, part)],
        )
    if clause.tense == "perfect":
        return (
            [Leaf("VAFIN", AUXILIARIES[verb.auxiliary]["present", 3, number], helping)],
            [Leaf(f"{kind}PP", verb.participle, part)],
        )
    if clause.modal:
        return (
            [Leaf("VMFIN", clause.modal.german.finite[clause.tense, 3, number], helping)],
            [Leaf(f"{kind}INF", verb.infinitive, part)],
        )
    word = verb.finite[clause.tense, 3, number]
    if last:
        return [Leaf(f"{kind}FIN", verb.prefix + word, part)], []
    return [Leaf(f"{kind}FIN", word, part)], [Leaf("PTKVZ", verb.prefix, part)] if verb.prefix else []


def punctuated(words: list[Leaf]) -> list[Leaf]:
    """Leave out commas that stand beside another one or before the end; of two, the one with a counterpart stays."""
    kept: list[Leaf] = []
    for word in words:
        if kept and kept[-1].word == ",":
            if word.word == ",":
                kept[-1] = max(kept[-1], word, key=lambda comma: len(comma.parts))
                continue
            if word.tag == "$." or (word.word == '"' and word.parts and word.parts[0][1] == "close"):
                kept.pop()
        kept.append(word)
    return kept
