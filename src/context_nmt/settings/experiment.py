"""A whole params.yaml."""

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from context_nmt.settings import Checked, require
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.evaluation import ProbingSettings, SignificanceSettings
from context_nmt.settings.model import ModelSettings, Slot
from context_nmt.settings.text import CorpusSettings, TextSettings, UnitSettings
from context_nmt.settings.training import AveragingSettings, TrainingSettings


@dataclass(frozen=True, kw_only=True)
class VariantSettings(Checked):
    """One named system: what fills its slots and what it overrides in the experiment's recipe.

    A slot holds a mechanism with its settings, `{mechanism: NAME, layers: [1, 2], KEY: VALUE}`, or a list of such
    entries for different layers. With `like`, an entry without `mechanism` changes settings of the other one's.
    """

    like: str | None = None  # another variant: all but its label is taken from it, and changed by what is said here
    label: str | None = None  # the name that tables print; the variant's key if unset
    slots: dict[Slot, Any] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    averaging: dict[str, Any] = field(default_factory=dict)
    decoding: dict[str, Any] = field(default_factory=dict)
    baseline: str | None = None
    test: Literal["bootstrap", "sign"] = "bootstrap"

    def __post_init__(self) -> None:
        for slot, given in self.slots.items():
            entries = given if isinstance(given, list) else [given]
            require(
                len(entries) > 0 and all(isinstance(entry, dict) for entry in entries),
                f"slots.{slot} is {given!r}; it must be {{mechanism: NAME, …}} or a list of such entries",
            )


@dataclass(frozen=True, kw_only=True)
class TrainSettings(Checked):
    """What each variant is trained on; every variant stands in exactly one list."""

    bitext: tuple[str, ...] = ()  # the text as it is
    teachers: tuple[str, ...] = ()  # one variant of bitext at most: its run with the first seed translates the source
    distilled: tuple[str, ...] = ()  # the source with the teacher's translations
    document: tuple[str, ...] = ()  # the text as it is, from the run of `document_start` with the same seed
    document_start: str | None = None
    continued: tuple[str, ...] = ()  # the same, from `continued_start`, which may itself be under document
    continued_start: str | None = None

    @property
    def everything(self) -> tuple[str, ...]:
        """The variants of all lists."""
        return (*self.bitext, *self.distilled, *self.document, *self.continued)

    def __post_init__(self) -> None:
        for name, earlier in {
            "document": (*self.bitext, *self.distilled),
            "continued": (*self.bitext, *self.distilled, *self.document),
        }.items():
            start, begun = getattr(self, f"{name}_start"), getattr(self, name)
            require(
                not begun or start in earlier,
                f"{name}_start is {start!r}; what {list(begun)} start from must be one of {list(earlier)}",
            )
        require(len(self.teachers) < 2, f"teachers names {list(self.teachers)}; there can be one")
        absent = sorted(set(self.teachers) - set(self.bitext))
        require(not absent, f"teachers: {absent} is not trained on bitext ({list(self.bitext)})")
        require(
            not self.distilled or len(self.teachers) == 1,
            f"distilled names {list(self.distilled)}, but teachers names no teacher",
        )


@dataclass(frozen=True, kw_only=True)
class LaunchSettings(Checked):
    """The commands that start stages; another one runs nothing again, as results do not depend on it.

    `train` is that of all trainings, `decode` that of decode, distill, rescore, contrast and analyse, for example
    `python`, `env OMP_NUM_THREADS=1 python`, `torchrun --nproc-per-node 8`, `srun --ntasks-per-node 1 torchrun …`
    """

    train: str = "python"
    decode: str = "python"

    def __post_init__(self) -> None:
        for name in ("train", "decode"):
            command = getattr(self, name)
            require(command.strip() != "" and "\n" not in command, f"{name} is {command!r}; it must be a command")


@dataclass(frozen=True, kw_only=True)
class ExperimentSettings(Checked):
    """A whole params.yaml."""

    root: str
    launch: LaunchSettings = LaunchSettings()
    download: tuple[str, ...] = ()  # entries of ROOT/data/params.yaml that are made in data/; what is missing is yours
    corpus: CorpusSettings
    text: TextSettings = TextSettings()
    units: UnitSettings = UnitSettings()
    model: ModelSettings = ModelSettings()
    training: TrainingSettings = TrainingSettings()
    averaging: AveragingSettings = AveragingSettings()
    decoding: DecodingSettings = DecodingSettings()
    significance: SignificanceSettings = SignificanceSettings()
    variants: dict[str, VariantSettings]
    train: TrainSettings
    rescored: tuple[str, ...] = ()  # masked variants: of their candidates, one per length, the teacher also chooses
    probing: ProbingSettings = ProbingSettings()
    seeds: tuple[int, ...]
    focus: str

    def label(self, variant: str) -> str:
        """The name that tables and figures print for a variant."""
        return self.variants[variant].label or variant

    def __post_init__(self) -> None:
        require(len(self.seeds) > 0, "seeds needs at least one seed")
        require(len(set(self.seeds)) == len(self.seeds), f"seeds repeats one: {list(self.seeds)}")
        require(len(set(self.download)) == len(self.download), f"download repeats one: {list(self.download)}")
        for seed in self.seeds:
            require(0 <= seed < 2**32, f"seeds: {seed} is not in 0..4294967295")
        require(self.focus in self.variants, f"focus: no variant {self.focus!r}; there are {list(self.variants)}")
        for name in ("bitext", "distilled", "document", "continued"):
            unknown = sorted(set(getattr(self.train, name)) - set(self.variants))
            require(not unknown, f"train.{name}: no variant {unknown}; there are {list(self.variants)}")
        require(
            not self.rescored or len(self.train.teachers) == 1,
            f"rescored names {list(self.rescored)}, but train.teachers names no teacher",
        )
        for name in ("sentences", "words"):
            unknown = sorted(set(getattr(self.probing, name)) - set(self.variants))
            require(not unknown, f"probing.{name}: no variant {unknown}; there are {list(self.variants)}")
        sets = (*self.corpus.tests, *self.corpus.groups, *self.corpus.contrastive)
        require(self.probing.tasks not in sets, f"probing.tasks is {self.probing.tasks!r}, which is a test set's name")
        for name in self.rescored:
            require(name in self.variants, f"rescored: no variant {name!r}; there are {list(self.variants)}")
            require(self.rescored.count(name) == 1, f"rescored repeats {name!r}")
            kind = self.variants[name].model.get("kind", self.model.kind)
            require(kind == "masked", f"rescored: {name!r} is {kind}; only a masked variant has a candidate per length")
        for name, variant in self.variants.items():
            require(
                re.fullmatch(r"\w[\w-]*", name, re.ASCII) is not None,
                f"variants: {name!r} names files; it must be made of letters, digits, _ and -, and not start with -",
            )
            times = self.train.everything.count(name)
            require(times == 1, f"variants.{name} stands in {times} lists under train; it must stand in exactly one")
            require(
                variant.baseline is None or (variant.baseline in self.variants and variant.baseline != name),
                f"variants.{name}.baseline: no other variant {variant.baseline!r}; there are {list(self.variants)}",
            )
