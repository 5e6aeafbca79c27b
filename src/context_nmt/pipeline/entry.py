"""Start a stage for `python stages NAME …`; not part of any stage's code, since results do not depend on it."""

import ast
import difflib
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from context_nmt.code_closure import check_code, stages
from context_nmt.command_line import one_line_errors
from context_nmt.files import UserError, read_json
from context_nmt.settings.layout import Layout

LAUNCHED = {"train": "train"} | dict.fromkeys(("decode", "distill", "rescore", "contrast", "analyse"), "decode")
HELP = """Usage: python stages NAME [ARGUMENTS]

One stage of the pipeline, in the folder of an experiment (params.yaml, dvc.yaml). `dvc repro` runs them all.
`python stages NAME --help` says what a stage reads and writes.
"""


def start_stage(root: Path, arguments: Sequence[str]) -> None:
    """Replace this process by the stage that the first argument names, with the command under `launch` in params.yaml.

    Print all stages for --help. Under DVC, refuse a stage if src/code/ or its plan is older than the code.
    """
    with one_line_errors():
        name, *options = arguments or ["--help"]
        if name in ("--help", "-h"):
            print(HELP)
            print("\n".join(f"  {stage:<14}{_summary(root, stage)}" for stage in stages(root)))
            return
        if name not in stages(root):
            nearest = difflib.get_close_matches(name, stages(root), 1)
            hint = f"did you mean {nearest[0]}? " if nearest else ""
            raise UserError(f"no stage {name!r}; {hint}there are {', '.join(stages(root))}")
        if "DVC_STAGE" in os.environ and name != "code":
            plans = [Layout().plan(word, "training") for word in options if not word.startswith("-")]
            recorded = [read_json(path)["code"] for path in plans if path.is_file()]
            check_code(root, name, {module: digest for code in recorded for module, digest in code.items()})
        launcher = ["python"]
        if name in LAUNCHED and not {"--help", "-h"} & set(options):
            launcher = read_launch(Path("params.yaml"), LAUNCHED[name])
            if name == "train" and asks_for_tensorboard(Path("params.yaml")):
                options.append("--tensorboard")
        words = [sys.executable if word == "python" else word for word in launcher]
        # A copy of the project (a clone, `dvc exp run --temp`) runs its own code.
        search_path = [str(root / "src"), str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(search_path)
        sys.stdout.flush()
        try:
            os.execvp(words[0], [*words, "-m", f"stages.{name}", *options])  # noqa: S606 (the user's own command)
        except FileNotFoundError:
            raise UserError(f"params.yaml: launch: {words[0]}: no such command") from None


def read_launch(parameters: Path, key: str) -> list[str]:
    """Return the words of launch.KEY in params.yaml, by default `python`; raise UserError if it is not a command.

    No other key is read and pydantic is not loaded: trainings run on machines that have only PyTorch.
    """
    try:
        words = shlex.split(_launch(parameters).get(key, "python") or "")  # None: shlex would read stdin
    except (AttributeError, TypeError, ValueError) as error:
        raise UserError(f"{parameters}: launch.{key}: must be a command ({error})") from None
    if not words:
        raise UserError(f"{parameters}: launch.{key}: is empty; it must be a command, such as python")
    return words


def asks_for_tensorboard(parameters: Path) -> bool:
    """Return launch.tensorboard of params.yaml; raise UserError if it is not true or false."""
    asked = _launch(parameters).get("tensorboard", False)
    if not isinstance(asked, bool):
        raise UserError(f"{parameters}: launch.tensorboard: is {asked!r}; it must be true or false")
    return asked


def _launch(parameters: Path) -> dict[str, Any]:
    try:
        return (yaml.safe_load(parameters.read_text(encoding="utf-8")) or {}).get("launch") or {}
    except OSError:
        return {}  # the stage reports the missing file
    except yaml.YAMLError as error:
        raise UserError(f"{parameters}: not YAML ({' '.join(str(error).split())})") from None


def _summary(root: Path, stage: str) -> str:
    docstring = ast.get_docstring(ast.parse((root / "stages" / f"{stage}.py").read_text(encoding="utf-8"))) or ""
    return docstring.split("\n")[0]
