"""All keys of a params.yaml, and the function that reads it."""

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from context_nmt.files import UserError, read_yaml
from context_nmt.settings import Checked, Seed, require, require_distinct
from context_nmt.settings.checking import check, some_names
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.evaluation import ProbingSettings, SignificanceSettings
from context_nmt.settings.launch import LaunchSettings, with_commands
from context_nmt.settings.model import ModelSettings, output_slots
from context_nmt.settings.text import CorpusSettings, TextSettings, UnitSettings
from context_nmt.settings.training import AveragingSettings, TrainingSettings
from context_nmt.settings.variants import Recipe, VariantSettings

OF_UNITS = ("codes", "vocabulary")  # files in runs/subwords, which has the splits, too


@dataclass(frozen=True, kw_only=True)
class TrainSettings(Checked):
    """The training data of each variant; every variant is in exactly one list."""

    bitext: tuple[str, ...] = ()  # variants trained on the text as it is
    # at most one variant of bitext: its run with the first seed translates the source for distilled
    teachers: tuple[str, ...] = ()
    distilled: tuple[str, ...] = ()  # variants trained on the source with the teacher's translations
    # variants trained on documents, starting from the run of document_start with the same seed
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
                known = some_names(start, earlier)
                raise ValueError(f"{name}_start is {start!r}; for {name} to start from, it must be one of {known}")
        teachers = list(self.teachers)
        require(len(teachers) < 2, f"teachers is {teachers}; it must list at most one variant")
        if not set(teachers) <= set(self.bitext):
            known = some_names(teachers[0], self.bitext)
            raise ValueError(f"teachers is {teachers}; it must be one of those in bitext, {known}")
        require(bool(teachers) or not self.distilled, f"distilled is {list(self.distilled)}, but teachers is empty")


@dataclass(frozen=True, kw_only=True)
class ExperimentSettings(Checked):
    """A whole params.yaml."""

    root: str  # path of the project's folder, from the experiment's: `.`, or `../..` in experiments/NAME
    launch: LaunchSettings = LaunchSettings()
    download: tuple[str, ...] = ()  # corpora to make in data/: entries of ROOT/data/params.yaml; other text is your own
    corpus: CorpusSettings
    text: TextSettings = TextSettings()
    units: UnitSettings = UnitSettings()
    model: ModelSettings = ModelSettings()
    training: TrainingSettings = TrainingSettings()
    averaging: AveragingSettings = AveragingSettings()
    decoding: DecodingSettings = DecodingSettings()
    significance: SignificanceSettings = SignificanceSettings()
    variants: dict[str, VariantSettings]  # the systems by name, which is made of letters, digits, _ and -
    train: TrainSettings
    rescored: tuple[str, ...] = ()  # masked variants whose candidates, one per length, the teacher also chooses among
    probing: ProbingSettings = ProbingSettings()
    seeds: tuple[Seed, ...]  # a run of every variant for each; tables show means over them
    focus: str  # the variant that metrics/focus.json shows, for `dvc metrics diff`

    def label(self, variant: str) -> str:
        """Return the name of a variant in tables and figures."""
        return self.variants[variant].label or variant

    def recipe(self, variant: str, where: str = "params.yaml") -> Recipe:
        """Return the experiment's settings with the variant's changes; raise UserError for wrong ones."""
        changes = self.variants[variant]
        values = {"units": asdict(self.units), "slots": changes.slots}
        for section in ("model", "training", "averaging", "decoding"):
            values[section] = _merged(asdict(getattr(self, section)), getattr(changes, section))
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
        _require_variant("focus", self.focus, names)
        variants_by_key = {
            f"train.{key}": getattr(train, key) for key in ("bitext", "distilled", "document", "continued")
        }
        variants_by_key |= {
            "probing.sentences": probing.sentences,
            "probing.words": probing.words,
            "rescored": self.rescored,
        }
        for key, variants in variants_by_key.items():
            for name in variants:
                _require_variant(key, name, names)
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
                f"variants.{name}.decoding.length_beam is 1; the teacher under rescored needs several lengths to choose"
                " from",
            )
        labels = dict[str, str]()
        for name, variant in self.variants.items():
            same = labels.setdefault(self.label(name), name)
            require(same == name, f"variants: {same} and {name} have the same label, {self.label(name)!r}; change one")
            require(
                re.fullmatch(r"\w[\w-]*", name, re.ASCII) is not None,
                f"variants: {name!r} names files; it must be made of letters, digits, _ and -, and not start with -",
            )
            times = train.everything.count(name)
            require(times > 0, f"variants.{name} is in no list under train; add it to one, such as train.bitext")
            require(times < 2, f"variants.{name} is in {times} lists under train; it must be in exactly one")
            if variant.baseline is not None:
                others = [other for other in names if other != name]
                _require_variant(f"variants.{name}.baseline", variant.baseline, others)


def _require_file_names(corpus: CorpusSettings) -> None:
    """Raise ValueError for a split, a set or a language whose name cannot be that of files, or is that of others."""
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
                key not in splits or name not in OF_UNITS,
                f"corpus.{key}: {name!r} is the name of files of units, runs/subwords/{name}.LANGUAGE; choose another",
            )


def _require_variant(key: str, name: str, names: list[str]) -> None:
    if name not in names:
        raise ValueError(f"{key}: no variant {name!r}; there are {some_names(name, names)}")


def read_parameters(path: Path) -> ExperimentSettings:
    """Read and check a params.yaml, with `like` resolved in every variant; raise UserError for wrong keys."""
    return check_parameters(read_yaml(path), str(path))


def check_parameters(values: Any, where: str) -> ExperimentSettings:
    """Check the values of a params.yaml; raise UserError, with `where` they are from, for wrong keys."""
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
    """Return a variant with the keys that it takes from the variant under its `like`."""
    variant = variants[name]
    base_name = variant.get("like") if isinstance(variant, dict) else None
    if not isinstance(base_name, str):  # none, or no name, which is refused later
        return variant
    key, path = f"{where}: variants.{name}.like", (*above, name)
    if base_name in path:
        raise UserError(f"{key}: {' is like '.join(map(str, [*path, base_name]))}, a circle")
    if base_name not in variants:
        raise UserError(f"{key}: no variant {base_name!r}; there are {some_names(base_name, [*map(str, variants)])}")
    base = _resolve_like(variants, base_name, path, where)
    return (
        _merged({section: base[section] for section in base if section != "label"}, variant)
        if isinstance(base, dict)
        else variant
    )


def _merged(base: dict[Any, Any], changes: dict[Any, Any]) -> dict[Any, Any]:
    """Change a table key by key; a slot that names a mechanism is replaced as a whole."""
    merged = base | changes
    for key in base.keys() & changes.keys():
        if isinstance(base[key], dict) and isinstance(changes[key], dict) and "mechanism" not in changes[key]:
            merged[key] = _merged(base[key], changes[key])
    return merged
