"""Start an experiment: a folder with the default experiment's dvc.yaml and a params.yaml derived from another one."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedSeq

from context_nmt.files import UserError, read_yaml, replacing_folder
from context_nmt.settings.parameters import read_parameters

DEFAULT = "."  # the name of the experiment in the root
# Files that make a folder a DVC repository of its own, with a shared cache: in a single repository DVC would read all
# experiments, and each command would take many seconds.
OWN_REPOSITORY = {
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
REAL_TEXT = "multi30k-en-de"  # its recipe suits human-written text; the default one suits the miniature's few words
PROJECT = Path(__file__).parents[1] / "project"  # in an installed package, see setup.py
CORE, NO_GIT = "[core]\n", "    no_scm = true\n"  # of .dvc/config; DVC refuses a folder without git otherwise


@dataclass(frozen=True)
class StartingPoint:
    """The starting point of a new experiment; values that are None come from the experiment `like`.

    Without `like`, this is the default experiment for generated corpora and `REAL_TEXT` for any other.
    """

    like: str | None = None
    corpus: str | None = None
    source: str | None = None
    target: str | None = None


def create_experiment(root: Path, name: str, recipe: StartingPoint) -> Path:
    """Make `experiments/NAME` in a project and return it.

    Raise UserError for a name that is taken or unsuitable, for an unknown `like`, and for settings that are refused.
    """
    folder = root / "experiments" / name
    with _new_folder(root, name, folder, recipe, "../..") as (temporary, own_corpora):
        for corpus in own_corpora:  # a user's own text, which several experiments can use
            (temporary / "data").mkdir(exist_ok=True)
            (temporary / "data" / corpus).symlink_to(Path("../../../data") / corpus)
        (temporary / "dvc.yaml").write_bytes((root / "dvc.yaml").read_bytes())
        (temporary / ".dvc").mkdir()
        for file, content in own_repository(root).items():
            (temporary / file).write_text(content, encoding="utf-8")
    return folder


def own_repository(root: Path) -> dict[str, str]:
    """Return the content of the files in OWN_REPOSITORY for a project, which may be without git."""
    config = root / ".dvc/config"
    if config.is_file() and NO_GIT in config.read_text(encoding="utf-8"):
        return {name: content.replace(CORE, CORE + NO_GIT) for name, content in OWN_REPOSITORY.items()}
    return OWN_REPOSITORY


def create_project(name: str, recipe: StartingPoint) -> Path:
    """Make a project out of the installed package: the pipeline, the code that it runs, and one experiment, in NAME.

    Raise UserError as `create_experiment` does, and if the package is not installed.
    """
    with _new_folder(PROJECT, name, Path(name), recipe, ".") as (temporary, _):
        shutil.copytree(PROJECT, temporary, dirs_exist_ok=True, ignore=shutil.ignore_patterns("experiments"))
        ignored = shutil.ignore_patterns("__pycache__", PROJECT.name)
        shutil.copytree(PROJECT.parent, temporary / "src" / PROJECT.parent.name, ignore=ignored)
        config = (temporary / ".dvc/config").read_text(encoding="utf-8")
        (temporary / ".dvc/config").write_text(config.replace(CORE, CORE + NO_GIT), encoding="utf-8")
    return Path(name)


@contextmanager
def _new_folder(
    project: Path, name: str, folder: Path, recipe: StartingPoint, root: str
) -> Iterator[tuple[Path, list[str]]]:
    """Yield what becomes a folder, and its corpora that are the user's own; then write params.yaml, and check it."""
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
            f"{Path.cwd()} is no project (no dvc.yaml). Run this in a clone of context-nmt; only an installed package,"
            " which is not editable, starts a project elsewhere"
        )
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 120
    yaml.indent(mapping=2, sequence=4, offset=2)
    parameters, own_corpora = _parameters(project, name, recipe, root, yaml)
    with replacing_folder(folder) as temporary:
        yield temporary, own_corpora
        yaml.dump(parameters, temporary / "params.yaml")
        try:
            read_parameters(temporary / "params.yaml")
        except UserError as error:
            raise UserError(str(error).replace(str(temporary), str(folder))) from None


def _parameters(project: Path, name: str, recipe: StartingPoint, root: str, yaml: YAML) -> tuple[Any, list[str]]:
    """Return params.yaml of `recipe.like` with the recipe's changes, and its corpora that are the user's own.

    Keep comments and layout. Call the splits of another corpus train, valid and test. A corpus that
    data/params.yaml does not have is the user's own, in data/CORPUS.
    """
    like, corpus = recipe.like, recipe.corpus
    catalogue = read_yaml(project / "data" / "params.yaml")
    generated = list(catalogue["generated"])
    if like is None:
        default_corpus = read_yaml(project / "params.yaml")["corpus"]["name"]
        like = DEFAULT if corpus in (None, default_corpus, *generated) else REAL_TEXT
    experiments = {path.parent.name: path for path in sorted((project / "experiments").glob("*/params.yaml"))}
    experiments[DEFAULT] = project / "params.yaml"
    if like not in experiments:
        raise UserError(
            f"LIKE is {like!r}; the experiments are {', '.join(experiments)} ('{DEFAULT}' is the default one)"
        )
    parameters = read_yaml(experiments[like], yaml)
    parameters["root"] = root
    parameters.yaml_set_start_comment(
        f"{name}, started from {'the default experiment' if like == DEFAULT else like}.\n"
        "src/context_nmt/settings/ documents every key; an unknown one is refused."
    )
    corpus_settings, probing = parameters["corpus"], parameters.setdefault("probing", {})
    if corpus in generated and corpus_settings["name"] in generated:  # generated corpora have the same files
        corpus_settings["name"] = corpus
    elif corpus not in (None, corpus_settings["name"]):
        for key in ("groups", "contrastive"):
            corpus_settings.pop(key, None)
        corpus_settings.update(train="train", validation="valid", name=corpus, tests=_in_one_line(["test"]))
        parameters.yaml_set_comment_before_after_key("text", before="\n")  # the empty line went with the last key
    if recipe.source not in (None, corpus_settings["source"]):
        probing.update(sentences=[], tasks=None)  # these tasks are in the other language
    corpus_settings["source"] = recipe.source or corpus_settings["source"]
    corpus_settings["target"] = recipe.target or corpus_settings["target"]
    names = dict.fromkeys([corpus_settings["name"], str(probing.get("tasks") or corpus_settings["name"]).split("/")[0]])
    downloads = [name for name in names if name in (*generated, *catalogue["corpora"])]
    parameters["download"] = _in_one_line(downloads)
    return parameters, [name for name in names if name not in downloads]


def _in_one_line(values: list[str]) -> Any:
    sequence = CommentedSeq(values)
    sequence.fa.set_flow_style()
    return sequence


def next_steps(root: Path, folder: Path) -> str:
    """Return the instructions for a new experiment."""
    settings = read_parameters(folder / "params.yaml")
    corpus, is_project = settings.corpus, settings.root == "."
    splits = ", ".join(dict.fromkeys([corpus.train, corpus.validation, *corpus.tests]))
    corpus_folder = (folder if is_project or corpus.name in settings.download else root) / "data" / corpus.name
    has_make = not is_project and (root / "Makefile").is_file()
    command = f"make repro NAME={folder.name}" if has_make else f"context-nmt repro {folder}"
    git = "\nFor `dvc exp run`, put it into git first: git init, then dvc config --unset core.no_scm"
    return (
        f"{folder} is made. It reads {corpus_folder}/SPLIT.LANGUAGE for the splits {splits} and the languages"
        f" {corpus.source} and {corpus.target}, one sentence per line.\n"
        f"Edit {folder / 'params.yaml'}, then: {command}{git if is_project else ''}"
    )
