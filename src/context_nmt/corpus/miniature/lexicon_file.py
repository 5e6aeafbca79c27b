"""Reads `lexicon.yaml`, the words of the miniature corpus; their forms are computed once."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml

from context_nmt.corpus.miniature import english_morphology, german_morphology
from context_nmt.corpus.miniature.lexicon import (
    Adjective,
    Adverb,
    At,
    Conjunction,
    EnglishNoun,
    EnglishVerb,
    GermanNoun,
    GermanVerb,
    Lexicon,
    Name,
    Noun,
    Numeral,
    Preposition,
    Sense,
    Subordinator,
    TimePhrase,
    Verb,
)
from context_nmt.files import UserError

PATH = Path(__file__).with_name("lexicon.yaml")
FRAMES = (
    *("intransitive", "transitive", "dative", "prepositional", "ditransitive"),
    *("positional", "directional", "clausal", "modal"),
)
CASES = {"transitive": "accusative", "dative": "dative", "ditransitive": "accusative", "directional": "accusative"}
GENDERS = {"der": "masculine", "die": "feminine", "das": "neuter"}
AUXILIARIES = {"hat": "haben", "ist": "sein"}
TENSES = ["past", "present", "future"]
BE = Verb(
    name="be",
    frame="copula",
    neutral=False,
    subject=(),
    object=(),
    prepositions=(),
    english=EnglishVerb("be", english_morphology.BE, "been", "being", "", ""),
    german=GermanVerb("sein", "", german_morphology.SEIN, "zu sein", "gewesen", "sein", "", ""),
)

Entry = dict[str, Any]
Built = TypeVar("Built")


@cache
def load_lexicon() -> Lexicon:
    """Return the lexicon of the package."""
    return read_lexicon(PATH)


def read_lexicon(path: Path) -> Lexicon:
    """Read a lexicon; raises UserError with the file and the entry that is wrong."""
    data = yaml.safe_load(path.read_text(encoding="utf-8"))

    def read(section: str, build: Callable[[str, Entry], Built]) -> dict[str, Built]:
        built = {}
        for name, entry in data[section].items():
            try:
                built[name] = build(name, entry)
            except KeyError as error:
                raise UserError(f"{path}: {section}.{name}: has no key {error}") from None
            except (ValueError, AttributeError, TypeError) as error:
                raise UserError(f"{path}: {section}.{name}: {error}") from None
        return built

    kinds = _Kinds(data["nouns"].values(), data["groups"])
    nouns = read("nouns", _noun)
    senses = _senses(nouns)
    ordinary = {name: noun for name, noun in nouns.items() if not noun.sense}
    verbs = read("verbs", lambda name, entry: _verb(name, entry, kinds))
    return Lexicon(
        nouns=ordinary,
        senses=senses,
        ambiguous=_ambiguous(senses),
        kinds={kind: tuple(noun for noun in ordinary.values() if noun.kind == kind) for kind in kinds.all},
        be=BE,
        verbs=verbs,
        frames={frame: tuple(verb for verb in verbs.values() if verb.frame == frame) for frame in FRAMES},
        adjectives=read("adjectives", lambda name, entry: _adjective(name, entry, kinds)),
        adverbs=read("adverbs", _adverb),
        time_phrases=read("time_phrases", _time_phrase),
        subordinators=read("subordinators", _subordinator),
        conjunctions=read("conjunctions", lambda name, entry: Conjunction(name, entry["en"], entry["de"])),
        numerals=read("numerals", lambda name, entry: Numeral(name, entry["en"], entry["de"])),
        prepositions=read("prepositions", lambda name, entry: _preposition(name, entry, kinds)),
        first_names=tuple(_name(name, gender) for gender, names in data["first_names"].items() for name in names),
        titled_names=tuple(
            _name(surname, title["gender"], title) for title in data["titles"] for surname in data["surnames"]
        ),
    )


class _Kinds:
    """Kinds of nouns, and groups of them."""

    def __init__(self, nouns: Iterable[Entry], groups: dict[str, list[str]]) -> None:
        self.all = tuple(dict.fromkeys(entry["kind"] for entry in nouns))
        self.members: dict[str, tuple[str, ...]] = {kind: (kind,) for kind in self.all}
        for group, members in groups.items():
            self.members[group] = self.resolve(members)

    def resolve(self, names: Iterable[str]) -> tuple[str, ...]:
        """Replace groups by their kinds; raises ValueError for an unknown one."""
        names = list(names)
        unknown = [name for name in names if name not in self.members]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is neither a kind nor a group: {', '.join(self.members)}")
        return tuple(dict.fromkeys(kind for name in names for kind in self.members[name]))


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


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _noun(name: str, entry: Entry) -> Noun:
    _known(entry, "kind", "gender", "en", "de", "at", "of", "adjectives", "cues")
    german = tuple(_german_noun(text) for text in _listed(entry["de"]))
    if len({noun.gender for noun in german}) > 1:
        raise ValueError("German synonyms must have one gender")
    return Noun(
        name=name,
        kind=entry["kind"],
        gender=_one_of("gender", entry.get("gender", "neuter"), german_morphology.GENDERS),
        english=tuple(_english_noun(text) for text in _listed(entry["en"])),
        german=german,
        at=At(entry["at"]["en"], entry["at"]["de"]) if "at" in entry else None,
        sense=_sense(entry),
    )


def _sense(entry: Entry) -> Sense | None:
    if "cues" not in entry:
        return None
    return Sense("", "", "", tuple(entry["of"]), tuple(entry.get("adjectives", [])), tuple(entry["cues"]))


def _senses(nouns: dict[str, Noun]) -> dict[str, Noun]:
    """Return the nouns with a sense, each knowing its word and the noun with the other sense."""
    words: dict[tuple[str, str], list[Noun]] = {}
    for noun in nouns.values():
        for side, word in (("en", noun.english[0].singular), ("de", noun.german[0].lemma)):
            if noun.sense:
                words.setdefault((side, word), []).append(noun)
    return {
        noun.name: replace(noun, sense=replace(noun.sense, side=side, word=word, other=other.name))
        for (side, word), pair in words.items()
        if len(pair) == 2
        for noun, other in (pair, pair[::-1])
        if noun.sense
    }


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


def _ambiguous(senses: dict[str, Noun]) -> dict[tuple[str, str], tuple[Noun, Noun]]:
    pairs: dict[tuple[str, str], list[Noun]] = {}
    for noun in senses.values():
        if noun.sense:
            pairs.setdefault((noun.sense.side, noun.sense.word), []).append(noun)
    return {key: (first, second) for key, (first, second) in pairs.items()}


def _verb(name: str, entry: Entry, kinds: _Kinds) -> Verb:
    _known(entry, "frame", "en", "de", "subject", "object", "preposition", "prepositions", "neutral", "marker")
    frame = _one_of("frame", entry["frame"], FRAMES)
    preposition = entry.get("preposition", {})
    case = preposition.get("case", CASES.get(frame, ""))
    return Verb(
        name=name,
        frame=frame,
        neutral=entry.get("neutral", False),
        subject=kinds.resolve(entry["subject"]),
        object=kinds.resolve(entry.get("object", [])),
        prepositions=tuple(entry.get("prepositions", [])),
        english=_english_verb(entry["en"], frame, preposition.get("en", ""), entry.get("marker", "")),
        german=_german_verb(entry["de"], preposition.get("de", ""), case),
    )


def _english_verb(text: str, frame: str, preposition: str, marker: str) -> EnglishVerb:
    base, *others = _words(text, 1, 2, 3, 4)
    regular = english_morphology.past(base)
    past, participle, gerund = [
        *others,
        *(regular, (others or [regular])[0], english_morphology.gerund(base))[len(others) :],
    ]
    bare = frame == "modal" and not marker
    third = base if bare else english_morphology.third_person(base)
    return EnglishVerb(
        base=base,
        finite=english_morphology.finite_forms(base, past, third),
        participle="" if bare else participle,
        gerund="" if bare else gerund,
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
        to_infinitive=german_morphology.to_infinitive(infinitive, prefix),
        participle=participle,
        auxiliary=AUXILIARIES[_one_of("the auxiliary", auxiliary, list(AUXILIARIES))],
        preposition=preposition,
        case=case,
    )


def _adjective(name: str, entry: Entry, kinds: _Kinds) -> Adjective:
    _known(entry, "en", "de", "kinds", "cue")
    german, *stem = _words(entry["de"], 1, 2)
    resolved = kinds.resolve(entry.get("kinds", []))
    return Adjective(name, entry["en"], german, (stem or [german])[0], resolved, entry.get("cue", False))


def _adverb(name: str, entry: Entry) -> Adverb:
    _known(entry, "kind", "en", "de", "tenses")
    kind = _one_of("kind", entry["kind"], ["time", "frequency", "degree", "manner", "place"])
    return Adverb(name, kind, entry["en"], entry["de"], _tenses(entry))


def _time_phrase(name: str, entry: Entry) -> TimePhrase:
    _known(entry, "en", "de", "tenses")
    return TimePhrase(name, tuple(entry["en"].split(" ")), tuple(entry["de"].split(" ")), _tenses(entry))


def _subordinator(name: str, entry: Entry) -> Subordinator:
    _known(entry, "en", "de", "tenses")
    return Subordinator(name, entry["en"], entry["de"], _tenses(entry))


def _tenses(entry: Entry) -> tuple[str, ...]:
    return tuple(_one_of("a tense", tense, TENSES) for tense in entry.get("tenses", TENSES))


def _preposition(name: str, entry: Entry, kinds: _Kinds) -> Preposition:
    _known(entry, "en", "de", "case", "kinds")
    case = _one_of("case", entry["case"], ["two-way", "dative", "accusative"])
    return Preposition(name, entry["en"], entry["de"], case, kinds.resolve(entry["kinds"]))


def _name(name: str, gender: str, title: Entry | None = None) -> Name:
    """Decline a name: only the last word takes the genitive's s, and Herr is weak."""
    english, german, oblique = (f"{title[key]} " if title else "" for key in ("en", "de", "oblique"))
    forms = (german + name, oblique + name, oblique + name, f"{oblique}{name}s")
    return Name(gender, english + name, dict(zip(german_morphology.CASES, forms, strict=True)))
