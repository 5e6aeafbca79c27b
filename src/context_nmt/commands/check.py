"""Checks experiments before they run."""

from pathlib import Path
from typing import Annotated

import typer


def check(
    root: Annotated[
        Path, typer.Argument(metavar="ROOT", help="The project's folder: dvc.yaml, params.yaml, experiments/.")
    ] = Path(),
    only: Annotated[
        Path | None, typer.Option(help="The folder of the one experiment that is about to run; its corpus, too.")
    ] = None,
) -> None:
    """Check that all experiments can run, or that one can (its models are then left to the plan stage).

    Every experiments/NAME/dvc.yaml is the root's, byte for byte; every params.yaml holds known keys with allowed
    values; and every variant's model can be built, with the mechanisms in its slots (no weights, no data).

    Reads

        dvc.yaml, params.yaml    in ROOT and in every experiments/NAME
        data/params.yaml         the corpora that can be generated or downloaded
        src/, stages/            the code, of which src/code/ must be
        .dvc/config, .dvcignore  in every experiments/NAME
        data/CORPUS              in the experiment that is about to run

    Writes

        standard error           a line per problem; the exit status is then 1
        standard output          the number of experiments, if there is no problem

    For example

        context-nmt check --only experiments/multi30k-en-de
    """
    from context_nmt.pipeline.checks import check_before_run, check_experiments
    from context_nmt.settings.folder import experiment_folder

    if only is not None:
        check_before_run(root, experiment_folder(only))
    else:
        typer.echo(f"{check_experiments(root)} experiments checked")
