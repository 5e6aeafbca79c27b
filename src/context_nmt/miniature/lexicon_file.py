"""Reads `lexicon.yaml`, the words of the miniature corpus."""

from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import yaml

from context_nmt.files import UserError
from context_nmt.miniature import english_morphology, german_morphology, lexicon_entries
from context_nmt.miniature.lexicon import EnglishVerb, GermanVerb, Lexicon, Verb
from context_nmt.miniature.lexicon_checks import check, homonyms

PATH = Path(__file__).with_name("lexicon.yaml")
BE = Verb(
    name="be",
    frame="copula",
    neutral=False,
    subject=(),
    object=(),
    prepositions=(),
    english=EnglishVerb("be", english_morphology.BE, "been", "", ""),
    german=GermanVerb("sein", "", german_morphology.SEIN, "gewesen", "sein", "", ""),
)

Built = TypeVar("Built")


@cache
def load_lexicon() -> Lexicon:
    """Return the lexicon of the package, with all forms of its words."""
    return read_lexicon(PATH)


def read_lexicon(path: Path) -> Lexicon:
    """Read a lexicon; raises UserError with the file and the entry that is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
        return _lexicon(yaml.load(text, Loader=yaml.BaseLoader))  # noqa: S506 - knows words only: "on" is one
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not YAML ({' '.join(str(error).split())})") from None
    except KeyError as error:
        raise UserError(f"{path}: has no section {error}") from None
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None


def _lexicon(data: dict[str, Any]) -> Lexicon:
    resolve = _Kinds(data["nouns"].values(), data["groups"]).resolve
    pairs = homonyms(data["nouns"])
    nouns = _read(data, "nouns", partial(lexicon_entries.noun, homonyms=pairs))
    ordinary = {name: noun for name, noun in nouns.items() if name not in pairs}
    verbs = _read(data, "verbs", partial(lexicon_entries.verb, resolve=resolve))
    lexicon = Lexicon(
        nouns=ordinary,
        senses={name: nouns[name] for name in pairs},
        kinds=_by(ordinary.values(), lambda noun: noun.kind),
        be=BE,
        verbs=verbs,
        frames=_by(verbs.values(), lambda verb: verb.frame),
        adjectives=_read(data, "adjectives", partial(lexicon_entries.adjective, resolve=resolve)),
        contraries=tuple(map(frozenset, data["contraries"])),
        adverbs=_read(data, "adverbs", lexicon_entries.adverb),
        time_phrases=_read(data, "time_phrases", lexicon_entries.time_phrase),
        subordinators=_read(data, "subordinators", lexicon_entries.subordinator),
        conjunctions=_read(data, "conjunctions", lexicon_entries.conjunction),
        numerals=_read(data, "numerals", lexicon_entries.numeral),
        prepositions=_read(data, "prepositions", partial(lexicon_entries.preposition, resolve=resolve)),
        first_names=tuple(
            lexicon_entries.name(text, gender) for gender, texts in data["first_names"].items() for text in texts
        ),
        titled_names=tuple(
            lexicon_entries.name(text, title["gender"], title) for title in data["titles"] for text in data["surnames"]
        ),
    )
    check(lexicon)
    return lexicon


def _read(data: dict[str, Any], section: str, build: Callable[[str, Any], Built]) -> dict[str, Built]:
    built = {}
    for name, entry in data[section].items():
        try:
            built[name] = build(name, entry)
        except KeyError as error:
            raise ValueError(f"{section}.{name}: has no key {error}") from None
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"{section}.{name}: {error}") from None
    return built


def _by(values: Iterable[Built], key: Callable[[Built], str]) -> dict[str, tuple[Built, ...]]:
    groups: dict[str, tuple[Built, ...]] = {}
    for value in values:
        groups[key(value)] = (*groups.get(key(value), ()), value)
    return groups


class _Kinds:
    """Kinds of nouns, and groups of them."""

    def __init__(self, nouns: Iterable[dict[str, Any]], groups: dict[str, list[str]]) -> None:
        self._members: dict[str, tuple[str, ...]] = {noun["kind"]: (noun["kind"],) for noun in nouns if "kind" in noun}
        for group, members in groups.items():
            self._members[group] = self.resolve(members)

    def resolve(self, names: Iterable[str]) -> tuple[str, ...]:
        """Replace groups by their kinds; raises ValueError for an unknown one."""
        names = tuple(names)
        for name in names:
            if name not in self._members:
                raise ValueError(f"{name!r} is neither a kind nor a group: {', '.join(self._members)}")
        return tuple(dict.fromkeys(kind for name in names for kind in self._members[name]))
