"""Entries of the lexicon from what `lexicon.yaml` says of them; their forms are computed here, once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from context_nmt.miniature import english_morphology, german_morphology
from context_nmt.miniature.lexicon import (
    Adjective,
    Adverb,
    At,
    Conjunction,
    EnglishNoun,
    EnglishVerb,
    GermanNoun,
    GermanVerb,
    Name,
    Noun,
    Numeral,
    Preposition,
    Sense,
    Subordinator,
    TimePhrase,
    Verb,
)

FRAMES = (
    *("intransitive", "transitive", "dative", "prepositional", "ditransitive"),
    *("positional", "directional", "clausal", "modal"),
)
CASES = {"transitive": "accusative", "dative": "dative", "ditransitive": "accusative", "directional": "accusative"}
GENDERS = {"der": "masculine", "die": "feminine", "das": "neuter"}
AUXILIARIES = {"hat": "haben", "ist": "sein"}
TENSES = ("past", "present", "future")

Entry = dict[str, Any]
Resolve = Callable[[Iterable[str]], tuple[str, ...]]  # kinds and groups to kinds


def _words(text: str, *numbers: int) -> list[str]:
    words = text.split(", ")
    if len(words) not in numbers:
        raise ValueError(f"{text!r} has {len(words)} forms; needed are {' or '.join(map(str, numbers))}")
    return words


def _one_of(key: str, value: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise ValueError(f"{key} is {value!r}; allowed are {', '.join(allowed)}")
    return value


def _known(entry: Entry, *keys: str) -> None:
    for key in entry:
        _one_of("a key", key, keys)


def _flag(entry: Entry, key: str) -> bool:
    return key in entry and _one_of(key, entry[key], ("true",)) == "true"


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def noun(name: str, entry: Entry, homonyms: Mapping[str, tuple[str, str, str]]) -> Noun:
    """Return a noun; `homonyms` names the side, the word and the other noun of those that are ambiguous."""
    _known(entry, "kind", "gender", "en", "de", "at", "of", "adjectives", "cues")
    german = tuple(_german_noun(text) for text in _listed(entry["de"]))
    if len({word.gender for word in german}) > 1:
        raise ValueError("German synonyms must have one gender")
    return Noun(
        name=name,
        kind=entry["kind"],
        gender=_one_of("gender", entry.get("gender", "neuter"), german_morphology.GENDERS),
        english=tuple(_english_noun(text) for text in _listed(entry["en"])),
        german=german,
        at=At(entry["at"]["en"], entry["at"]["de"]) if "at" in entry else None,
        sense=_sense(entry, homonyms[name]) if name in homonyms else None,
    )


def _sense(entry: Entry, homonym: tuple[str, str, str]) -> Sense:
    side, word, other = homonym
    adjectives = entry.get("adjectives", [])
    return Sense(side, word, other, of=tuple(entry["of"]), adjectives=tuple(adjectives), cues=tuple(entry["cues"]))


def _english_noun(text: str) -> EnglishNoun:
    singular, *plural = _words(text, 1, 2)
    return EnglishNoun(singular, plural[0] if plural else english_morphology.plural(singular))


def _german_noun(text: str) -> GermanNoun:
    (article, nominative), (_, genitive), (_, plural) = (part.split(" ") for part in _words(text, 3))
    gender = GENDERS[_one_of("the article", article, list(GENDERS))]
    expected = {
        case: german_morphology.article("definite", gender, number, case)
        for case, number in (("genitive", "singular"), ("nominative", "plural"))
    }
    if text != f"{article} {nominative}, {expected['genitive']} {genitive}, {expected['nominative']} {plural}":
        raise ValueError(f"{text!r}: the articles of a {gender} noun are {article}, {', '.join(expected.values())}")
    return GermanNoun(nominative, gender, german_morphology.noun_forms(nominative, genitive, plural, gender))


def verb(name: str, entry: Entry, resolve: Resolve) -> Verb:
    """Return a verb."""
    _known(entry, "frame", "en", "de", "subject", "object", "preposition", "prepositions", "neutral", "marker")
    frame = _one_of("frame", entry["frame"], FRAMES)
    preposition = entry.get("preposition", {})
    case = preposition.get("case", CASES.get(frame, ""))
    return Verb(
        name=name,
        frame=frame,
        neutral=_flag(entry, "neutral"),
        subject=resolve(entry["subject"]),
        object=resolve(entry.get("object", [])),
        prepositions=tuple(entry.get("prepositions", [])),
        english=_english_verb(entry["en"], frame, preposition.get("en", ""), entry.get("marker", "")),
        german=_german_verb(entry["de"], preposition.get("de", ""), case),
    )


def _english_verb(text: str, frame: str, preposition: str, marker: str) -> EnglishVerb:
    base, *others = _words(text, 1, 2, 3)
    regular = english_morphology.past(base)
    past, participle = [*others, *(regular, (others or [regular])[0])[len(others) :]]
    bare = frame == "modal" and not marker
    third = base if bare else english_morphology.third_person(base)
    return EnglishVerb(
        base=base,
        finite=english_morphology.finite_forms(base, past, third),
        participle="" if bare else participle,
        preposition=preposition,
        marker=marker,
    )


def _german_verb(text: str, preposition: str, case: str) -> GermanVerb:
    infinitive, present, past, perfect = _words(text, 4)
    present, _, prefix = present.partition(" ")
    past, _, past_prefix = past.partition(" ")
    auxiliary, _, participle = perfect.partition(" ")
    if prefix != past_prefix or not infinitive.startswith(prefix):
        raise ValueError(f"{text!r} has two prefixes")
    return GermanVerb(
        infinitive=infinitive,
        prefix=prefix,
        finite=german_morphology.finite_forms(infinitive.removeprefix(prefix), present, past),
        participle=participle,
        auxiliary=AUXILIARIES[_one_of("the auxiliary", auxiliary, list(AUXILIARIES))],
        preposition=preposition,
        case=case,
    )


def adjective(name: str, entry: Entry, resolve: Resolve) -> Adjective:
    """Return an adjective."""
    _known(entry, "en", "de", "kinds", "cue")
    german, *stem = _words(entry["de"], 1, 2)
    resolved = resolve(entry.get("kinds", []))
    return Adjective(name, entry["en"], german, (stem or [german])[0], resolved, _flag(entry, "cue"))


def adverb(name: str, entry: Entry) -> Adverb:
    """Return an adverb."""
    _known(entry, "kind", "en", "de", "tenses")
    kind = _one_of("kind", entry["kind"], ["time", "frequency", "degree", "manner", "place"])
    return Adverb(name, kind, entry["en"], entry["de"], _tenses(entry))


def time_phrase(name: str, entry: Entry) -> TimePhrase:
    """Return a time phrase."""
    _known(entry, "en", "de", "tenses")
    return TimePhrase(name, tuple(entry["en"].split(" ")), tuple(entry["de"].split(" ")), _tenses(entry))


def subordinator(name: str, entry: Entry) -> Subordinator:
    """Return a subordinator."""
    _known(entry, "en", "de", "tenses")
    return Subordinator(name, entry["en"], entry["de"], _tenses(entry))


def conjunction(name: str, entry: Entry) -> Conjunction:
    """Return a conjunction."""
    _known(entry, "en", "de")
    return Conjunction(name, entry["en"], entry["de"])


def numeral(name: str, entry: Entry) -> Numeral:
    """Return a numeral."""
    _known(entry, "en", "de")
    return Numeral(name, entry["en"], entry["de"])


def _tenses(entry: Entry) -> tuple[str, ...]:
    return tuple(_one_of("a tense", tense, TENSES) for tense in entry.get("tenses", TENSES))


def preposition(name: str, entry: Entry, resolve: Resolve) -> Preposition:
    """Return a preposition."""
    _known(entry, "en", "de", "case", "kinds")
    case = _one_of("case", entry["case"], ["two-way", "dative", "accusative"])
    return Preposition(name, entry["en"], entry["de"], case, resolve(entry["kinds"]))


def name(text: str, gender: str, title: Entry | None = None) -> Name:
    """Return a name, with a title or without; only the last word takes the genitive's s, and Herr is weak."""
    english, german, oblique = (f"{title[key]} " if title else "" for key in ("en", "de", "oblique"))
    forms = (german + text, oblique + text, oblique + text, f"{oblique}{text}s")
    _one_of("gender", gender, ("masculine", "feminine"))
    return Name(gender, english + text, dict(zip(german_morphology.CASES, forms, strict=True)))
