"""Checks every experiment of the project."""

from pathlib import Path
from typing import Annotated

import typer

from context_nmt.checks import check_experiments
from context_nmt.command_line import run


def main(
    root: Annotated[Path, typer.Argument(help="The project's folder: dvc.yaml, params.yaml, experiments/.")] = Path(),
) -> None:
    """Check that all experiments can run: one line per problem, exit status 1 if there is any.

    Every experiments/NAME/dvc.yaml is the root's, byte for byte; every params.yaml holds known keys with allowed
    values; and every variant's model can be built, with the mechanisms in its slots (no weights, no data).

    Example: python -m stages.check
    """
    typer.echo(f"{check_experiments(root)} experiments checked")


if __name__ == "__main__":
    run(main)
