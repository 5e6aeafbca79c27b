"""Bring one experiment up to date."""

from pathlib import Path
from typing import Annotated, Literal

import typer

ExperimentFolder = Annotated[
    Path, typer.Argument(metavar="EXPERIMENT", help="Its folder, or its name in experiments/.")
]


def repro(
    experiment: ExperimentFolder = Path(),
    on: Annotated[
        Literal["local", "slurm"], typer.Option(help="Run stages on this machine, or submit them to Slurm and return.")
    ] = "local",
    wait: Annotated[bool, typer.Option("--wait", help="With --on slurm, show the jobs until all have ended.")] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Stages at a time on this machine. Default: its number of GPUs, or cores.")
    ] = None,
    allow_missing: Annotated[
        bool,
        typer.Option("--allow-missing", help="Remake missing files only if a stage that runs needs them."),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VARIANT",
            help="Run this variant, and those it starts from, learns from or is compared with. Repeat it for several.",
        ),
    ] = None,
) -> None:
    """Run the stages that are not up to date.

    Stages that do not depend on each other run side by side; `dvc repro`, which runs one stage at a time, gives the
    same results. No more stages run at once than there are runs (variants times seeds). OMP_NUM_THREADS, unless it
    is set, is each stage's share of the cores. If a stage fails, those that depend on it do not run, and all others
    do. Ctrl-C stops all; rerun the command to continue.

    `launch` in params.yaml says what stages need: commands, GPUs, cores, memory, hours. Two trainings never share a
    GPU. launch.yaml, in the project's folder and not in git, has other values for this machine or cluster. With
    --on slurm, the code and plan stages run here and all others as jobs, each after those that it depends on; see
    them with `context-nmt status`, and stop them with `context-nmt cancel`.

    In a terminal, the progress of each stage is shown below the log. Otherwise, long stages report every 30 seconds
    (set CONTEXT_NMT_PROGRESS_SECONDS to change this). At the end, the main scores are printed.

    Missing files are remade, so a clone without the DVC cache trains everything. With --allow-missing, it trains
    only new variants and seeds, and those they start or learn from.

    With --only, the tables have this variant, and the others as they are; those with results of other code, settings or
    text are marked as out of date, without differences.

    Reads

        EXPERIMENT/dvc.yaml, params.yaml    the pipeline and its parameters
        EXPERIMENT/data/CORPUS/             the text, which is downloaded or generated first if it is under download

    Writes

        EXPERIMENT/metrics/, reports/       results
        EXPERIMENT/runs/                    large files, also in the DVC cache
        EXPERIMENT/dvc.lock                 the stages that have run

    For example

        context-nmt repro multi30k-en-de --jobs 4
    """
    from context_nmt.pipeline.repro import reproduce
    from context_nmt.settings.folder import experiment_folder

    try:
        folder = experiment_folder(experiment)
        reproduce(folder, jobs, allow_missing=allow_missing, only=only or (), slurm=on == "slurm", wait=wait)
    except KeyboardInterrupt as reason:
        typer.echo(f"interrupted; {reason if reason.args else 'the same command continues'}", err=True)
        raise typer.Exit(130) from None
