"""Start a stage for `python stages NAME …`; no result depends on this module, so no stage's closure has it."""

import ast
import difflib
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from context_nmt.code_closure import check_code, stages
from context_nmt.command_line import one_line_errors
from context_nmt.files import UserError, read_json
from context_nmt.settings.launch import read_launch
from context_nmt.settings.layout import Layout
from context_nmt.settings.run_layout import split_run_name

HELP = """Usage: python stages NAME [ARGUMENTS]

Run one stage of the pipeline in the folder of an experiment (params.yaml, dvc.yaml). `dvc repro` runs all stages.
`python stages NAME --help` lists what a stage reads and writes.
"""


def start_stage(root: Path, arguments: Sequence[str]) -> None:
    """Replace this process by the stage that the first argument names, with the command under `launch` in params.yaml.

    Print all stages for --help. Under DVC, refuse a stage if src/code/ or its plan is older than the code.
    """
    with one_line_errors():
        name, *options = arguments or ["--help"]
        stage_names = stages(root)
        if name in ("--help", "-h"):
            print(HELP)
            for stage in stage_names:
                docstring = ast.get_docstring(ast.parse((root / "stages" / f"{stage}.py").read_text(encoding="utf-8")))
                print(f"  {stage:<21}{(docstring or '').splitlines()[0]}")
            return
        if name not in stage_names:
            nearest = difflib.get_close_matches(name, stage_names, 1)
            hint = f"did you mean {nearest[0]}? " if nearest else ""
            raise UserError(f"no stage {name!r}; {hint}there are {', '.join(stage_names)}")
        if "DVC_STAGE" in os.environ and name != "code":
            values = [value for value in options if not value.startswith("-")]
            # of variants, runs or corpora
            names = sorted({*values, *(split_run_name(value)[0] for value in values)} - {""})
            plans = [Layout().stage_plan("text")] if name == "tokenize" else []
            plans += [path for one in names for path in (Layout().data_plan(one), Layout().plan(one, "training"))]
            digests = [read_json(path).get("code", {}) for path in plans if path.is_file()]
            check_code(root, name, {module: digest for code in digests for module, digest in code.items()})
        command = ["python"]
        if not {"--help", "-h"} & set(options):
            launch = read_launch(Path("params.yaml"), root)
            command = shlex.split(launch.for_stage(name).command)
            options += ["--tensorboard"] if name == "train" and launch.tensorboard else []
        command = [sys.executable if word == "python" else word for word in command]
        # A copy of the project (a clone, `dvc exp run --temp`) runs its own code.
        search_path = [str(root / "src"), str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(search_path)
        sys.stdout.flush()
        try:
            os.execvp(command[0], [*command, "-m", "stages._run", name, *options])  # noqa: S606 (the user's own command)
        except FileNotFoundError:
            raise UserError(f"params.yaml: launch: {command[0]}: no such command") from None
