"""Start an experiment: a folder with a copy of dvc.yaml and a params.yaml that is derived from another experiment's."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedSeq

from context_nmt.files import UserError, read_yaml, replacing_folder
from context_nmt.settings.parameters import read_parameters

DEFAULT_EXPERIMENT = "."  # in the project's root
# Files that make a folder its own DVC repository with a shared cache. In a single repository, each DVC command would
# read all experiments and take many seconds.
REPOSITORY_FILES = {
    ".dvc/config": """\
[core]
    analytics = false
    autostage = false
[cache]
    dir = ../../../.dvc/cache
[plots]
    html_template = ../../../.dvc/plots/page.html
""",
    ".dvcignore": "__pycache__/\n.*.partial\n.*.earlier\n",
}
# Its recipe suits written text; the default one suits the miniature's few words.
REAL_TEXT_EXPERIMENT = "multi30k-en-de"
PACKAGED_PROJECT = Path(__file__).parents[1] / "project"  # in an installed package, see setup.py
CORE, NO_GIT = "[core]\n", "    no_scm = true\n"  # lines of .dvc/config; DVC refuses a folder without git otherwise


@dataclass(frozen=True)
class StartingPoint:
    """The starting point of a new experiment; values that are None come from the experiment `like`.

    The default of `like` is the default experiment for a generated corpus, and `REAL_TEXT_EXPERIMENT` for any other.
    """

    like: str | None = None
    corpus: str | None = None
    source: str | None = None
    target: str | None = None


def create_experiment(root: Path, name: str, recipe: StartingPoint) -> Path:
    """Create `experiments/NAME` in a project and return it.

    Raise UserError for a name that exists or has other characters, an unknown `like`, and settings that are refused.
    """
    folder = root / "experiments" / name
    with _new_folder(root, name, folder, recipe, "../..") as (temporary, user_corpora):
        for corpus in user_corpora:  # links, because several experiments can use the same text
            (temporary / "data").mkdir(exist_ok=True)
            (temporary / "data" / corpus).symlink_to(Path("../../../data") / corpus)
        (temporary / "dvc.yaml").write_bytes((root / "dvc.yaml").read_bytes())
        (temporary / ".dvc").mkdir()
        for file, content in repository_files(root).items():
            (temporary / file).write_text(content, encoding="utf-8")
    return folder


def repository_files(root: Path) -> dict[str, str]:
    """Return REPOSITORY_FILES for a project, which may be without git."""
    config = root / ".dvc/config"
    if config.is_file() and NO_GIT in config.read_text(encoding="utf-8"):
        return {name: content.replace(CORE, CORE + NO_GIT) for name, content in REPOSITORY_FILES.items()}
    return REPOSITORY_FILES


def create_project(name: str, recipe: StartingPoint) -> Path:
    """Create a project in NAME from the installed package: the pipeline, the code that it runs, and one experiment.

    Raise the errors of `create_experiment`, and UserError if the package is not installed.
    """
    with _new_folder(PACKAGED_PROJECT, name, Path(name), recipe, ".") as (temporary, _):
        shutil.copytree(PACKAGED_PROJECT, temporary, dirs_exist_ok=True, ignore=shutil.ignore_patterns("experiments"))
        ignored = shutil.ignore_patterns("__pycache__", PACKAGED_PROJECT.name)
        shutil.copytree(PACKAGED_PROJECT.parent, temporary / "src" / PACKAGED_PROJECT.parent.name, ignore=ignored)
        config = (temporary / ".dvc/config").read_text(encoding="utf-8")
        (temporary / ".dvc/config").write_text(config.replace(CORE, CORE + NO_GIT), encoding="utf-8")
    return Path(name)


@contextmanager
def _new_folder(
    project: Path, name: str, folder: Path, recipe: StartingPoint, root: str
) -> Iterator[tuple[Path, list[str]]]:
    """Yield a temporary folder and the user's corpora; then write params.yaml, check it and rename the folder.

    Raise UserError for a name, a corpus or settings that are not allowed, and without a project.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise UserError(f"NAME is {name!r}; it must be lower-case letters, digits, '-', '.' and '_', like wmt14-en-de")
    if folder.exists():
        raise UserError(f"{folder} exists; choose another NAME, or remove it")
    if recipe.corpus is not None and not re.fullmatch(r"\w[\w.-]*", recipe.corpus, re.ASCII):
        raise UserError(
            f"CORPUS is {recipe.corpus!r}; it must be the name of a folder in data/: letters, digits, '_', '-', '.'"
        )
    if not project.is_dir():
        raise UserError(
            f"{Path.cwd()} is not a project: it has no dvc.yaml. Run this in a clone of context-nmt; elsewhere, only an"
            " installed package that is not editable can start a project"
        )
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 120
    yaml.indent(mapping=2, sequence=4, offset=2)
    parameters, user_corpora = _parameters(project, name, recipe, root, yaml)
    with replacing_folder(folder) as temporary:
        yield temporary, user_corpora
        yaml.dump(parameters, temporary / "params.yaml")
        try:
            read_parameters(temporary / "params.yaml")
        except UserError as error:
            raise UserError(str(error).replace(str(temporary), str(folder))) from None


def _parameters(project: Path, name: str, recipe: StartingPoint, root: str, yaml: YAML) -> tuple[Any, list[str]]:
    """Return params.yaml of `recipe.like` with the recipe's changes, and the names of the user's corpora.

    It has no external systems, and so no comparison with one. Comments and layout are kept. The splits of another
    corpus are called train, valid and test. A corpus that is not in data/params.yaml belongs to the user, who has it in
    data/CORPUS.
    """
    like, corpus = recipe.like, recipe.corpus
    catalogue = read_yaml(project / "data" / "params.yaml")
    generated = list(catalogue["generated"])
    if like is None:
        default_corpus = read_yaml(project / "params.yaml")["corpus"]["name"]
        like = DEFAULT_EXPERIMENT if corpus in (None, default_corpus, *generated) else REAL_TEXT_EXPERIMENT
    experiments = {path.parent.name: path for path in sorted((project / "experiments").glob("*/params.yaml"))}
    experiments[DEFAULT_EXPERIMENT] = project / "params.yaml"
    if like not in experiments:
        raise UserError(
            f"LIKE is {like!r}; the experiments are {', '.join(experiments)} ('{DEFAULT_EXPERIMENT}' is the default)"
        )
    parameters = read_yaml(experiments[like], yaml)
    parameters["root"] = root
    parameters.yaml_set_start_comment(
        f"{name}, started from {'the default experiment' if like == DEFAULT_EXPERIMENT else like}.\n"
        "src/context_nmt/settings/ documents every key; unknown keys are refused."
    )
    corpus_settings, probing = parameters["corpus"], parameters.setdefault("probing", {})
    is_other_corpus = corpus not in (None, corpus_settings["name"])
    if corpus in generated and corpus_settings["name"] in generated:  # generated corpora have the same files
        corpus_settings["name"] = corpus
    elif is_other_corpus:
        for key in ("groups", "contrastive"):
            corpus_settings.pop(key, None)
        corpus_settings.update(train="train", validation="valid", name=corpus, tests=_in_one_line(["test"]))
        # The empty line was removed with the last key.
        parameters.yaml_set_comment_before_after_key("text", before="\n")
    _prepare_text(parameters["text"], recipe, corpus_settings, is_other_corpus=is_other_corpus)
    if recipe.source not in (None, corpus_settings["source"]):
        probing.update(sentences=[], tasks=None)  # the tasks are in another language
    corpus_settings["source"] = recipe.source or corpus_settings["source"]
    corpus_settings["target"] = recipe.target or corpus_settings["target"]
    names = dict.fromkeys([corpus_settings["name"], str(probing.get("tasks") or corpus_settings["name"]).split("/")[0]])
    downloads = [name for name in names if name in (*generated, *catalogue["corpora"])]
    parameters["download"] = _in_one_line(downloads)
    external = parameters.get("external") or {}  # their files are not copied
    for variant in filter(None, parameters["variants"].values()):
        if variant.get("baseline") in external:
            variant["baseline"] = None  # not one that `like` brings
    if parameters["focus"] in external:
        parameters["focus"] = next(iter(parameters["variants"]))
    parameters["external"] = {}
    return parameters, [name for name in names if name not in downloads]


def _prepare_text(text: Any, recipe: StartingPoint, corpus: Any, *, is_other_corpus: bool) -> None:
    """Drop what does not fit another language or another corpus: a script that splits words, and tokens in files.

    In the other direction, each language keeps its settings.
    """
    settings = {corpus[side]: deepcopy(text.get(side)) for side in ("source", "target")}
    for side, language in (("source", recipe.source), ("target", recipe.target)):
        is_new = language not in (None, corpus[side])
        if is_new and language in settings:
            text[side] = deepcopy(settings[language])
        values = text.get(side) or {}
        has_lost_script = is_new and language not in settings and values.pop("script", None)
        if has_lost_script or (is_other_corpus and not values.get("script")):
            values.pop("pretokenized", None)


def _in_one_line(values: list[str]) -> Any:
    sequence = CommentedSeq(values)
    sequence.fa.set_flow_style()
    return sequence


def next_steps(root: Path, folder: Path) -> str:
    """Return instructions for the user of a new experiment."""
    settings = read_parameters(folder / "params.yaml")
    corpus, is_project = settings.corpus, settings.root == "."
    splits = dict.fromkeys([corpus.train, corpus.validation, *corpus.tests])
    corpus_folder = (folder if is_project or corpus.name in settings.download else root) / "data" / corpus.name
    needed = [f"{split}.{language}" for split in splits for language in (corpus.source, corpus.target)]
    is_made = corpus.name in settings.download
    missing = [] if is_made else [name for name in needed if not (corpus_folder / name).exists()]
    not_there = f" Not there yet: {', '.join(missing)}." if missing else ""
    has_make = not is_project and (root / "Makefile").is_file()
    command = f"make repro NAME={folder.name}" if has_make else f"context-nmt repro {folder}"
    git = "\nFor `dvc exp run`, put it into git first: git init, then dvc config --unset core.no_scm"
    return (
        f"{folder} is ready. It reads {corpus_folder}/SPLIT.LANGUAGE for the splits {', '.join(splits)} and the"
        f" languages {corpus.source} and {corpus.target}, one sentence per line.{not_there}\n"
        f"Edit {folder / 'params.yaml'}, then: {command}{git if is_project else ''}"
    )
