"""Show the jobs of an experiment."""

import shutil
import sys
from pathlib import Path

import typer

from context_nmt.commands.repro import ExperimentFolder


def status(experiment: ExperimentFolder = Path()) -> None:
    """Show the jobs that `context-nmt repro --on slurm` has submitted last: the state and the last line of each stage.

    A stage waits for those that it depends on, is queued, running or done, or has failed. It is lost if its job left
    Slurm's queue without reporting how it ended, and was not run if a stage that it depends on has failed.

    Reads

        EXPERIMENT/params.yaml           whether it has changed since then
        EXPERIMENT/runs/scratch/jobs/    the jobs that were submitted last, with their logs

    Writes

        standard output                  a line for each stage

    For example

        context-nmt status multi30k-en-de
    """
    from collections import Counter

    from context_nmt.pipeline.slurm import Slurm
    from context_nmt.settings.folder import Experiment, experiment_folder

    slurm = Slurm(Experiment(experiment_folder(experiment)))
    states = slurm.states()
    rows = [("job", "stage", "state", "last line")]
    for stage, (number, state) in states.items():
        said = [line for name, line in slurm.lines(slurm.jobs[number]) if name == stage]
        rows.append((number, stage, state.word, state.detail or "".join(said[-1:])))
    columns = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for row in rows if states else []:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, columns, strict=True)).rstrip()[:room])
    settings = slurm.experiment.parameters
    if not all(state.ended for _, state in states.values()) and settings.stat().st_mtime > slurm.note.stat().st_mtime:
        typer.echo(
            f"{settings} has changed since the jobs were submitted; rerun context-nmt repro when they have ended"
        )
    counts = Counter(state.word for _, state in states.values())
    typer.echo(", ".join(f"{count} {word}" for word, count in counts.items()) or "no jobs have been submitted")
