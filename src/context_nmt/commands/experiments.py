"""Start, check, describe, run and merge experiments."""

import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

import typer

from context_nmt.files import UserError

ExperimentFolder = Annotated[
    Path, typer.Argument(metavar="EXPERIMENT", help="Its folder, or its name in experiments/.")
]


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new folder.")],
    like: Annotated[
        str | None,
        typer.Option(help="Start from this one. Default: '.', the default one, or multi30k-en-de for your own corpus."),
    ] = None,
    corpus: Annotated[str | None, typer.Option(help="Folder in data/. Default: the corpus of LIKE.")] = None,
    source: Annotated[str | None, typer.Option(help="Source language, as in the names of its files: en.")] = None,
    target: Annotated[str | None, typer.Option(help="Target language, as in the names of its files: de.")] = None,
) -> None:
    """Start a new experiment or a new project.

    In a project, this makes experiments/NAME with the recipe and the variants of LIKE, but its own runs and results.
    Elsewhere it makes the folder NAME: a project with the pipeline, a copy of the installed code, and one experiment.
    The splits of a corpus other than that of LIKE are called train, valid and test; if yours are not, change
    params.yaml.

        Reads    dvc.yaml                        the pipeline
                 experiments/LIKE/params.yaml    recipe and variants; ./params.yaml if LIKE is '.'
        Writes   experiments/NAME/dvc.yaml       a copy
                 experiments/NAME/params.yaml    that of LIKE, changed by the options
                 experiments/NAME/.dvc/config    makes the folder a DVC repository with the project's cache
                 experiments/NAME/.dvcignore
                 experiments/NAME/data/CORPUS    a link to data/CORPUS, if the corpus is your own
        Example  context-nmt new mine-en-cs --corpus mine --source en --target cs
    """
    from context_nmt.pipeline.new_experiment import StartingPoint, create_experiment, create_project, next_steps

    recipe = StartingPoint(like, corpus, source, target)
    is_project = Path("dvc.yaml").is_file() and Path("data/params.yaml").is_file()
    folder = create_experiment(Path(), name, recipe) if is_project else create_project(name, recipe)
    typer.echo(next_steps(Path(), folder))


def check(
    root: Annotated[
        Path, typer.Argument(metavar="ROOT", help="The project's folder: dvc.yaml, params.yaml, experiments/.")
    ] = Path(),
) -> None:
    """Check all experiments of a project.

    Each experiments/NAME/dvc.yaml must be equal to the root's, each params.yaml must have known keys with allowed
    values, and each variant's model must build (without weights or data). `context-nmt repro` checks its experiment,
    and that the corpus exists or is under download, before it runs.

        Reads    dvc.yaml, params.yaml    in ROOT and in every experiments/NAME
                 data/params.yaml         corpora that can be generated or downloaded
                 src/, stages/            the code, which src/code/ must match
                 .dvc/config, .dvcignore  in every experiments/NAME
        Writes   standard error           a line per problem; the exit status is then 1
                 standard output          what was checked, if there is no problem
        Example  context-nmt check
    """
    from context_nmt.pipeline.checks import check_experiments

    if not (root / "data/params.yaml").is_file():
        raise UserError(f"{root} is no project (no data/params.yaml)")
    typer.echo(f"{check_experiments(root)} experiments checked")


def describe(
    parameters: Annotated[Path, typer.Argument(metavar="PARAMETERS", help="The params.yaml with the variants.")] = Path(
        "params.yaml"
    ),
    vocabulary: Annotated[
        int | None,
        typer.Option(min=1, help="Units per side. Default: the vocabularies of the experiment's binarized corpus."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    rates: Annotated[
        bool, typer.Option("--rates", help="Show learning rates; in a project's root, those of all experiments.")
    ] = False,
) -> None:
    """Show each variant's size and mechanisms.

    Shows parameters in total and by part, FLOPs per target token (training: forward and backward pass over a sentence
    pair of 25 and 25 units), and the mechanism in each slot of each layer. Nothing is trained.

    --rates shows instead each variant's peak learning rate and its ratio to that of the baseline, which should be 1
    where systems are trained alike.

        Reads    PARAMETERS         recipe and variants
                 runs/binarized/    sizes of the vocabularies, unless --vocabulary is given
        Writes   standard output    tables, or with --json
                                    {VARIANT: {"parameters": int, "flops_per_target_token": int,
                                    "parameters_by_part": {…}, "slots": {…}}};
                                    with --rates {EXPERIMENT: {VARIANT: {"peak": float, …}}}
        Example  context-nmt describe params.yaml --vocabulary 3000
    """
    if rates and vocabulary:
        raise UserError("--rates cannot be combined with --vocabulary")
    if rates:
        from context_nmt.pipeline.rates import print_rates

        print_rates(parameters, as_json=as_json)
    else:
        from context_nmt.pipeline.descriptions import print_descriptions

        print_descriptions(parameters, vocabulary, as_json=as_json)


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
        bool, typer.Option("--allow-missing", help="Remake missing files only if a stage that runs needs them.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VARIANT",
            help="Run this variant, and those it starts from, learns from or is compared with. Repeat it for several.",
        ),
    ] = None,
) -> None:
    """Check an experiment, and run the stages that are not up to date.

    Independent stages run side by side; `dvc repro`, which runs one at a time, gives the same results. No more stages
    run at once than there are runs (variants times seeds). OMP_NUM_THREADS, unless it is set, is each stage's share of
    the cores. If a stage fails, only those that depend on it do not run. Ctrl-C stops all; the same command continues.

    `launch` in params.yaml says what stages need: commands, GPUs, cores, memory, hours. Two trainings never share a
    GPU. launch.yaml, in the project's folder and not in git, has other values for this machine or cluster. With
    --on slurm, the code and plan stages run here and all others as jobs, each after those that it depends on; see
    them with `context-nmt status`, and stop them with `context-nmt cancel`.

    A terminal shows the progress of each stage below the log. Elsewhere, long stages report every 30 seconds, or as
    often as CONTEXT_NMT_PROGRESS_SECONDS says. At the end, the main scores are printed.

    Missing files are remade, so a clone without the DVC cache trains everything; with --allow-missing, only new
    variants and seeds, and those they start or learn from. With --only, the tables have this variant, and the others
    as they are: results of other code, settings or text are marked as out of date, without differences.

        Reads    EXPERIMENT/dvc.yaml, params.yaml    the pipeline and its parameters
                 EXPERIMENT/data/CORPUS/             the text; downloaded or generated first if under download
        Writes   EXPERIMENT/metrics/, reports/       results
                 EXPERIMENT/runs/                    large files, also in the DVC cache
                 EXPERIMENT/dvc.lock                 the stages that have run
        Example  context-nmt repro multi30k-en-de --jobs 4
    """
    from context_nmt.pipeline.repro import reproduce
    from context_nmt.settings.parameters import experiment_folder

    try:
        folder = experiment_folder(experiment)
        reproduce(folder, jobs, allow_missing=allow_missing, only=only or (), slurm=on == "slurm", wait=wait)
    except KeyboardInterrupt as reason:
        typer.echo(f"interrupted; {reason if reason.args else 'the same command continues'}", err=True)
        raise typer.Exit(130) from None


def status(experiment: ExperimentFolder = Path()) -> None:
    """Show the jobs that `context-nmt repro --on slurm` has submitted last: the state and the last line of each stage.

    A stage waits for those that it depends on, is queued, running or done, or has failed. It is lost if its job left
    Slurm's queue without reporting how it ended, and was not run if a stage that it depends on has failed.

        Reads    EXPERIMENT/params.yaml           whether it has changed since then
                 EXPERIMENT/runs/scratch/jobs/    the jobs that were submitted last, with their logs
        Writes   standard output                  a line for each stage
        Example  context-nmt status multi30k-en-de
    """
    from context_nmt.pipeline.slurm import Slurm
    from context_nmt.settings.parameters import Experiment, experiment_folder

    slurm = Slurm(Experiment(experiment_folder(experiment)))
    jobs = slurm.read_jobs()
    states = slurm.states(jobs)
    if not jobs:
        typer.echo("no jobs have been submitted")
        return
    rows = [("job", "stage", "state", "last line")]
    for stage, (number, _) in jobs.items():
        said, _ = slurm.read_log(stage)
        last = said[-1].text if said else ""
        rows.append((number, stage, states[stage].word, states[stage].detail or last))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for row in rows:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()[:room])
    settings = slurm.experiment.parameters
    if not all(state.ended for state in states.values()) and settings.stat().st_mtime > slurm.note.stat().st_mtime:
        typer.echo(
            f"{settings} has changed since the jobs were submitted; rerun context-nmt repro when they have ended"
        )
    counts = Counter(state.word for state in states.values())
    typer.echo(", ".join(f"{count} {word}" for word, count in counts.items()))


def cancel(experiment: ExperimentFolder = Path()) -> None:
    """Cancel the jobs that `context-nmt repro --on slurm` has submitted, and wait until they have ended.

    Trainings save their state first; the same `context-nmt repro` continues them.

        Reads    EXPERIMENT/runs/scratch/jobs/    the jobs that were submitted last
        Writes   EXPERIMENT/runs/scratch/jobs/    that they were cancelled
        Example  context-nmt cancel multi30k-en-de
    """
    from context_nmt.pipeline.slurm import Slurm
    from context_nmt.settings.parameters import Experiment, experiment_folder

    count = Slurm(Experiment(experiment_folder(experiment))).cancel()
    typer.echo(f"{count} jobs cancelled" if count else "no jobs to cancel")


def merge() -> None:
    """Resolve conflicts of `git merge` in dvc.lock and results.

    For two clones that ran stages of one experiment. Each dvc.lock is merged by stages: what one side has run stays,
    and of what both have run, that of this side. Other files that stages write are kept as on this side. Conflicts in
    all other files, such as params.yaml, are left to you.

    Then get the models of the other side, and let DVC run what is not up to date: plans, tests and tables, but no
    training that a side has done.

        Reads    git's index                        the versions of each file in conflict, here and below
        Writes   dvc.lock                           also that of every experiment, merged
                 metrics/, reports/, src/code/      files in conflict, as on this side
                 standard output                    what was merged, kept, and left to you
        Example  context-nmt merge
    """
    from context_nmt.pipeline.dvc import resolve

    for line in resolve(Path()):
        typer.echo(line)
