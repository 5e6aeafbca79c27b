"""Starts an experiment: a folder with the default experiment's dvc.yaml and a params.yaml derived from its own."""

import re
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedSeq

from context_nmt.files import UserError, replacing_folder

OWN_SPLITS = {"train": "train", "validation": "valid"}  # of a corpus that a user brings
OWN_TESTS = ["test"]


def create_experiment(root: Path, name: str, *, corpus: str | None, source: str | None, target: str | None) -> Path:
    """Make `experiments/NAME` and return it; comments and layout of the default params.yaml stay.

    With another corpus than the default one, its splits are called train, valid and test. Raises UserError for a name
    that is taken or no plain name.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise UserError(f"NAME is {name!r}; it must be lower-case letters, digits, '-', '.' and '_', like wmt14-en-de")
    folder = root / "experiments" / name
    if folder.exists():
        raise UserError(f"{folder} exists; choose another NAME, or remove it")
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 120
    yaml.indent(mapping=2, sequence=4, offset=2)
    parameters = yaml.load(root / "params.yaml")
    parameters["root"] = "../.."
    parameters.yaml_set_start_comment(
        f"{name}, started from the default experiment.\n"
        "src/context_nmt/settings.py documents every key; an unknown one is refused."
    )
    chosen = parameters["corpus"]
    if corpus not in (None, chosen["name"]):
        for key in ("groups", "contrastive"):
            chosen.pop(key, None)
        chosen.update(OWN_SPLITS, name=corpus, tests=CommentedSeq(OWN_TESTS))
        chosen["tests"].fa.set_flow_style()
    chosen["source"] = source or chosen["source"]
    chosen["target"] = target or chosen["target"]
    with replacing_folder(folder) as temporary:
        (temporary / "dvc.yaml").write_bytes((root / "dvc.yaml").read_bytes())
        yaml.dump(parameters, temporary / "params.yaml")
    return folder


def next_steps(root: Path, folder: Path) -> str:
    """What a user does with a new experiment."""
    corpus = YAML(typ="safe").load(folder / "params.yaml")["corpus"]
    splits = dict.fromkeys([corpus["train"], corpus["validation"], *corpus["tests"]])
    return (
        f"{folder} is made. It reads {root / 'data' / corpus['name']}/SPLIT.LANGUAGE for the splits {', '.join(splits)}"
        f" and the languages {corpus['source']} and {corpus['target']}, one sentence per line.\n"
        f"Edit {folder / 'params.yaml'}, then: make repro NAME={folder.name}"
    )
