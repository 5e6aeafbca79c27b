"""Show the jobs of an experiment."""

from pathlib import Path
from typing import Annotated

import typer


def status(
    experiment: Annotated[
        Path,
        typer.Argument(metavar="EXPERIMENT", help="Its folder, or its name in experiments/."),
    ] = Path(),
) -> None:
    """Show the jobs that `context-nmt repro --on slurm` has submitted last: their states and the last line of each log.

    A job waits for those that it depends on, is queued, is running, is done or has failed; it is lost if it has left
    Slurm's queue without a word, and was not run if one that it depends on has failed. The logs are in
    EXPERIMENT/runs/scratch/jobs/.
    """
    from collections import Counter

    from rich.console import Console
    from rich.table import Table

    from context_nmt.files import read_lines
    from context_nmt.pipeline.slurm import Slurm
    from context_nmt.settings.folder import Experiment, experiment_folder

    slurm = Slurm(Experiment(experiment_folder(experiment)))
    states = slurm.states()
    table = Table("job", "stages", "state", "last line", box=None, pad_edge=False)
    for job, state in states.items():
        last = read_lines(log)[-1:] if (log := slurm.log(job)).is_file() else []
        table.add_row(job.number, "\n".join(job.stages), state.word, state.detail or "".join(last))
    Console(soft_wrap=not Console().is_terminal).print(table)
    counts = Counter(state.word for state in states.values())
    print(", ".join(f"{count} {word}" for word, count in counts.items()) or "no jobs have been submitted")
