"""All keys of a params.yaml, the function that reads it, and the experiment that it describes."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from context_nmt.files import UserError, read_yaml
from context_nmt.settings import Checked, Seed, check, require, require_distinct, some_names
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.evaluation import ProbingSettings, SignificanceSettings
from context_nmt.settings.launch import LaunchSettings, with_commands
from context_nmt.settings.layout import Layout
from context_nmt.settings.model import AveragingSettings, ModelSettings, Slot, TrainingSettings, output_slots
from context_nmt.settings.text import CorpusSettings, TextSettings, UnitSettings

SignificanceTest = Literal["bootstrap", "sacrebleu", "sign", "randomization"]  # the same as TESTS of measures/rows.py

UNIT_FILES = ("codes", "vocabulary")  # in runs/subwords, which also has the splits


@dataclass(frozen=True, kw_only=True)
class VariantSettings(Checked):
    """A named system: the mechanisms in its slots, and its changes to the experiment's recipe.

    A slot holds a mechanism with its settings, `{mechanism: NAME, layers: [1, 2], KEY: VALUE}`, or a list of such
    entries for different layers. With `like`, an entry without `mechanism` changes settings of the other variant's.
    """

    like: str | None = None  # another variant, from which all but the label is copied, then changed by the keys here
    label: str | None = None  # the name in tables; by default the variant's key
    # mechanisms by slot; slots that are not listed have the plain mechanism
    slots: dict[Slot, Any] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)  # changes to the keys of model
    training: dict[str, Any] = field(default_factory=dict)  # changes to the keys of training
    averaging: dict[str, Any] = field(default_factory=dict)  # changes to the keys of averaging
    decoding: dict[str, Any] = field(default_factory=dict)  # changes to the keys of decoding
    baseline: str | None = None  # the variant or external system that tables compare this one with
    # the test whose p-value marks the difference: bootstrap of compare-mt, of sacrebleu as in Moses, the sign test, or
    # approximate randomization
    test: SignificanceTest = "bootstrap"

    def __post_init__(self) -> None:
        _require_one_line(self.label)
        for slot, filling in self.slots.items():
            entries = filling if isinstance(filling, list) else [filling]
            require(
                len(entries) > 0 and all(isinstance(entry, dict) for entry in entries),
                f"slots.{slot} is {filling!r}; it must be {{mechanism: NAME, …}} or a list of such entries",
            )


@dataclass(frozen=True, kw_only=True)
class ExternalSettings(Checked):
    """A system that is not trained here: its translations are the files external/NAME/TEST.txt, as raw text.

    It is scored and compared like a variant. The one translation of a test set counts for every seed.
    """

    label: str | None = None  # the name in tables; by default the system's key
    baseline: str | None = None  # the variant or external system that tables compare this one with
    test: SignificanceTest = "bootstrap"  # see variants.NAME

    def __post_init__(self) -> None:
        _require_one_line(self.label)


def _require_one_line(label: str | None) -> None:
    require(not label or label.splitlines() == [label], f"label is {label!r}; it must be one line of text")


@dataclass(frozen=True, kw_only=True)
class Recipe(Checked):
    """The settings of one variant: the experiment's settings with the variant's changes."""

    units: UnitSettings
    slots: dict[Slot, Any]
    model: ModelSettings
    training: TrainingSettings
    averaging: AveragingSettings
    decoding: DecodingSettings

    @property
    def context_keys(self) -> list[str]:
        """The keys that make the variant read previous sentences."""
        joined = ["model.previous_sources"] if self.model.previous_sources else []
        return [f"slots.{slot}" for slot in output_slots(self.slots)] + joined

    def __post_init__(self) -> None:
        model, training, averaging, decoding = self.model, self.training, self.averaging, self.decoding
        masked, after_stacks = model.kind == "masked", output_slots(self.slots)
        kept = training.keep_last if averaging.select == "last" else training.keep_best
        require(
            averaging.count <= kept,
            f"averaging.count is {averaging.count}, but training.keep_{averaging.select} keeps only {kept}",
        )
        beam_key = "length_beam" if masked else "beam"
        beam_size = getattr(decoding, beam_key)
        require(
            decoding.n_best <= beam_size,
            f"decoding.n_best is {decoding.n_best}; where model.kind is {model.kind}, it must be at most"
            f" decoding.{beam_key} ({beam_size})",
        )
        require(
            model.tying != "all" or bool(self.units.joint),
            "model.tying is all, but units.joint is false: one table cannot hold two vocabularies;"
            " set model.tying to decoder or none, or units.joint to true",
        )
        sentences = 1 + model.previous_sources
        longest = (model.maximum_positions - masked) // sentences - 1
        require(
            training.maximum_sentence_length <= longest or not (masked or model.positions == "learned"),
            f"training.maximum_sentence_length is {training.maximum_sentence_length}; with learned positions or a"
            f" masked model it must be at most {longest}: model.maximum_positions ({model.maximum_positions})"
            f"{f' shared by {sentences} sentences' if sentences > 1 else ''} less one for END"
            f"{' and one for length 0' if masked else ''}",
        )
        schedule = training.schedule
        require(
            schedule.kind != "cosine" or schedule.warmup < training.maximum_updates,
            f"training.schedule.warmup is {schedule.warmup}; where its kind is cosine, it must be less than"
            f" training.maximum_updates ({training.maximum_updates})",
        )
        require(
            model.kind == "autoregressive" or not after_stacks,
            f"slots.{', '.join(after_stacks)} needs model.kind autoregressive, but model.kind is {model.kind}",
        )
        require(
            bool(after_stacks) or not decoding.reference_context,
            "decoding.reference_context is true, but this variant has no slot that reads previous sentences",
        )


@dataclass(frozen=True, kw_only=True)
class TrainingLists(Checked):
    """The lists of variants by training data and start; every variant is in exactly one list."""

    bitext: tuple[str, ...] = ()  # variants trained on the text as it is
    # at most one variant of bitext, whose run with a seed translates the source for the distilled runs with that seed
    teachers: tuple[str, ...] = ()
    distilled: tuple[str, ...] = ()  # variants trained on the source with the teacher's translations
    # variants trained on documents, starting from document_start's run with the same seed
    document: tuple[str, ...] = ()
    document_start: str | None = None  # a variant of bitext or distilled
    continued: tuple[str, ...] = ()  # like document, starting from continued_start
    continued_start: str | None = None  # a variant of bitext, distilled or document

    @property
    def everything(self) -> tuple[str, ...]:
        """The variants of all lists."""
        return (*self.bitext, *self.distilled, *self.document, *self.continued)

    def __post_init__(self) -> None:
        sentences = (*self.bitext, *self.distilled)
        for name, earlier in {"document": sentences, "continued": (*sentences, *self.document)}.items():
            start = getattr(self, f"{name}_start")
            if getattr(self, name) and start not in earlier:
                allowed = some_names(start, earlier)
                raise ValueError(f"{name}_start is {start!r}; for {name} to start from, it must be one of {allowed}")
        teachers = list(self.teachers)
        require(len(teachers) < 2, f"teachers is {teachers}; it must list at most one variant")
        if not set(teachers) <= set(self.bitext):
            allowed = some_names(teachers[0], self.bitext)
            raise ValueError(f"teachers is {teachers}; it must be one variant of bitext: {allowed}")
        require(bool(teachers) or not self.distilled, f"distilled is {list(self.distilled)}, but teachers is empty")


@dataclass(frozen=True, kw_only=True)
class ExperimentSettings(Checked):
    """A whole params.yaml."""

    root: str  # path of the project's folder, from the experiment's: `.`, or `../..` in experiments/NAME
    launch: LaunchSettings = LaunchSettings()
    download: tuple[str, ...] = ()  # corpora to make in data/, from ROOT/data/params.yaml; you provide all other text
    corpus: CorpusSettings
    text: TextSettings = TextSettings()
    units: UnitSettings = UnitSettings()
    model: ModelSettings = ModelSettings()
    training: TrainingSettings = TrainingSettings()
    averaging: AveragingSettings = AveragingSettings()
    decoding: DecodingSettings = DecodingSettings()
    significance: SignificanceSettings = SignificanceSettings()
    variants: dict[str, VariantSettings]  # the systems; names have only letters, digits, _ and -
    train: TrainingLists
    rescored: tuple[str, ...] = ()  # masked variants whose candidates, one per length, the teacher also rescores
    external: dict[str, ExternalSettings] = field(default_factory=dict)  # systems whose translations are files
    probing: ProbingSettings = ProbingSettings()
    seeds: tuple[Seed, ...]  # every variant has a run with each seed; tables show means over them
    focus: str  # the system that metrics/focus.json shows, for `dvc metrics diff`

    @property
    def systems(self) -> dict[str, VariantSettings | ExternalSettings]:
        """The systems that are scored and compared: all variants, then all external systems."""
        return {**self.variants, **self.external}

    def label(self, system: str) -> str:
        """Return the name of a system in tables and figures."""
        return self.systems[system].label or system

    def key(self, system: str) -> str:
        """Return the key of a system in params.yaml."""
        return f"{'variants' if system in self.variants else 'external'}.{system}"

    def recipe(self, variant: str, where: str = "params.yaml") -> Recipe:
        """Return the experiment's settings with the variant's changes; raise UserError for a wrong key or value."""
        changes = self.variants[variant]
        values = {"units": asdict(self.units), "slots": changes.slots}
        for section in ("model", "training", "averaging", "decoding"):
            values[section] = _merge(asdict(getattr(self, section)), getattr(changes, section))
        return check(Recipe, values, where=where, key=f"variants.{variant}")

    def __post_init__(self) -> None:
        require(len(self.seeds) > 0, "seeds is empty; it must list at least one seed")
        for key in ("seeds", "download", "rescored"):
            require_distinct(key, getattr(self, key))
        for side in ("source", "target"):
            require(
                not (self.units.untokenized and getattr(self.text, side).truecase),
                f"text.{side}.truecase is true, but units.kind is {self.units.kind}, which keeps the case of the text;"
                f" set text.{side}.truecase to false",
            )
        _require_file_names(self.corpus)
        train, probing, names = self.train, self.probing, list(self.variants)
        require(len(names) > 0, "variants is empty; it must have at least one variant")
        lists = {f"train.{key}": getattr(train, key) for key in ("bitext", "distilled", "document", "continued")}
        lists |= {f"probing.{key}": getattr(probing, key) for key in ("sentences", "words")}
        for key, variants in {**lists, "rescored": self.rescored}.items():
            for name in variants:
                _require_system(key, name, names, "variant")
        _require_system("focus", self.focus, list(self.systems))
        sets = (*self.corpus.tests, *self.corpus.groups, *self.corpus.contrastive)
        require(probing.tasks not in sets, f"probing.tasks is {probing.tasks!r}, which is also the name of a test set")
        kinds = {name: settings.model.get("kind", self.model.kind) for name, settings in self.variants.items()}
        for teacher in train.teachers:
            require(
                kinds[teacher] == "autoregressive" and not output_slots(self.variants[teacher].slots),
                f"train.teachers: {teacher} must be autoregressive and translate sentence by sentence; its kind is"
                f" {kinds[teacher]} and its slots are {list(self.variants[teacher].slots)}",
            )
        require(
            bool(train.teachers) or not self.rescored,
            f"rescored is {list(self.rescored)}, but train.teachers is empty",
        )
        for name in self.rescored:
            require(kinds[name] == "masked", f"rescored: {name!r} is {kinds[name]}; it must be a masked variant")
            require(
                self.variants[name].decoding.get("length_beam", self.decoding.length_beam) != 1,
                f"variants.{name}.decoding.length_beam is 1; under rescored, the teacher needs several lengths to"
                " choose from",
            )
        for name in self.external:
            require(name not in self.variants, f"external.{name} is also the name of a variant; choose another name")
        labels = dict[str, str]()
        for name, system in self.systems.items():
            section = self.key(name).partition(".")[0]
            same = labels.setdefault(self.label(name), name)
            require(same == name, f"{section}: {same} and {name} have the same label, {self.label(name)!r}; change one")
            require(
                re.fullmatch(r"\w[\w-]*", name, re.ASCII) is not None,
                f"{section}: {name!r} names files; it must be made of letters, digits, _ and -, and not start with -",
            )
            if system.baseline is not None:
                others = [other for other in self.systems if other != name]
                _require_system(f"{self.key(name)}.baseline", system.baseline, others)
        for name in self.variants:
            times = train.everything.count(name)
            require(times > 0, f"variants.{name} is in no list under train; add it to one, such as train.bitext")
            require(times < 2, f"variants.{name} is in {times} lists under train; it must be in exactly one")


def _require_file_names(corpus: CorpusSettings) -> None:
    """Raise ValueError for a split, test set or language whose name cannot name files, or names other files."""
    splits = {"train": [corpus.train], "validation": [corpus.validation], "tests": corpus.tests}
    splits["contrastive"] = corpus.contrastive
    for key, names in {**splits, "source": [corpus.source], "target": [corpus.target]}.items():
        for name in names:
            require(
                re.fullmatch(r"\w[\w.-]*", name) is not None,
                f"corpus.{key}: {name!r} names files; it must be made of letters, digits, '.', '_' and '-', and not"
                " start with '.' or '-'",
            )
            require(
                key not in splits or name not in UNIT_FILES,
                f"corpus.{key}: {name!r} is also the name of unit files, runs/subwords/{name}.LANGUAGE; choose another",
            )


def _require_system(key: str, name: str, names: list[str], kind: str = "system") -> None:
    if name not in names:
        raise ValueError(f"{key}: no {kind} {name!r}; there are {some_names(name, names)}")


def read_parameters(path: Path) -> ExperimentSettings:
    """Read and check a params.yaml, and resolve `like` in every variant; raise UserError for a wrong key or value."""
    return check_parameters(read_yaml(path), str(path))


def check_parameters(values: Any, where: str) -> ExperimentSettings:
    """Check the values of a params.yaml; raise UserError, which starts with `where`, for a wrong key or value."""
    if isinstance(values, dict) and "launch" in values:
        values = values | {"launch": with_commands(values["launch"])}
    if isinstance(values, dict) and isinstance(values.get("variants"), dict):
        variants = values["variants"]
        values = values | {"variants": {name: _resolve_like(variants, name, (), where) for name in variants}}
    settings = check(ExperimentSettings, values, where=where)
    for variant in settings.variants:
        settings.recipe(variant, where=where)
    return settings


def _resolve_like(variants: dict[Any, Any], name: Any, above: tuple[Any, ...], where: str) -> Any:
    """Return a variant with the keys that it inherits through `like`; the variants `above` inherit from it."""
    variant = variants[name]
    base_name = variant.get("like") if isinstance(variant, dict) else None
    if not isinstance(base_name, str):  # no `like`, or not a name, which is refused later
        return variant
    key, path = f"{where}: variants.{name}.like", (*above, name)
    if base_name in path:
        raise UserError(f"{key}: {' is like '.join(map(str, [*path, base_name]))}, a circle")
    if base_name not in variants:
        raise UserError(f"{key}: no variant {base_name!r}; there are {some_names(base_name, [*map(str, variants)])}")
    base = _resolve_like(variants, base_name, path, where)
    if not isinstance(base, dict):
        return variant
    return _merge({section: base[section] for section in base if section != "label"}, variant)


def _merge(base: dict[Any, Any], changes: dict[Any, Any]) -> dict[Any, Any]:
    """Merge `changes` into a table key by key; a slot that names a mechanism is replaced as a whole."""
    merged = base | changes
    for key in base.keys() & changes.keys():
        if isinstance(base[key], dict) and isinstance(changes[key], dict) and "mechanism" not in changes[key]:
            merged[key] = _merge(base[key], changes[key])
    return merged


class Training(NamedTuple):
    """How a variant is trained: its stage of dvc.yaml, the variant it starts from, and the teacher it learns from."""

    stage: str
    start: str | None = None
    teacher: str | None = None


def training_of(train: TrainingLists, variant: str) -> Training:
    """Return how a variant is trained."""
    if variant in train.distilled:
        return Training("train_distilled", teacher=train.teachers[0])
    if variant in train.document:
        return Training("train_document", start=train.document_start)
    if variant in train.continued:
        return Training("train_continued", start=train.continued_start)
    return Training("train")


def with_lineage(settings: ExperimentSettings, systems: Iterable[str]) -> set[str]:
    """Return systems with all systems that they start from, learn from or are compared with, directly or not."""
    needed, unvisited = set[str](), [*systems]
    while unvisited:
        if (name := unvisited.pop()) not in needed:
            needed.add(name)
            _, start, teacher = training_of(settings.train, name)
            teachers = settings.train.teachers if name in settings.rescored else ()
            unvisited += filter(None, (settings.systems[name].baseline, start, teacher, *teachers))
    return needed


def experiment_folder(path_or_name: Path) -> Path:
    """Return an experiment's folder, given its path or its name in `experiments/`; raise UserError if not found."""
    for folder in (path_or_name, "experiments" / path_or_name):
        if (folder / "params.yaml").is_file():
            return folder
    experiments = sorted(path.parent.name for path in Path("experiments").glob("*/params.yaml"))
    names = some_names(path_or_name.name, experiments) or "none"
    raise UserError(f"{path_or_name}: no experiment (no params.yaml); in experiments/ there are {names}")


class Experiment(Layout):
    """A folder with a params.yaml; stages that read only plans take a `Layout` or `RunLayout` instead."""

    @cached_property
    def settings(self) -> ExperimentSettings:
        """The checked content of params.yaml; raise UserError for a wrong key or value."""
        return read_parameters(self.parameters)

    @property
    def corpus(self) -> Path:
        """The folder of raw text."""
        return self.data(self.settings.corpus.name)

    @property
    def speeds(self) -> Path:
        """The measured speeds of variants, `ROOT/benchmarks/variants.json`."""
        return self.folder / self.settings.root / "benchmarks" / "variants.json"
