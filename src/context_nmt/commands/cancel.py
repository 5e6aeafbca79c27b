"""Cancel the jobs of an experiment."""

from pathlib import Path

from context_nmt.commands.repro import ExperimentFolder


def cancel(experiment: ExperimentFolder = Path()) -> None:
    """Cancel the jobs that `context-nmt repro --on slurm` has submitted, and wait until they have ended.

    Trainings save their state first; the same `context-nmt repro` continues them.

    Reads

        EXPERIMENT/runs/scratch/jobs/    the jobs that were submitted last

    Writes

        EXPERIMENT/runs/scratch/jobs/    that they were cancelled

    For example

        context-nmt cancel multi30k-en-de
    """
    from context_nmt.pipeline.slurm import Slurm
    from context_nmt.settings.folder import Experiment, experiment_folder

    count = Slurm(Experiment(experiment_folder(experiment))).cancel()
    print(f"{count} jobs cancelled" if count else "no jobs to cancel")
