"""Brings one experiment up to date."""

from pathlib import Path
from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.repro import reproduce


def main(
    folder: Annotated[Path, typer.Argument(help="Of the experiment: params.yaml, dvc.yaml.")] = Path(),
    jobs: Annotated[
        int | None, typer.Option(help="Stages at a time. Default: the number of cores; 1 where there is a GPU.")
    ] = None,
) -> None:
    """Run what is not up to date of one experiment; stages that do not depend on each other run side by side.

    Like `dvc repro`, which runs one stage at a time, and with the same results. No more stages than there
    are runs (a variant with a seed) run at a time; OMP_NUM_THREADS, unless it is set, is each one's share of the cores.
    A stage that fails, or Ctrl-C, stops the others; run it again to go on.

    Example: python -m stages.repro experiments/multi30k-en-de --jobs 4
    """
    reproduce(folder, jobs)


if __name__ == "__main__":
    run(main)
