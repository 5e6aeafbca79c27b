"""Starts an experiment: a folder with the default experiment's dvc.yaml and a params.yaml derived from another one."""

import re
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedSeq

from context_nmt.files import UserError, replacing_folder

DEFAULT = "."  # the name of the experiment in the root
# What makes a folder a DVC repository of its own, with a shared cache: in a single repository DVC would read all
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
REAL_TEXT = "multi30k-en-de"  # its recipe suits text that people wrote; the default one's suits a miniature's few words


def create_experiment(
    root: Path,
    name: str,
    *,
    like: str | None = None,
    corpus: str | None = None,
    source: str | None = None,
    target: str | None = None,
) -> Path:
    """Make `experiments/NAME` from the experiment `like` and return it; comments and layout of its params.yaml stay.

    Without `like` it is the default one for generated corpora, and `REAL_TEXT` for any other. With another corpus than
    that of `like`, its splits are called train, valid and test. A corpus that data/params.yaml does not have is the
    user's own, in ROOT/data/CORPUS. Raises UserError for a name that is taken or unsuitable, and for an unknown `like`.
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
    catalogue = yaml.load(root / "data" / "params.yaml")
    generated = list(catalogue["generated"])
    if like is None:
        default_corpus = yaml.load(root / "params.yaml")["corpus"]["name"]
        like = DEFAULT if corpus in (None, default_corpus, *generated) else REAL_TEXT
    known = {path.parent.name: path for path in sorted((root / "experiments").glob("*/params.yaml"))}
    known[DEFAULT] = root / "params.yaml"
    if like not in known:
        raise UserError(f"LIKE is {like!r}; the experiments are {', '.join(known)} ('{DEFAULT}' is the default one)")
    parameters = yaml.load(known[like])
    parameters["root"] = "../.."
    parameters.yaml_set_start_comment(
        f"{name}, started from {'the default experiment' if like == DEFAULT else like}.\n"
        "src/context_nmt/settings/ documents every key; an unknown one is refused."
    )
    chosen, probing = parameters["corpus"], parameters["probing"]
    if corpus in generated and chosen["name"] in generated:  # these have the same files
        chosen["name"] = corpus
    elif corpus not in (None, chosen["name"]):
        for key in ("groups", "contrastive"):
            chosen.pop(key, None)
        chosen.update(train="train", validation="valid", name=corpus, tests=_in_one_line(["test"]))
        parameters.yaml_set_comment_before_after_key("text", before="\n")  # the empty line went with the last key
    if source not in (None, chosen["source"]):
        probing.update(sentences=[], tasks=None)  # these tasks are in the other language
    chosen["source"] = source or chosen["source"]
    chosen["target"] = target or chosen["target"]
    names = dict.fromkeys([chosen["name"], str(probing["tasks"] or chosen["name"]).split("/")[0]])
    made = [name for name in names if name in (*generated, *catalogue["corpora"])]
    parameters["download"] = _in_one_line(made)
    with replacing_folder(folder) as temporary:
        for name in set(names) - set(made):  # a user's own text, which several experiments can use
            (temporary / "data").mkdir(exist_ok=True)
            (temporary / "data" / name).symlink_to(Path("../../../data") / name)
        (temporary / "dvc.yaml").write_bytes((root / "dvc.yaml").read_bytes())
        (temporary / ".dvc").mkdir()
        for file, content in OWN_REPOSITORY.items():
            (temporary / file).write_text(content, encoding="utf-8")
        yaml.dump(parameters, temporary / "params.yaml")
    return folder


def _in_one_line(values: list[str]) -> Any:
    sequence = CommentedSeq(values)
    sequence.fa.set_flow_style()
    return sequence


def next_steps(root: Path, folder: Path) -> str:
    """What a user does with a new experiment."""
    parameters = YAML(typ="safe").load(folder / "params.yaml")
    corpus = parameters["corpus"]
    splits = dict.fromkeys([corpus["train"], corpus["validation"], *corpus["tests"]])
    place = (folder if corpus["name"] in parameters["download"] else root) / "data" / corpus["name"]
    return (
        f"{folder} is made. It reads {place}/SPLIT.LANGUAGE for the splits {', '.join(splits)}"
        f" and the languages {corpus['source']} and {corpus['target']}, one sentence per line.\n"
        f"Edit {folder / 'params.yaml'}, then: make repro NAME={folder.name}"
    )
