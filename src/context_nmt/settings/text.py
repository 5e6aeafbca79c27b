"""The keys under corpus, text and units: the text and its segmentation into units."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from context_nmt.settings import Bounds, Checked, NonNegativeInteger, PositiveInteger, require, require_distinct


@dataclass(frozen=True, kw_only=True)
class CorpusSettings(Checked):
    """The parallel text: files `data/NAME/SPLIT.LANGUAGE`, one sentence per line."""

    name: str
    source: str
    target: str
    train: str = "train"
    validation: str = "valid"
    tests: tuple[str, ...]  # decoded and scored; the validation set may be one of them
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)  # mean scores over several test sets
    contrastive: tuple[str, ...] = ()  # sets `data/NAME/SET.SOURCE-TARGET.jsonl`, see corpus/contrastive.py

    def __post_init__(self) -> None:
        require(self.source != self.target, f"source and target are both {self.source!r}; they must differ")
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
            require(names.count(name) == 1, f"contrastive: {name!r} is the name of another set, too; choose another")
        evaluated_names = {*self.tests, *self.groups, *self.contrastive}
        require("model" not in evaluated_names, "a test set, group or contrastive set cannot be named 'model'")

    @property
    def direction(self) -> str:
        """Both languages, as in en-de."""
        return f"{self.source}-{self.target}"

    @property
    def held_out(self) -> list[str]:
        """The test sets without the validation set, unless it is the only one."""
        return [test for test in self.tests if test != self.validation] or list(self.tests)


@dataclass(frozen=True, kw_only=True)
class SideSettings(Checked):
    """The conversion of one side's raw text into Moses tokens and back."""

    pretokenized: bool = False
    script: str | None = None  # a command that maps raw lines to lines, run first; DVC sees only its words
    normalize_punctuation: bool = True
    aggressive_hyphens: bool = False
    truecase: bool = True


@dataclass(frozen=True, kw_only=True)
class CleaningSettings(Checked):
    """Limits for training pairs: length of each side in Moses tokens, and ratio of the lengths."""

    minimum_length: PositiveInteger = 1
    maximum_length: PositiveInteger = 80
    maximum_ratio: Annotated[float, Bounds(ge=1)] = 9.0

    def __post_init__(self) -> None:
        require(
            self.maximum_length >= self.minimum_length,
            f"maximum_length is {self.maximum_length}; it must be at least minimum_length ({self.minimum_length})",
        )


@dataclass(frozen=True, kw_only=True)
class TextSettings(Checked):
    """From raw text to tokens."""

    source: SideSettings = SideSettings()
    target: SideSettings = SideSettings()
    cleaning: CleaningSettings = CleaningSettings()


@dataclass(frozen=True, kw_only=True)
class UnitSettings(Checked):
    """The vocabulary: BPE units or the most frequent words."""

    kind: Literal["bpe", "words"] = "bpe"
    joint: bool = True  # one vocabulary (and one set of merges) for both sides
    merges: PositiveInteger = 8000
    vocabulary_threshold: NonNegativeInteger = 0  # BPE units rarer than this on their side are split further
    words: PositiveInteger = 30000


@dataclass(frozen=True, kw_only=True)
class TextPlan(Checked):
    """The plan of tokenize and of the evaluation stages, metrics/plans/text.json."""

    corpus: CorpusSettings
    text: TextSettings


@dataclass(frozen=True, kw_only=True)
class UnitPlan(Checked):
    """The plan of the bpe stage, metrics/plans/units.json."""

    corpus: CorpusSettings
    units: UnitSettings
