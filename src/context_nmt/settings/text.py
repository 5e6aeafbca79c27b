"""The keys that say which text and how it becomes units: corpus, text, units."""

from dataclasses import dataclass, field
from typing import Literal

from context_nmt.settings import Checked, require


@dataclass(frozen=True, kw_only=True)
class CorpusSettings(Checked):
    """Which parallel text: files `data/NAME/SPLIT.LANGUAGE`, one sentence per line."""

    name: str
    source: str
    target: str
    train: str = "train"
    validation: str = "valid"
    tests: tuple[str, ...]  # decoded and scored; the validation set may be one of them
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)  # mean scores over several test sets
    contrastive: tuple[str, ...] = ()  # sets `data/NAME/SET.SOURCE-TARGET.jsonl`, see corpus/contrastive.py

    def __post_init__(self) -> None:
        require(self.source != self.target, f"source and target are both {self.source!r}")
        require(len(self.tests) > 0, "tests needs at least one test set")
        evaluated = (self.validation, *self.tests)
        require(self.train not in evaluated, f"{self.train!r} is the training set: it cannot be evaluated on as well")
        for group, members in self.groups.items():
            missing = sorted(set(members) - set(self.tests))
            require(not missing, f"group {group!r} names {missing}, which tests does not list ({list(self.tests)})")
            require(group not in self.tests, f"group {group!r} has the name of a test set")
            require(len(members) > 0, f"group {group!r} has no members")
        names = [*dict.fromkeys((self.train, *evaluated)), *self.groups, *self.contrastive]
        for name in self.contrastive:
            require(names.count(name) == 1, f"contrastive: {name!r} is the name of another set, too")
        evaluated_on = {*self.tests, *self.groups, *self.contrastive}
        require("model" not in evaluated_on, "a test set, group or contrastive set cannot be named 'model'")

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
    """How one side's raw text becomes Moses tokens, and back."""

    pretokenized: bool = False
    script: str | None = None  # a command that maps raw lines to lines before all else; DVC sees its words only
    normalize_punctuation: bool = True
    aggressive_hyphens: bool = False
    truecase: bool = True


@dataclass(frozen=True, kw_only=True)
class CleaningSettings(Checked):
    """Which training pairs stay: lengths in Moses tokens, both sides, and their ratio."""

    minimum_length: int = 1
    maximum_length: int = 80
    maximum_ratio: float = 9.0

    def __post_init__(self) -> None:
        require(self.minimum_length >= 1, f"minimum_length is {self.minimum_length}; it must be at least 1")
        require(
            self.maximum_length >= self.minimum_length,
            f"maximum_length is {self.maximum_length}; it must be at least minimum_length ({self.minimum_length})",
        )
        require(self.maximum_ratio >= 1, f"maximum_ratio is {self.maximum_ratio}; it must be at least 1")


@dataclass(frozen=True, kw_only=True)
class TextSettings(Checked):
    """From raw text to tokens."""

    source: SideSettings = SideSettings()
    target: SideSettings = SideSettings()
    cleaning: CleaningSettings = CleaningSettings()


@dataclass(frozen=True, kw_only=True)
class UnitSettings(Checked):
    """What the vocabulary holds: BPE units or the most frequent words."""

    kind: Literal["bpe", "words"] = "bpe"
    joint: bool = True  # one vocabulary (and one set of merges) for both sides
    merges: int = 8000
    vocabulary_threshold: int = 0  # BPE units rarer than this on their side are split further
    words: int = 30000

    def __post_init__(self) -> None:
        require(self.merges >= 1, f"merges is {self.merges}; it must be at least 1")
        require(self.words >= 1, f"words is {self.words}; it must be at least 1")
        require(self.vocabulary_threshold >= 0, f"vocabulary_threshold is {self.vocabulary_threshold}; 0 turns it off")


@dataclass(frozen=True, kw_only=True)
class TextPlan(Checked):
    """What the tokenize and evaluation stages are told: metrics/plans/text.json."""

    corpus: CorpusSettings
    text: TextSettings


@dataclass(frozen=True, kw_only=True)
class UnitPlan(Checked):
    """What the bpe stage is told: metrics/plans/units.json."""

    corpus: CorpusSettings
    units: UnitSettings
