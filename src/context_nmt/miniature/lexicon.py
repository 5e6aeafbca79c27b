"""Read `lexicon.yaml`, check its entries against each other, and index them for the generation of clauses."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from context_nmt.files import UserError, read_yaml
from context_nmt.miniature.meaning import Wording
from context_nmt.miniature.words import LANGUAGES, Adjective, Kinds, Names, Noun, Preposition, Verb, Word
from context_nmt.settings import Checked, require
from context_nmt.settings.checking import check

PATH = Path(__file__).with_name("lexicon.yaml")
UNIQUE = ("verbs", "adjectives", "adverbs", "subordinators", "conjunctions", "numerals", "prepositions")
DOING = ("transitive", "dative", "prepositional", "ditransitive", "directional")


@dataclass(frozen=True, kw_only=True)
class Lexicon(Checked):
    """The entries of the file, by name and in the order of the file."""

    groups: dict[str, Kinds]  # of kinds of nouns
    nouns: dict[str, Noun]
    senses: dict[str, Noun]  # ambiguous nouns, used in the singular only
    verbs: dict[str, Verb]
    adjectives: dict[str, Adjective]
    contraries: tuple[frozenset[str], ...]  # names of adjectives: one excludes the others
    adverbs: dict[str, Word]
    subordinators: dict[str, Word]
    conjunctions: dict[str, Word]
    numerals: dict[str, Word]
    prepositions: dict[str, Preposition]
    names: tuple[Names, ...]

    def other_sense(self, noun: Noun) -> Noun:
        """Return the noun that shares an ambiguous word with a noun."""
        senses = [
            sense
            for sense in self.senses.values()
            if sense.side == noun.side and sense.ambiguous_word == noun.ambiguous_word and sense is not noun
        ]
        require(len(senses) == 1, f"senses.{noun.name}: {noun.ambiguous_word!r} has {1 + len(senses)} senses, not two")
        return senses[0]


@cache
def load_lexicon() -> Lexicon:
    """Return the lexicon of the package."""
    return read_lexicon(PATH)


def read_lexicon(path: Path) -> Lexicon:
    """Read a lexicon; raise UserError with the file and the wrong entry."""
    data = read_yaml(path)
    for section in data.values() if isinstance(data, dict) else ():
        for name, entry in section.items() if isinstance(section, dict) else ():
            if isinstance(entry, dict):
                entry["name"] = name
    lexicon = check(Lexicon, data, where=str(path))
    try:
        _check(lexicon)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
    return lexicon


def _check(lexicon: Lexicon) -> None:
    """Raise ValueError, with the wrong entry, for missing entries or values and for duplicate translations."""
    for noun in lexicon.senses.values():
        _check_sense(lexicon, noun)
    for verb in lexicon.verbs.values():
        for name in verb.prepositions:
            known = name in lexicon.prepositions and lexicon.prepositions[name].case == "two-way"
            require(known, f"verbs.{verb.name}: {name!r} is not a two-way preposition")
    for name, preposition in lexicon.prepositions.items():
        require(bool(preposition.case and preposition.kinds), f"prepositions.{name}: needs a case and kinds")
    for unknown in sorted({name for group in lexicon.contraries for name in group} - set(lexicon.adjectives)):
        raise ValueError(f"contraries: {unknown!r} is not an adjective")
    kinds = {noun.kind for noun in (*lexicon.nouns.values(), *lexicon.senses.values())}
    for section, keys in (("verbs", ("subject", "object")), ("adjectives", ("kinds",)), ("prepositions", ("kinds",))):
        for name, entry in getattr(lexicon, section).items():
            for unknown in sorted({kind for key in keys for kind in getattr(entry, key)} - kinds):
                raise ValueError(f"{section}.{name}: {unknown!r} is not a kind of noun: {', '.join(sorted(kinds))}")
    _check_unique("nouns", (lexicon.nouns | lexicon.senses).values())
    for section in UNIQUE:
        _check_unique(section, getattr(lexicon, section).values())


def _check_sense(lexicon: Lexicon, noun: Noun) -> None:
    where, other_sense = f"senses.{noun.name}", lexicon.other_sense(noun)
    for cue in noun.cues:
        cue_noun = lexicon.nouns.get(cue)
        plain = cue_noun is not None and len(cue_noun.en) == len(cue_noun.de) == 1
        require(plain, f"{where}: the cue {cue!r} is not an unambiguous noun without synonyms")
    for name in noun.adjectives:
        is_cue = name in lexicon.adjectives and lexicon.adjectives[name].cue
        require(is_cue, f"{where}: {name!r} is not an adjective with `cue: true`")
    for shared in {*noun.cues, *noun.adjectives} & {*other_sense.cues, *other_sense.adjectives}:
        raise ValueError(f"{where}: {shared!r} does not disambiguate: {other_sense.name} has it, too")
    require(
        noun.side == "en" or noun.de == other_sense.de, f"{where}: its German forms tell it from {other_sense.name}"
    )


def _check_unique(section: str, entries: Iterable[Any]) -> None:
    """Raise ValueError for two entries with the same word in a language, unless they are its two senses."""
    holders: dict[tuple[str, str], Any] = {}
    for entry in entries:
        for side in LANGUAGES:
            words = getattr(entry, side)
            for word in words if isinstance(words, tuple) else [words]:
                lemma = str(getattr(word, "lemma", word))
                first = holders.setdefault((side, lemma), entry)
                allowed = first is entry or (section == "nouns" and first.side == entry.side == side)
                require(allowed, f"{section}.{entry.name}: {lemma!r} is a word of {first.name} already")


class Vocabulary:
    """The lexicon, indexed for the generation of clauses."""

    def __init__(self, lexicon: Lexicon):
        self.lexicon = lexicon
        nouns, verbs, adverbs = lexicon.nouns.values(), lexicon.verbs.values(), lexicon.adverbs.values()
        kinds = list(dict.fromkeys(noun.kind for noun in (*nouns, *lexicon.senses.values())))
        self.of_kind = {kind: [noun for noun in nouns if noun.kind == kind] for kind in kinds}
        self.people = {
            gender: [noun for noun in self.of_kind["person"] if noun.gender == gender]
            for gender in ("masculine", "feminine")
        }
        names = [name for names in lexicon.names for name in names.declined()]
        self.names = {gender: [name for name in names if name.gender == gender] for gender in self.people}
        self.adjectives = {
            kind: [word for word in lexicon.adjectives.values() if not word.cue and kind in word.kinds]
            for kind in kinds
        }
        thing_kinds = [kind for kind in kinds if len(self.adjectives[kind]) > 2 and kind not in ("person", "place")]
        self.things = [noun for noun in nouns if noun.kind in thing_kinds]
        by_frame: dict[str, list[Verb]] = defaultdict(list)
        for verb in verbs:
            by_frame[verb.frame].append(verb)
        action_verbs = [verb for frame in DOING for verb in by_frame[frame] if "person" in verb.subject]
        self.done_to = {kind: [verb for verb in action_verbs if kind in verb.object] for kind in kinds}
        self.intransitive, self.positional = (
            {kind: [verb for verb in by_frame[frame] if kind in verb.subject] for kind in kinds}
            for frame in ("intransitive", "positional")
        )
        self.clausal, self.modals = by_frame["clausal"], by_frame["modal"]
        self.belonging = [verb for verb in by_frame["dative"] if "person" not in verb.subject]
        self.adverbs = {
            kind: [word for word in adverbs if word.kind == kind] for kind in ("frequency", "degree", "manner", "place")
        }
        self.times = {
            tense: [word for word in adverbs if word.kind == "time" and tense in word.tenses]
            for tense in ("present", "past", "future", "perfect")
        }
        self.for_people = [word for word in lexicon.prepositions.values() if "person" in word.kinds]
        self.spots = {
            name: [noun for noun in nouns if noun.kind in preposition.kinds and len(noun.de) == 1]
            for name, preposition in lexicon.prepositions.items()
        }
        # A thing of each German gender; a man and a woman; a wording for every pair of pronouns: he er, she sie,
        # it er, it sie, it es, they sie.
        self.of_gender = {noun.de[0].gender: Wording.usual(noun) for noun in reversed(self.things)}
        self.person_of_gender = {gender: Wording.usual(nouns[0]) for gender, nouns in self.people.items()}
        they = replace(self.of_gender["neuter"], plural=True)
        self.all_pronouns = [*self.person_of_gender.values(), *self.of_gender.values(), they]
