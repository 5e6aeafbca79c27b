"""Checks every experiment of the project."""

from pathlib import Path
from typing import Annotated

import typer

from context_nmt.checks import check_before_run, check_experiments
from context_nmt.command_line import run


def main(
    root: Annotated[Path, typer.Argument(help="The project's folder: dvc.yaml, params.yaml, experiments/.")] = Path(),
    only: Annotated[
        Path | None, typer.Option(help="The folder of the one experiment that is about to run; its corpus, too.")
    ] = None,
) -> None:
    """Check that all experiments can run, or one: a line per problem, exit status 1 if there is any.

    Every experiments/NAME/dvc.yaml is the root's, byte for byte; every params.yaml holds known keys with allowed
    values; and every variant's model can be built, with the mechanisms in its slots (no weights, no data).

    Example: python -m stages.check
    """
    if only is not None:
        check_before_run(root, only)
    else:
        typer.echo(f"{check_experiments(root)} experiments checked")


if __name__ == "__main__":
    run(main)
