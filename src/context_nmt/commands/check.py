"""Check experiments before they run."""

from pathlib import Path
from typing import Annotated

import typer


def check(
    root: Annotated[
        Path, typer.Argument(metavar="ROOT", help="The project's folder: dvc.yaml, params.yaml, experiments/.")
    ] = Path(),
    only: Annotated[
        Path | None, typer.Option(help="Check only this experiment, by folder or name, and its corpus.")
    ] = None,
) -> None:
    """Check experiments before they run.

    Each experiments/NAME/dvc.yaml must be equal to the root's, each params.yaml must have known keys with allowed
    values, and each variant's model must build (without weights or data). With --only, models are left to the plan
    stage, and the corpus must exist or be under download.

    Reads

        dvc.yaml, params.yaml    in ROOT and in every experiments/NAME
        data/params.yaml         corpora that can be generated or downloaded
        src/, stages/            the code, which src/code/ must match
        .dvc/config, .dvcignore  in every experiments/NAME
        data/CORPUS              in the folder of --only

    Writes

        standard error           a line per problem; the exit status is then 1
        standard output          what was checked, if there is no problem

    For example

        context-nmt check --only experiments/multi30k-en-de
    """
    from context_nmt.files import UserError
    from context_nmt.pipeline.checks import check_before_run, check_experiments
    from context_nmt.settings.folder import experiment_folder

    if only is not None:
        folder = experiment_folder(only)
        above = [folder.resolve(), *folder.resolve().parents]
        project = next((path for path in above if (path / "data/params.yaml").is_file()), root)
        check_before_run(root if root.resolve() == project else project, folder)
        typer.echo(f"{only} checked")
    elif not (root / "data/params.yaml").is_file():
        raise UserError(f"{root} is no project (no data/params.yaml); for one experiment: --only EXPERIMENT")
    else:
        typer.echo(f"{check_experiments(root)} experiments checked")
