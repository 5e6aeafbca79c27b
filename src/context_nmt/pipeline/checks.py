"""Check experiments before they run: copies of dvc.yaml, settings, models, and whether their text is available."""

from collections.abc import Callable, Iterator
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.events import AliasEvent

from context_nmt.code_closure import (
    LOADED_BY_NAME_FILE,
    OUTDATED_MESSAGE,
    closure,
    module_file,
    outdated_code_files,
    stage_closure,
    stages,
)
from context_nmt.corpus.catalogue import CorpusEntry, read_catalogue, read_entry
from context_nmt.corpus.documents import documents_file
from context_nmt.files import UserError, read_json, read_yaml
from context_nmt.miniature.contrasts import CONTRASTIVE_SETS
from context_nmt.pipeline.new_experiment import repository_files
from context_nmt.progress import tracked
from context_nmt.settings import some_names
from context_nmt.settings.layout import Layout
from context_nmt.settings.parameters import ExperimentSettings, read_parameters, training_of

GENERATED_FILES = {f"{split}.{ending}" for split in ("train", "valid", "test") for ending in ("en", "de", "documents")}


def experiments(root: Path) -> list[Path]:
    """Return the folders of all experiments, the default one (the root) first."""
    return [root, *sorted(path for path in (root / "experiments").glob("*") if path.is_dir())]


def check_experiments(root: Path, built: set[str] | None = None) -> int:
    """Check all experiments of a project and return their number; raise UserError with one line per problem.

    Experiments share models, and most of the time is for building them: models in `built` are not built again, and
    those that could be built are added.
    """
    built = set() if built is None else built
    folders, catalogue = experiments(root), root / "data/params.yaml"
    problems = []
    for name in (name for names in read_catalogue(catalogue).values() for name in names):
        problems += _errors(read_entry, catalogue, name)
    if outdated := outdated_code_files(root):
        problems.append(OUTDATED_MESSAGE.format(files=", ".join(outdated), root=root.resolve()))
    for folder in tracked(folders, "experiments", len(folders), "experiments"):
        problems += _folder_problems(root, folder)
        if not _errors(read_parameters, folder / "params.yaml"):
            errors = dict.fromkeys(_model_problems(read_parameters(folder / "params.yaml"), built))
            problems += [f"{folder}/{error}" for error in errors]
    _refuse(problems)
    return len(folders)


def affected_code(root: Path, file: Path) -> tuple[list[str], list[str]]:
    """Return the stages that can run a file of the project, and the modules named by plans that contain it.

    Raise UserError if the project does not have the file.
    """
    if not file.is_file() or not file.resolve().is_relative_to(root.resolve()):
        raise UserError(f"--affected is {file}; it must be a file of the project")
    name = str(file.resolve().relative_to(root.resolve()))
    stage_names = [stage for stage in stages(root) if stage != "code" and name in stage_closure(root, stage)]
    modules = set(read_json(root / "src/code" / LOADED_BY_NAME_FILE))
    for folder in experiments(root):
        for plan in folder.glob("metrics/plans/*/training.json"):
            modules |= read_json(plan).get("code", {}).keys()
    return stage_names, [module for module in sorted(modules) if name in closure(root, module_file(module, root))]


def check_before_run(root: Path, folder: Path, *, with_corpus: bool = True) -> None:
    """Check one experiment except its models, which the plan stage checks; raise UserError with one line per problem.

    Its corpus must exist or be listed under `download`.
    """
    folder = root if folder.resolve() == root.resolve() else folder
    _refuse([*_folder_problems(root, folder)])
    path = folder / "params.yaml"
    if with_corpus:
        settings = read_parameters(path)
        problems = [*_corpus_problems(root, folder / "data", settings), *_external_problems(folder, settings)]
        _refuse([f"{path}: {problem}" for problem in problems])


def _errors(check: Callable[..., object], *arguments: object) -> list[str]:
    """Return the message of the UserError that a call raises, in a list, which is empty if it raises none."""
    try:
        check(*arguments)
    except UserError as error:
        return [str(error)]
    return []


def _refuse(problems: list[str]) -> None:
    if problems:
        raise UserError("\n".join(problems))


def _folder_problems(root: Path, folder: Path) -> Iterator[str]:
    path = folder / "params.yaml"
    if folder != root:
        yield from _copy_problems(root / "dvc.yaml", folder / "dvc.yaml")
        for name, content in repository_files(root).items():  # the files may also have other lines
            text = (folder / name).read_text(encoding="utf-8") if (folder / name).is_file() else ""
            lines = {line.partition("=")[0].strip(): line.strip() for line in text.splitlines()}
            for line in map(str.strip, content.splitlines()):
                key = line.partition("=")[0].strip()
                if lines.get(key) != line:
                    problem = f"has {lines[key]!r}" if key in lines else "lacks a line"
                    yield f"{folder / name}: {problem}; it must be {line!r}, as in a new experiment"
    if errors := _errors(read_parameters, path):
        yield from errors
        return
    yield from (f"{path}: {problem}" for problem in _file_problems(root / "dvc.yaml", path))
    expected = "." if folder == root else "../.."
    yield from (f"{path}: {problem}" for problem in _setting_problems(read_parameters(path), expected))


def _copy_problems(original: Path, copy: Path) -> Iterator[str]:
    command = f"cp {original} {copy.parent}/"
    if copy.is_symlink():
        yield f"{copy}: a link, which DVC cannot read in older revisions; replace it by a copy: {command}"
    elif not copy.is_file():
        yield f"{copy}: no such file; copy it: {command}"
    elif copy.read_bytes() != original.read_bytes():
        yield f"{copy}: differs from {original}; copy it again: {command}"


def _file_problems(pipeline: Path, parameters: Path) -> Iterator[str]:
    """Yield a problem for each YAML alias in a params.yaml, and for each missing key that dvc.yaml reads.

    `dvc exp run -S` writes into the shared value of an alias: another variant changes with it, or the change is lost.
    """
    for event in YAML(typ="safe").parse(parameters.read_text(encoding="utf-8")):
        if isinstance(event, AliasEvent):
            line = event.start_mark.line + 1
            yield f"line {line}: *{event.anchor} is an alias, which `dvc exp run -S` breaks; write it out"
    stages, values = read_yaml(pipeline)["stages"].values(), read_yaml(parameters)
    defaults = {key: "{}" for stage in stages for key in stage.get("params", [])}
    matrices = {f"{items}".strip("${}") for stage in stages for items in stage.get("matrix", {}).values()}
    defaults |= {key: "{}" if key == "external" else "[]" for key in matrices}  # external maps names to settings
    parents = {key.rpartition(".")[0] for key in defaults}
    for key, default in sorted(defaults.items()):
        parent, _, name = key.rpartition(".")
        if key not in parents and name not in ((values.get(parent) or {}) if parent else values):
            yield f"{key}: dvc.yaml reads this key; write `{name}: {default}` for its default"


def _setting_problems(settings: ExperimentSettings, root: str) -> Iterator[str]:
    train = settings.train
    if settings.root != root:
        yield f"root is {settings.root!r}; here it must be {root!r}"
    if "bleu" not in settings.significance.metric:
        yield f"significance.metric is {settings.significance.metric!r}; ceilings are in BLEU: choose a BLEU"
    for name in settings.systems:  # in a circle of baselines, no system is the last baseline
        chain = [name]
        while (baseline := settings.systems[chain[-1]].baseline) and baseline not in chain:
            chain.append(baseline)
        if baseline == name == min(chain):
            circle = " -> ".join([*chain, name])
            yield f"{settings.key(name)}.baseline: the baselines form a circle, {circle}; remove one of them"
    for teacher in () if train.distilled or settings.rescored else train.teachers:
        yield (
            f"train.teachers: no variant learns from {teacher}; list its students under train.distilled, or write"
            " `teachers: []`"
        )
    for key in ("bitext", "distilled"):
        for variant in getattr(train, key):
            if keys := settings.recipe(variant).context_keys:
                yield (
                    f"train.{key}: {variant} looks at previous sentences ({keys[0]}), but is trained without documents;"
                    " list it under train.document or train.continued"
                )


def _model_problems(settings: ExperimentSettings, built: set[str]) -> Iterator[str]:
    from context_nmt.pipeline.planning import check_variant  # loads torch

    for variant in settings.variants:
        names = filter(None, (variant, training_of(settings.train, variant).start))
        models = repr([(recipe.model, recipe.slots) for recipe in map(settings.recipe, names)])
        if models in built:
            continue
        errors = _errors(check_variant, settings, variant)
        if not errors:
            built.add(models)
        yield from errors


def _external_problems(folder: Path, settings: ExperimentSettings) -> Iterator[str]:
    for system in settings.external:
        paths = [Layout(folder).external(system) / f"{test}.txt" for test in settings.corpus.tests]
        if missing := [path for path in paths if not path.is_file()]:
            names = ", ".join(map(str, missing))
            yield f"external.{system}: no file {names}; put the translations there, a line for each sentence"


def _corpus_problems(root: Path, data: Path, settings: ExperimentSettings) -> Iterator[str]:
    """Yield a problem, with its key, for each missing text or contrastive set.

    DVC or a stage would report it only after removing earlier outputs.
    """
    catalogue, corpus, train = root / "data/params.yaml", settings.corpus, settings.train
    for name in settings.download:
        yield from (f"download: {error}" for error in _errors(read_entry, catalogue, name))
    for key, text in (("corpus.name", corpus.name), ("probing.tasks", settings.probing.tasks)):
        if text is not None and not Path(text).parts:
            yield f"{key} is empty; it must name a folder in {data}"
        elif text is not None and Path(text).parts[0] not in settings.download and not (data / text).is_dir():
            listed = some_names(text, [name for entries in read_catalogue(catalogue).values() for name in entries])
            yield (
                f"{key}: no folder {data / text}; put your text there (or a link to it), or list one of {listed} under"
                " download"
            )
    is_downloaded = corpus.name in settings.download and not _errors(read_entry, catalogue, corpus.name)
    entry = read_entry(catalogue, corpus.name) if is_downloaded else None
    folder = data / corpus.name
    if isinstance(entry, CorpusEntry):
        files = entry.texts  # the files that it will have; None if only the download shows them
    elif folder.is_dir():
        files = {path.name for path in folder.iterdir()}
    else:
        files = GENERATED_FILES if entry else set()
    ending = f".{corpus.direction}.jsonl"
    user_sets = {name.removesuffix(ending) for name in files or () if name.endswith(ending)}
    corpus_sets = entry.contrastive_sets if isinstance(entry, CorpusEntry) else CONTRASTIVE_SETS if entry else user_sets
    extra = sorted({*corpus.contrastive} - {*corpus_sets})
    if extra and entry:
        yield (
            f"corpus.contrastive: {extra}: {corpus.name} has {', '.join(corpus_sets) or 'no such sets'}, and files of"
            " your own in its folder would be removed; copy the folder to another name in data/ and give this as"
            " corpus.name"
        )
    if files is None:
        return
    splits_by_side = [
        {name.rpartition(".")[0] for name in files if name.endswith(f".{language}")}
        for language in (corpus.source, corpus.target)
    ]
    splits = sorted(set.intersection(*splits_by_side))
    for key, names in (("train", [corpus.train]), ("validation", [corpus.validation]), ("tests", corpus.tests)):
        if missing := ", ".join(name for name in names if name not in splits):
            available = f"data/{corpus.name} has {', '.join(splits) or 'none'} in {corpus.source} and {corpus.target}"
            yield f"corpus.{key}: no text {missing}; {available}"
    variants = ", ".join([*train.document, *train.continued])
    for split in (corpus.train, corpus.validation) if variants else ():
        path = documents_file(Path("data") / corpus.name, split)
        if path.name not in files:
            yield (
                f"train.document, train.continued: {variants} need documents, but there is no {path}, with the line"
                " number of each document's first sentence, from 0"
            )
    if extra and not entry:
        yield (
            f"corpus.contrastive: {extra}: no file {folder}/SET.{corpus.direction}.jsonl; the sets there are"
            f" {sorted(user_sets)}"
        )
