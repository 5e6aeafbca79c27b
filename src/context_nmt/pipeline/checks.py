"""Check experiments before they run: copies of dvc.yaml, settings, models and the availability of their text."""

import configparser
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.events import AliasEvent

from context_nmt.code_closure import OLD, old_code_files
from context_nmt.corpus.catalogue import CorpusEntry, read_catalogue, read_entry
from context_nmt.corpus.documents import documents_file
from context_nmt.files import UserError, read_yaml
from context_nmt.miniature.contrasts import CONTRASTIVE_SETS
from context_nmt.pipeline.new_experiment import own_repository
from context_nmt.progress import tracked
from context_nmt.settings.checking import some_names
from context_nmt.settings.miniature import MiniatureSettings
from context_nmt.settings.parameters import ExperimentSettings, read_parameters

GENERATED = {f"{split}.{ending}" for split in ("train", "valid", "test") for ending in ("en", "de", "documents")}


def experiments(root: Path) -> list[Path]:
    """Return the folders of all experiments, the default one (the root) first."""
    return [root, *sorted(path for path in (root / "experiments").glob("*") if path.is_dir())]


def check_experiments(root: Path) -> int:
    """Check all experiments of a project and return their number; raise UserError with a line per problem."""
    folders = experiments(root)
    problems = []
    for names in read_catalogue(root / "data" / "params.yaml").values():
        for name in names:
            try:
                read_entry(root / "data" / "params.yaml", name)
            except UserError as error:
                problems.append(str(error))
    if outdated := old_code_files(root):
        problems.append(OLD.format(files=", ".join(outdated), root=root.resolve()))
    for folder in tracked(folders, "experiments", len(folders), "experiments"):
        problems += [*_folder_problems(root, folder), *dict.fromkeys(_model_problems(folder))]
    if problems:
        raise UserError("\n".join(problems))
    return len(folders)


def check_before_run(root: Path, folder: Path) -> None:
    """Check one experiment and the availability of its corpus, but not its models; raise UserError for problems.

    The plan stage checks the models.
    """
    folder = root if folder.resolve() == root.resolve() else folder
    if problems := list(_folder_problems(root, folder)):
        raise UserError("\n".join(problems))
    check_corpus(root, folder / "params.yaml")


def check_corpus(root: Path, parameters: Path) -> None:
    """Raise UserError, with a line per problem, for a corpus that is neither there nor under download."""
    if problems := list(_corpus_problems(root, parameters)):
        raise UserError("\n".join(problems))


def _folder_problems(root: Path, folder: Path) -> Iterator[str]:
    if folder != root:
        yield from _copy_problems(root / "dvc.yaml", folder / "dvc.yaml")
        for name, content in own_repository(root).items():
            yield from _lacking(folder / name, content)
    path, expected = folder / "params.yaml", "." if folder == root else "../.."
    try:
        settings = read_parameters(path)
    except UserError as error:
        yield str(error)
        return
    yield from _alias_problems(path)
    yield from _missing_keys(root / "dvc.yaml", path)
    if settings.root != expected:
        yield f"{path}: root is {settings.root!r}; here it must be {expected!r}"
    yield from (f"{path}: {problem}" for problem in _baseline_problems(settings))
    for teacher in settings.train.teachers:
        if not settings.train.distilled and not settings.rescored:
            yield (
                f"{path}: train.teachers: no variant learns from {teacher}; list its students under"
                " train.distilled, or write `teachers: []`"
            )
    for key in ("bitext", "distilled"):
        for variant in getattr(settings.train, key):
            if keys := settings.recipe(variant).looking_back:
                yield (
                    f"{path}: train.{key}: {variant} looks at previous sentences ({keys[0]}), but is trained without"
                    " documents; list it under train.document or train.continued"
                )


def _baseline_problems(settings: ExperimentSettings) -> Iterator[str]:
    """Yield a problem for each circle of baselines, which has no plain system at its end."""
    for name in settings.variants:
        chain = [name]
        while (baseline := settings.variants[chain[-1]].baseline) and baseline not in chain:
            chain.append(baseline)
        if baseline == name == min(chain):
            circle = ", ".join(f"{variant} with {settings.variants[variant].baseline}" for variant in chain)
            yield f"variants.{name}.baseline: a circle compares {circle}; one of them must have no baseline"


def _model_problems(folder: Path) -> Iterator[str]:
    from context_nmt.pipeline.planning import check_variant  # loads torch

    try:
        settings = read_parameters(folder / "params.yaml")
    except UserError:  # see _folder_problems
        return
    for variant in settings.variants:
        try:
            check_variant(settings, variant)
        except UserError as error:
            yield f"{folder}/{error}"


def _copy_problems(original: Path, copy: Path) -> Iterator[str]:
    command = f"cp {original} {copy.parent}/"
    if copy.is_symlink():
        yield f"{copy}: a link, which DVC cannot read in older revisions; make it a copy: {command}"
    elif not copy.is_file():
        yield f"{copy}: no such file; copy it: {command}"
    elif copy.read_bytes() != original.read_bytes():
        yield f"{copy}: differs from {original}; copy it again: {command}"


def _lacking(path: Path, content: str) -> Iterator[str]:
    """Yield a problem for each line or setting of a new experiment that a file lacks; it may have others, too."""
    new = "a new experiment has, see context_nmt/pipeline/new_experiment.py"
    given = path.read_text(encoding="utf-8") if path.is_file() else ""
    if path.name != "config":
        for line in sorted(set(content.splitlines()) - set(given.splitlines())):
            yield f"{path}: lacks the line {line}, which {new}"
        return
    config, expected = ConfigParser(interpolation=None), ConfigParser(interpolation=None)
    expected.read_string(content)
    try:
        config.read_string(given)
    except configparser.Error as error:
        yield f"{path}: not a configuration of DVC ({' '.join(str(error).split())})"
        return
    for section in expected.sections():
        for key, value in expected[section].items():
            if (found := config.get(section, key, fallback=None)) != value:
                yield f"{path}: {section}.{key} is {found!r}; it must be {value!r}, which {new}"


def _alias_problems(parameters: Path) -> Iterator[str]:
    """Yield a problem for each YAML alias.

    `dvc exp run -S` writes into the shared value: another variant changes with it, or the change is lost.
    """
    for event in YAML(typ="safe").parse(parameters.read_text(encoding="utf-8")):
        if isinstance(event, AliasEvent):
            line = event.start_mark.line + 1
            yield (
                f"{parameters}: line {line}: *{event.anchor} is an alias, which `dvc exp run -S` breaks; write it out"
            )


def _missing_keys(pipeline: Path, parameters: Path) -> Iterator[str]:
    """Yield a problem for each key that dvc.yaml names and params.yaml lacks: DVC requires all of them."""
    stages, values = read_yaml(pipeline)["stages"].values(), read_yaml(parameters)
    defaults = {key: "{}" for stage in stages for key in stage.get("params", [])}
    defaults |= {f"{items}".strip("${}"): "[]" for stage in stages for items in stage.get("matrix", {}).values()}
    parents = {key.rpartition(".")[0] for key in defaults}
    for key, default in sorted(defaults.items()):
        parent, _, name = key.rpartition(".")
        if key not in parents and name not in ((values.get(parent) or {}) if parent else values):
            yield f"{parameters}: {key}: dvc.yaml reads this key; write `{name}: {default}` for its default"


def _corpus_problems(root: Path, parameters: Path) -> Iterator[str]:
    """Yield a problem, with its key, for each missing text or set.

    DVC, or a stage, would report it only after it has removed earlier outputs.
    """
    settings, catalogue = read_parameters(parameters), root / "data" / "params.yaml"
    corpus, entries = settings.corpus, {}
    for name in settings.download:
        try:
            entries[name] = read_entry(catalogue, name)
        except UserError as error:
            yield f"{parameters}: download: {error}"
    data = parameters.parent / "data"
    for key, folder in (("corpus.name", corpus.name), ("probing.tasks", settings.probing.tasks)):
        if folder is not None and not Path(folder).parts:
            yield f"{parameters}: {key} is empty; it must name a folder in {data}"
        elif folder is not None and Path(folder).parts[0] not in settings.download and not (data / folder).is_dir():
            known = some_names(folder, [known for names in read_catalogue(catalogue).values() for known in names])
            yield (
                f"{parameters}: {key}: no folder {data / folder}; put your text there (or a link to it), or list one of"
                f" {known} under download"
            )
    entry = entries.get(corpus.name)
    known_sets = entry.contrastive_sets if isinstance(entry, CorpusEntry) else CONTRASTIVE_SETS
    if extra := sorted(set(corpus.contrastive) - set(known_sets)) if entry else []:
        yield (
            f"{parameters}: corpus.contrastive: {extra}: {corpus.name} has {', '.join(known_sets) or 'no such sets'},"
            " and files of your own in its folder would be removed; copy the folder to another name in data/ and give"
            " this as corpus.name"
        )
    files = _corpus_files(data / corpus.name, entry)
    if files is not None:
        yield from _text_problems(settings, files, parameters)
    ending = f".{corpus.direction}.jsonl"
    present_sets = {name.removesuffix(ending) for name in files or () if name.endswith(ending)}
    if files is not None and not entry and (missing := sorted(set(corpus.contrastive) - present_sets)):
        yield (
            f"{parameters}: corpus.contrastive: {missing}: no file {data / corpus.name}/SET.{corpus.direction}.jsonl;"
            f" the sets there are {sorted(present_sets)}"
        )


def _corpus_files(folder: Path, entry: CorpusEntry | MiniatureSettings | None) -> set[str] | None:
    """Return the names of the files that a corpus has or will have; None if only its download can tell."""
    if isinstance(entry, CorpusEntry):
        return entry.texts
    if folder.is_dir():
        return {path.name for path in folder.iterdir()}
    return GENERATED if entry else set()


def _text_problems(settings: ExperimentSettings, files: set[str], parameters: Path) -> Iterator[str]:
    corpus, train = settings.corpus, settings.train
    sides = [
        {name.rpartition(".")[0] for name in files if name.endswith(f".{language}")}
        for language in (corpus.source, corpus.target)
    ]
    known = sorted(sides[0] & sides[1])
    for key, names in (("train", [corpus.train]), ("validation", [corpus.validation]), ("tests", corpus.tests)):
        if missing := ", ".join(name for name in names if name not in known):
            available = f"data/{corpus.name} has {', '.join(known) or 'none'} in {corpus.source} and {corpus.target}"
            yield f"{parameters}: corpus.{key}: no text {missing}; {available}"
    variants = ", ".join([*train.document, *train.continued])
    for split in (corpus.train, corpus.validation) if variants else ():
        path = documents_file(Path("data") / corpus.name, split)
        if path.name not in files:
            yield (
                f"{parameters}: train.document, train.continued: {variants} need documents, but there is no {path},"
                " which holds the line number of each document's first sentence, from 0"
            )
