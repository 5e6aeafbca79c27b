"""What must hold between the entries of the lexicon."""

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

from context_nmt.miniature.lexicon import Lexicon, Noun, Sense, Verb

WITHOUT_OBJECT = ("intransitive", "positional", "clausal", "modal")
WITH_PLACE = ("positional", "directional")


def homonyms(nouns: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, str, str]]:
    """Return the side, the word and the other noun of each noun with `cues`, in the order of the entries.

    Raises ValueError unless each of them shares one word of one language with just one other, and no other noun does.
    """
    names: dict[tuple[str, str], list[str]] = {}
    for name, entry in nouns.items():
        for side in ("en", "de"):
            for forms in _listed(entry.get(side, [])):
                names.setdefault((side, forms.split(", ")[0].split(" ")[-1]), []).append(name)
    found: dict[str, tuple[str, str, str]] = {}
    for (side, word), sharing in names.items():
        if len(sharing) == 1:
            continue
        for name in sharing:
            if len(sharing) > 2 or "cues" not in nouns[name] or name in found:
                raise ValueError(
                    f"nouns.{name}: {word!r} is a word of {' and '.join(sharing)}; two with cues may share one"
                )
        first, second = sharing
        found |= {first: (side, word, second), second: (side, word, first)}
    for name, entry in nouns.items():
        if "cues" in entry and name not in found:
            raise ValueError(f"nouns.{name}: has cues, but shares no word with another noun")
    return {name: found[name] for name in nouns if name in found}


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def check(lexicon: Lexicon) -> None:
    """Raise ValueError, with the entry that is wrong, for what is missing and for translations that are not unique."""
    for noun in lexicon.nouns.values():
        if (noun.at is None) == (noun.kind == "place"):
            raise ValueError(f"nouns.{noun.name}: `at` is for the kind 'place', and needed there")
    for noun in lexicon.senses.values():
        if noun.sense:
            _check_sense(lexicon, noun, noun.sense)
    for verb in lexicon.verbs.values():
        _check_verb(lexicon, verb)
    for adjective in lexicon.adjectives.values():
        if adjective.cue == bool(adjective.kinds):
            raise ValueError(f"adjectives.{adjective.name}: needs kinds, or `cue: true` and no kinds")
    for adjectives in lexicon.contraries:
        for unknown in sorted(adjectives - set(lexicon.adjectives)):
            raise ValueError(f"contraries: {unknown!r} is not an adjective")
    _check_translations(
        "verbs", ((verb.name, verb.english.base, verb.german.infinitive) for verb in lexicon.verbs.values())
    )
    for section in ("adjectives", "adverbs", "subordinators", "conjunctions", "numerals", "prepositions"):
        entries = getattr(lexicon, section).values()
        _check_translations(section, ((entry.name, entry.english, entry.german) for entry in entries))
    for name in (*lexicon.first_names, *lexicon.titled_names):
        if name.english.endswith(("s", "x", "z")):
            raise ValueError(f"{name.english!r}: a name on s, x or z has no German genitive on s")


def _check_sense(lexicon: Lexicon, noun: Noun, sense: Sense) -> None:
    place = f"nouns.{noun.name}"
    for cue in sense.cues:
        found = lexicon.nouns.get(cue)
        if found is None or len(found.english) + len(found.german) > 2:
            raise ValueError(f"{place}: the cue {cue!r} is not an unambiguous noun without synonyms")
    if len(sense.cues) < 3 or len(sense.of) < 2 or not set(sense.of) <= set(sense.cues):
        raise ValueError(f"{place}: needs three cues, and two of them under `of`")
    for adjective in sense.adjectives:
        if adjective not in lexicon.adjectives or not lexicon.adjectives[adjective].cue:
            raise ValueError(f"{place}: {adjective!r} is not an adjective with `cue: true`")
    other = lexicon.senses[sense.other]
    if other.sense:
        for shared in {*sense.cues, *sense.adjectives} & {*other.sense.cues, *other.sense.adjectives}:
            raise ValueError(f"{place}: {shared!r} decides nothing, since {other.name} has it too")
    if sense.side == "de" and noun.german[0] != other.german[0]:
        raise ValueError(f"{place}: its German forms tell it from {other.name}")


def _check_verb(lexicon: Lexicon, verb: Verb) -> None:
    place = f"verbs.{verb.name}"
    if (verb.frame in WITHOUT_OBJECT) == bool(verb.object):
        raise ValueError(f"{place}: {verb.frame} verbs have {'no' if verb.object else 'an'} object")
    if (verb.frame in WITH_PLACE) != bool(verb.prepositions):
        raise ValueError(f"{place}: `prepositions` is for {' and '.join(WITH_PLACE)} verbs, and needed there")
    for name in verb.prepositions:
        if name not in lexicon.prepositions or lexicon.prepositions[name].case != "two-way":
            raise ValueError(f"{place}: {name!r} is not a two-way preposition")
    both = verb.english.preposition and verb.german.preposition and verb.german.case
    if (verb.frame == "prepositional") != bool(both):
        raise ValueError(
            f"{place}: prepositional verbs, and only they, have a preposition in both languages and a case"
        )


def _check_translations(section: str, entries: Iterable[tuple[str, str, str]]) -> None:
    for (name, *words), (other, *others) in combinations(entries, 2):
        for word, same in zip(words, others, strict=True):
            if word == same:
                raise ValueError(f"{section}.{other}: {word!r} is a word of {name} already")
