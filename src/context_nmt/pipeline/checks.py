"""What `make check` asks of the experiments: equal copies of dvc.yaml, teachers, and variants that can be built."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import yaml

from context_nmt.code_closure import OLD, old_code_files
from context_nmt.corpus.catalogue import read_catalogue, read_entry
from context_nmt.corpus.documents import documents_file
from context_nmt.files import UserError
from context_nmt.miniature.contrasts import CONTRASTIVE_SETS
from context_nmt.pipeline.new_experiment import OWN_REPOSITORY
from context_nmt.pipeline.planning import plan
from context_nmt.settings.checking import read_yaml
from context_nmt.settings.experiment import ExperimentSettings
from context_nmt.settings.model import OutputSlot
from context_nmt.settings.parameters import read_parameters

SPLITS, LANGUAGES = ("train", "valid", "test"), {"en", "de"}  # of a generated corpus
PROBING = {"sentences": "[]", "tasks": "null", "words": "[]", "sentence_classifier": "{}", "word_classifier": "{}"}


def experiments(root: Path) -> list[Path]:
    """The folders of all experiments, the default one (the root) first."""
    return [root, *sorted(path for path in (root / "experiments").glob("*") if path.is_dir())]


def check_experiments(root: Path) -> int:
    """Check all experiments of a project and return their number; raises UserError with a line per problem."""
    folders = experiments(root)
    problems = [*_data_problems(root / "data" / "params.yaml"), *_code_problems(root)]
    problems += [problem for folder in folders for problem in find_problems(root, folder)]
    if problems:
        raise UserError("\n".join(problems))
    return len(folders)


def check_before_run(root: Path, folder: Path) -> None:
    """Check one experiment, but for its models, and that its corpus can be had; raises UserError."""
    folder = root if folder.resolve() == root.resolve() else folder
    problems = list(find_problems(root, folder, with_models=False)) or list(
        _corpus_problems(root, folder / "params.yaml")
    )
    if problems:
        raise UserError("\n".join(problems))


def _corpus_problems(root: Path, parameters: Path) -> Iterator[str]:
    """DVC would stop at a missing corpus too, without the key, and after it has removed the earlier output."""
    settings = read_parameters(parameters)
    corpus, tasks, made = settings.corpus, settings.probing.tasks, settings.download
    catalogue = read_catalogue(root / "data" / "params.yaml")
    known = ", ".join([*catalogue["generated"], *catalogue["corpora"]])
    for name in made:
        try:
            read_entry(root / "data" / "params.yaml", name)
        except UserError as error:
            yield f"{parameters}: download: {error}"
    data = parameters.parent / "data"
    for key, folder in (("corpus.name", corpus.name), ("probing.tasks", tasks)):
        if folder is not None and Path(folder).parts[0] not in made and not (data / folder).is_dir():
            yield (
                f"{parameters}: {key}: no folder {data / folder}; put your text there (or where it links to), or name"
                f" under download one of {known}"
            )
    own = sorted(set(corpus.contrastive) - (set(CONTRASTIVE_SETS) if corpus.name in catalogue["generated"] else set()))
    if corpus.name in made and own:  # DVC would remove them without a word
        yield (
            f"{parameters}: corpus.contrastive: {own}: {corpus.name} has {', '.join(CONTRASTIVE_SETS)}; its folder"
            " is made as a whole, and files of your own there are removed; copy it to another name in data/ and give"
            " that as corpus.name"
        )
    entry = catalogue["corpora"].get(corpus.name) if corpus.name in made else None
    if entry is None:  # what a download makes is known when it has
        yield from _split_problems(settings, data / corpus.name, parameters)
    yield from _document_problems(settings, data / corpus.name, entry, parameters)


def _split_problems(settings: ExperimentSettings, folder: Path, parameters: Path) -> Iterator[str]:
    """The tokenize stage would say so, after DVC has removed what it had made before."""
    corpus = settings.corpus
    sides = [{path.stem for path in folder.glob(f"*.{language}")} for language in (corpus.source, corpus.target)]
    made = corpus.name in settings.download and {corpus.source, corpus.target} == LANGUAGES
    generated = list(SPLITS) if made else []
    known = sorted(sides[0] & sides[1]) if folder.is_dir() else generated
    for key, names in (("train", [corpus.train]), ("validation", [corpus.validation]), ("tests", corpus.tests)):
        missing = ", ".join(name for name in names if name not in known)
        if missing:
            there = f"data/{folder.name} has {', '.join(known) or 'none'} in {corpus.source} and {corpus.target}"
            yield f"{parameters}: corpus.{key}: no text {missing}; {there}"


def _document_problems(settings: ExperimentSettings, folder: Path, entry: Any, parameters: Path) -> Iterator[str]:
    """DVC would name a file of runs/ that no stage writes, after the text stages; here is what is or will be there."""
    needed = [*settings.train.document, *settings.train.continued]
    for split in (settings.corpus.train, settings.corpus.validation) if needed else ():
        path = documents_file(folder, split)
        downloaded = entry is None or entry["format"] != "text" or path.name in [one["to"] for one in entry["files"]]
        if not (path.is_file() if folder.is_dir() else downloaded):
            yield (
                f"{parameters}: train.document, train.continued: {', '.join(needed)} need documents, and there is no"
                f" data/{folder.name}/{path.name}: the line number of each document's first sentence, from 0"
            )


def _code_problems(root: Path) -> Iterator[str]:
    """What plain `dvc repro` in an experiment would take for the present code."""
    if old := old_code_files(root):
        yield OLD.format(files=", ".join(old), root=root.resolve())


def _data_problems(parameters: Path) -> Iterator[str]:
    for names in read_catalogue(parameters).values():
        for name in names:
            try:
                read_entry(parameters, name)
            except UserError as error:
                yield str(error)


def find_problems(root: Path, folder: Path, *, with_models: bool = True) -> Iterator[str]:
    """Yield what is wrong with one experiment, a line per problem; the plan stage can see to the models, too."""
    if folder != root:
        yield from _copy_problems(root / "dvc.yaml", folder / "dvc.yaml")
        for name, content in OWN_REPOSITORY.items():
            path = folder / name
            if not path.is_file() or path.read_text(encoding="utf-8") != content:
                yield f"{path}: is not that of a new experiment, which context_nmt/new_experiment.py has; copy it"
    path = folder / "params.yaml"
    try:
        settings = read_parameters(path)
        yield from _alias_problems(path)
        yield from _missing_keys(root / "dvc.yaml", path)
    except UserError as error:
        yield str(error)
        return
    expected = "." if folder == root else "../.."
    if settings.root != expected:
        yield f"{path}: root is {settings.root!r}; here it must be {expected!r}"
    yield from _teacher_problems(settings, path)
    for variant in settings.variants if with_models else ():
        yield from _variant_problems(settings, variant, path)


def _copy_problems(original: Path, copy: Path) -> Iterator[str]:
    if copy.is_symlink():
        yield f"{copy}: a link, which DVC cannot read in older revisions; make it a copy: cp {original} {copy.parent}/"
    elif not copy.is_file():
        yield f"{copy}: no such file; copy it: cp {original} {copy.parent}/"
    elif copy.read_bytes() != original.read_bytes():
        yield f"{copy}: differs from {original}; copy it again: cp {original} {copy.parent}/"


def _alias_problems(parameters: Path) -> Iterator[str]:
    """`dvc exp run -S` writes into what an alias shares: another variant changes with it, or the change is lost."""
    with parameters.open(encoding="utf-8") as file:
        for event in yaml.parse(file, yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                line = event.start_mark.line + 1 if event.start_mark else 0
                name = f"{parameters}: line {line}: *{event.anchor}"
                yield f"{name} is an alias, which `dvc exp run -S` breaks; write it out"


def _missing_keys(pipeline: Path, parameters: Path) -> Iterator[str]:
    """DVC stops at a key of its `params` that is missing, even one with defaults for all that it holds."""
    stages, given = read_yaml(pipeline)["stages"], read_yaml(parameters)
    keys = {key.partition(".")[0] for stage in stages.values() for key in stage.get("params", [])}
    for key in sorted(keys - set(given)):
        empty = "[]" if key in ("download", "rescored") else "{}"
        yield f"{parameters}: {key}: dvc.yaml reads this key; write `{key}: {empty}` for its defaults"
    for name, empty in PROBING.items():
        if name not in (given.get("probing") or {}):
            yield f"{parameters}: probing.{name}: dvc.yaml reads this key; write `{name}: {empty}` for its default"
    for name in ("bitext", "teachers", "distilled", "document", "continued"):
        if name not in given["train"]:
            yield f"{parameters}: train.{name}: dvc.yaml reads this list; write `{name}: []` if it is empty"


def _teacher_problems(settings: ExperimentSettings, path: Path) -> Iterator[str]:
    """A teacher that no stage could use, or that would translate the training text for nobody."""
    for teacher in settings.train.teachers:
        if settings.variants[teacher].model.get("kind", settings.model.kind) != "autoregressive":
            yield f"{path}: train.teachers: {teacher} is a masked model; a teacher translates by beam search"
        if not settings.train.distilled and not settings.rescored:
            yield (
                f"{path}: train.teachers: {teacher} would translate the training text for nobody; name its students"
                " under train.distilled, or write `teachers: []`"
            )


def _variant_problems(settings: ExperimentSettings, variant: str, path: Path) -> Iterator[str]:
    from context_nmt.pipeline.planning import build_without_weights  # loads torch

    try:
        model = plan(settings, variant).training.model
        build_without_weights(model)
    except UserError as error:
        yield f"{path.parent}: {error}"
        return
    behind = sorted(set(get_args(OutputSlot)) & set(model.slots))
    for name in ("bitext", "distilled"):
        if behind and variant in getattr(settings.train, name):
            yield (
                f"{path}: train.{name}: {variant} looks at previous sentences ({behind[0]}), and its stages know no"
                " documents; name it under train.document or train.continued"
            )
