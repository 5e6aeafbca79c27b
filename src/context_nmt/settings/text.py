"""The keys under corpus, text and units: the text and its segmentation into units."""

import re
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from context_nmt.settings import Checked, NonNegativeInteger, PositiveInteger, require, require_distinct

# Codes of countries, taken for codes of languages; none of them is a language's.
COUNTRIES = {"cn": "zh", "cz": "cs", "dk": "da", "gr": "el", "ir": "fa", "jp": "ja", "ua": "uk", "vn": "vi"}


def base_language(code: str) -> str:
    """Return the language of a code: en for en-GB, zh for zh_TW."""
    return re.split("[-_]", code.lower())[0]


def country_problem(code: str) -> str | None:
    """Return what is wrong with the code of a country in place of a language's; None if nothing is."""
    language = COUNTRIES.get(base_language(code))
    return f"{code!r} is the code of a country; write {language}, that of its language" if language else None


@dataclass(frozen=True, kw_only=True)
class CorpusSettings(Checked):
    """The parallel text: files `data/NAME/SPLIT.LANGUAGE`, one sentence per line."""

    name: str  # the folder in data/
    source: str  # source language: the suffix of its files, and the language's code, such as en or pt_BR
    target: str  # target language, likewise
    train: str = "train"  # the training split
    validation: str = "valid"  # the split for early stopping, checkpoint selection and learning curves
    tests: tuple[str, ...]  # splits to translate and score; the validation set may be one of them
    # a name for the mean score of several test sets: {NAME: [TEST, TEST]}
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # contrastive sets to score: files data/NAME/SET.SOURCE-TARGET.jsonl, see corpus/contrastive.py
    contrastive: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require(self.source != self.target, f"source and target are both {self.source!r}; they must differ")
        for side in ("source", "target"):
            problem = country_problem(getattr(self, side))
            require(problem is None, f"{side}: {problem}, also in the names of the files")
        require(len(self.tests) > 0, "tests is empty; it must list at least one test set")
        require_distinct("tests", self.tests)
        evaluated = {self.validation, *self.tests}
        require(self.train not in evaluated, f"train is {self.train!r}, which is also the validation set or a test set")
        for group, members in self.groups.items():
            missing = sorted(set(members) - set(self.tests))
            require(not missing, f"groups.{group} names {missing}; its members must be in tests ({list(self.tests)})")
            require(group not in self.tests, f"groups.{group} has the name of a test set; choose another")
            require(len(members) > 0, f"groups.{group} is empty; it must list test sets")
        names = [self.train, *evaluated, *self.groups, *self.contrastive]
        for name in self.contrastive:
            require(names.count(name) == 1, f"contrastive: {name!r} is also the name of another set; choose another")
        evaluated_names = {*self.tests, *self.groups, *self.contrastive}
        require("model" not in evaluated_names, "a test set, group or contrastive set cannot be named 'model'")

    @property
    def direction(self) -> str:
        """Both languages, as in en-de."""
        return f"{self.source}-{self.target}"

    @property
    def held_out(self) -> list[str]:
        """The test sets without the validation set, unless that is the only test set."""
        return [test for test in self.tests if test != self.validation] or list(self.tests)


@dataclass(frozen=True, kw_only=True)
class SideSettings(Checked):
    """The conversion of one side's raw text into Moses tokens and back."""

    pretokenized: bool = False  # the text is already tokenized: keep its tokens, and score them without detokenizing
    # a command that runs first and maps raw lines to lines; DVC tracks the command line, not the script
    script: str | None = None
    normalize_punctuation: bool = True  # map quotes, dashes and spaces to plain ones, as Moses does
    aggressive_hyphens: bool = False  # split words at hyphens, with @-@ between the parts
    # give the first word of a sentence its most frequent case, learned from the training text; must be false where
    # units.kind is sentencepiece
    truecase: bool = True


@dataclass(frozen=True, kw_only=True)
class CleaningSettings(Checked):
    """Limits for training pairs: the length of each side in Moses tokens, and the ratio of the lengths."""

    minimum_length: PositiveInteger = 1  # in Moses tokens, on each side; shorter pairs are left out
    maximum_length: PositiveInteger = 80  # in Moses tokens, on each side; longer pairs are left out
    maximum_ratio: Annotated[float, Field(ge=1)] = 9.0  # of the longer side to the shorter; other pairs are left out

    def __post_init__(self) -> None:
        require(
            self.maximum_length >= self.minimum_length,
            f"maximum_length is {self.maximum_length}; it must be at least minimum_length ({self.minimum_length})",
        )


@dataclass(frozen=True, kw_only=True)
class TextSettings(Checked):
    """The conversion of raw text into tokens."""

    source: SideSettings = SideSettings()
    target: SideSettings = SideSettings()
    cleaning: CleaningSettings = CleaningSettings()


@dataclass(frozen=True, kw_only=True)
class UnitSettings(Checked):
    """The vocabulary: BPE units, the most frequent words, or the pieces of sentencepiece."""

    # bpe: subwords of Moses tokens by byte pair encoding; words: whole tokens; sentencepiece: pieces of raw text,
    # without tokenization
    kind: Literal["bpe", "words", "sentencepiece"] = "bpe"
    # one vocabulary, and one set of merges or pieces, for both sides; transliterated: for Russian and a language in
    # Latin script, BPE merges are learned on Russian in Latin script (ISO 9) and apply to both scripts
    joint: Literal[True, False, "transliterated"] = True
    merges: PositiveInteger = 8000  # BPE merges, in total if joint, else per side
    # BPE units rarer than this on their side are split further; 0 keeps all
    vocabulary_threshold: NonNegativeInteger = 0
    words: PositiveInteger = 30000  # size of the vocabulary for kind words: the most frequent ones; others are unknown
    # maximum size of the vocabulary for kind sentencepiece, in total if joint, else per side; it includes all 256
    # bytes, so that no character is unknown
    pieces: PositiveInteger = 8000
    model_type: Literal["unigram", "bpe"] = "unigram"  # for kind sentencepiece: the model that finds the pieces

    def __post_init__(self) -> None:
        require(
            self.joint != "transliterated" or self.kind == "bpe",
            f"joint is transliterated, which is for kind bpe, not {self.kind}; set it to true or false",
        )
        for key in self._unused:
            value, default = getattr(self, key), getattr(UnitSettings, key)
            require(value == default, f"{key} is {value!r}; kind {self.kind} has no such key, so remove it")

    @property
    def _unused(self) -> tuple[str, ...]:
        of_pieces, of_tokens = ("pieces", "model_type"), ("merges", "vocabulary_threshold", "words")
        return of_tokens if self.untokenized else of_pieces

    @property
    def untokenized(self) -> bool:
        """Whether units are made of raw text, not of Moses tokens."""
        return self.kind == "sentencepiece"

    def values(self) -> dict[str, Any]:
        """Return the keys that this kind uses, for JSON."""
        return {key: value for key, value in asdict(self).items() if key not in self._unused}


@dataclass(frozen=True, kw_only=True)
class TextPlan(Checked):
    """The part of metrics/plans/text.json that the tokenize stage reads."""

    corpus: CorpusSettings
    text: TextSettings
    untokenized: bool = False  # units are made of raw text; scores and length limits still count Moses tokens
    code: dict[str, str] = field(default_factory=dict)  # digests of scripts that are modules of this project


@dataclass(frozen=True, kw_only=True)
class UnitPlan(Checked):
    """The plan of the bpe stage, metrics/plans/units.json."""

    corpus: CorpusSettings
    units: UnitSettings
