"""Start, check, describe, run and merge experiments."""

import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

import typer

from context_nmt.files import UserError

ExperimentFolder = Annotated[
    Path, typer.Argument(metavar="EXPERIMENT", help="The experiment's folder, or its name in experiments/.")
]


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new folder.")],
    like: Annotated[
        str | None,
        typer.Option(
            help="The experiment to start from. Default: '.', the default experiment; multi30k-en-de for your own"
            " corpus."
        ),
    ] = None,
    corpus: Annotated[str | None, typer.Option(help="Folder in data/. Default: the corpus of LIKE.")] = None,
    source: Annotated[
        str | None, typer.Option(help="Source language, as in the names of the corpus's files, such as en.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Target language, as in the names of the corpus's files, such as de.")
    ] = None,
) -> None:
    """Start a new experiment or a new project.

    In a project, this creates experiments/NAME with the recipe and the variants of LIKE, and with its own runs and
    results. Elsewhere it creates the folder NAME: a project with the pipeline, a copy of the installed code, and one
    experiment. If CORPUS is not the corpus of LIKE, its splits must be called train, valid and test; if yours have
    other names, change params.yaml.

        Reads    dvc.yaml                        the pipeline
                 experiments/LIKE/params.yaml    recipe and variants; ./params.yaml if LIKE is '.'
        Writes   experiments/NAME/dvc.yaml       a copy
                 experiments/NAME/params.yaml    a copy of LIKE's, changed by the options
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
    affected: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Instead, show what a change to this code file puts out of date."),
    ] = None,
) -> None:
    """Check all experiments of a project.

    Each experiments/NAME/dvc.yaml must be a copy of the root's, each params.yaml must have known keys with allowed
    values, and each variant's model must build (without weights or data). `context-nmt repro` checks its own experiment
    before it runs, and also that the corpus exists or is listed under `download`.

    --affected shows the stages that can run a file, and the modules loaded by name, such as mechanisms, whose code
    includes it. Comments, docstrings and messages for users do not count as changes.

        Reads    dvc.yaml, params.yaml    in ROOT and in every experiments/NAME
                 data/params.yaml         corpora that can be generated or downloaded
                 src/, stages/            the code, which src/code/ must match
                 .dvc/config, .dvcignore  in every experiments/NAME
        Writes   standard error           a line per problem; the exit status is then 1
                 standard output          what was checked, if there is no problem; or what is affected
        Example  context-nmt check
    """
    from context_nmt.pipeline.checks import affected_code, check_experiments

    if not (root / "data/params.yaml").is_file():
        raise UserError(f"{root} is not a project: it has no data/params.yaml")
    if affected is None:
        typer.echo(f"{check_experiments(root)} experiments checked")
        return
    stages, modules = affected_code(root, affected)
    if stages:
        typer.echo(f"stages, in all experiments, with the stages after them: {', '.join(stages)}")
    if modules:
        typer.echo(f"stages of the plans that name these modules: {', '.join(modules)}")
    if not stages and not modules:
        typer.echo("no stage or plan has this file among its code")


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

    The tables have the parameters in total and by part, the FLOPs per target token (forward and backward pass over a
    sentence pair of 25 and 25 units), and the mechanism in each slot of each layer. Nothing is trained.

    --rates shows each variant's peak learning rate instead, and its ratio to the baseline's rate, which should be 1 if
    the systems are trained alike.

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
        int | None, typer.Option(min=1, help="Stages to run at a time. Default: one per GPU, or per core without GPUs.")
    ] = None,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Rebuild missing files only if a stage that runs needs them.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VARIANT",
            help="Run this variant or external system, and those that it starts from, learns from or is compared with;"
            " can be repeated.",
        ),
    ] = None,
) -> None:
    """Check an experiment and run the stages that are not up to date.

    Independent stages run in parallel; `dvc repro` runs one stage at a time, with the same results. No more stages run
    at a time than there are runs (variants times seeds). Unless you set OMP_NUM_THREADS, it is each stage's share of
    the cores. If a stage fails, the stages that depend on it are not run, but all others are. Ctrl-C stops all stages;
    rerun the same command to continue.

    `launch` in params.yaml sets the resources of each kind of stage: command, GPUs, cores, memory, hours. Two trainings
    never share a GPU. A file launch.yaml in the project's folder, which git ignores, overrides `launch` on this machine
    or cluster. With --on slurm, the code and plan stages run here and each other stage becomes a job that starts after
    the jobs it depends on. `context-nmt status` shows the jobs, and `context-nmt cancel` stops them.

    A terminal shows the progress of each stage below the log. Elsewhere, long stages report every 30 seconds, or every
    CONTEXT_NMT_PROGRESS_SECONDS seconds. At the end, the main scores are printed.

    Missing files are rebuilt, so a clone without the DVC cache trains everything. With --allow-missing, it trains only
    new variants and seeds, and the ones that these start or learn from. With --only, the tables show all other variants
    as they are: results from other code, settings or text are marked as out of date and have no differences.

        Reads    EXPERIMENT/dvc.yaml, params.yaml    the pipeline and its parameters
                 EXPERIMENT/data/CORPUS/             the text; downloaded or generated first if listed under download
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


def why(
    stage: Annotated[str, typer.Argument(metavar="STAGE", help="A stage in dvc.lock, such as train@transformer-1.")],
    experiment: ExperimentFolder = Path(),
) -> None:
    """Show what has changed since a stage or a stage before it ran.

    Each line names a file of code, settings or data that has changed since a stage read it. For src/code/STAGE.json,
    the line lists the changed code files; for a plan, the changed keys with both values. The earlier versions come from
    git's history. Code changes count even before `dvc repro src/dvc.yaml` records them. Changes of params.yaml are
    shown key by key when the plan stage has run.

        Reads    EXPERIMENT/dvc.lock                       the hashes of what each stage has read
                 EXPERIMENT/metrics/plans/, params.yaml    settings
                 src/                                      code, and the history of src/code and plans in git
        Writes   standard output                           a line for each changed file
        Example  context-nmt why train@transformer-6 experiments/miniature-documents
    """
    from context_nmt.pipeline.why import reasons
    from context_nmt.settings.parameters import Experiment, experiment_folder

    found = reasons(Experiment(experiment_folder(experiment)), stage)
    for line in found or [f"{stage}: nothing has changed since it ran"]:
        typer.echo(line)


def status(experiment: ExperimentFolder = Path()) -> None:
    """Show the state of the stages in the last submission to Slurm.

    For each stage that the last `context-nmt repro --on slurm` submitted, the command prints the state and the last
    line of the log. A stage is waiting for the stages it depends on, queued, running, done or failed. It is lost if its
    job left Slurm's queue without reporting how it ended, and not run if a stage that it depends on has failed.

        Reads    EXPERIMENT/params.yaml           to see whether it has changed since then
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
        lines, _ = slurm.read_log(stage)
        last_line = lines[-1].text if lines else ""
        rows.append((number, stage, states[stage].word, states[stage].detail or last_line))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    line_width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for row in rows:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()[:line_width])
    parameters = slurm.experiment.parameters
    has_changed = parameters.stat().st_mtime > slurm.record.stat().st_mtime
    if has_changed and not all(state.has_ended for state in states.values()):
        typer.echo(
            f"{parameters} has changed since the jobs were submitted; rerun context-nmt repro when they have ended"
        )
    counts = Counter(state.word for state in states.values())
    typer.echo(", ".join(f"{count} {word}" for word, count in counts.items()))


def cancel(experiment: ExperimentFolder = Path()) -> None:
    """Cancel the submitted Slurm jobs and wait until they have ended.

    These are the jobs of `context-nmt repro --on slurm`. Trainings save their state first; the same `context-nmt repro`
    continues them.

        Reads    EXPERIMENT/runs/scratch/jobs/    the jobs that were submitted last
        Writes   EXPERIMENT/runs/scratch/jobs/    a line in the log of each cancelled job
        Example  context-nmt cancel multi30k-en-de
    """
    from context_nmt.pipeline.slurm import Slurm
    from context_nmt.settings.parameters import Experiment, experiment_folder

    count = Slurm(Experiment(experiment_folder(experiment))).cancel()
    typer.echo(f"{count} jobs cancelled" if count else "no jobs to cancel")


def merge() -> None:
    """Resolve conflicts of `git merge` in dvc.lock and results.

    Use it when two clones have run stages of one experiment. Each dvc.lock is merged stage by stage: a stage that one
    side has run is kept; if both sides have run it, this side's version is kept. For other files that stages write,
    this side's version is kept. Conflicts in all other files, such as params.yaml, are left to you.

    Then get the other side's models, and let DVC run what is not up to date: plans, tests and tables, but no training
    that either side has done.

        Reads    git's index                        the versions of each file in conflict, here and below
        Writes   dvc.lock                           also that of every experiment, merged
                 metrics/, reports/, src/code/      files in conflict, as on this side
                 standard output                    what was merged, kept, and left to you
        Example  context-nmt merge
    """
    from context_nmt.pipeline.dvc import resolve

    for line in resolve(Path()):
        typer.echo(line)


def pack(
    experiment: ExperimentFolder,
    output: Annotated[Path, typer.Argument(metavar="FILE", help="The archive to write, NAME.tar.xz.")],
    only: Annotated[
        list[str] | None, typer.Option(metavar="VARIANT", help="Pack only this variant; can be repeated.")
    ] = None,
    seeds: Annotated[list[int] | None, typer.Option(help="Pack only this seed; can be repeated.")] = None,
) -> None:
    """Pack runs so that a GPU machine without DVC can train them.

    The archive has the runs that are out of date, and the runs that they start from, unless these are here. Text must
    be up to date (`dvc repro bpe`). Variants that learn from a teacher are refused. On the GPU machine,
    `python -m tarfile -e FILE` unpacks the archive, and `python run.py` in its folder trains, translates and analyses,
    one run after another, in the order of `--only` or of `variants`; it needs torch, numpy, pydantic, safetensors,
    sacremoses, subword-nmt, sacrebleu and nltk. If it is interrupted, the same command continues. Then
    `python run.py --pack-results results.tar` packs the results of all finished steps for `context-nmt unpack`.

        Reads    EXPERIMENT/metrics/plans/            settings
                 EXPERIMENT/runs/binarized/           ids
                 EXPERIMENT/runs/tokenized/, subwords/    truecasers, BPE codes, sentencepiece models, test sets
                 EXPERIMENT/data/                     test sets
                 EXPERIMENT/runs/models/              of the runs that others start from
                 src/                                 the code that these stages run
        Writes   FILE                                 the archive
                 standard output                      the stages that it runs
        Example  context-nmt pack tvsub-zh-en tvsub.tar.xz --only transformer
    """
    from context_nmt.pipeline.packing import pack as pack_runs
    from context_nmt.settings.parameters import Experiment, experiment_folder

    for stage in pack_runs(Experiment(experiment_folder(experiment)), output, only=only or (), seeds=seeds or ()):
        typer.echo(stage)


def unpack(
    archive: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="The file that run.py --pack-results wrote, or all its parts, in order."),
    ],
) -> None:
    """Unpack the results of packed runs into their experiment.

    Every file goes where its stage would have written it; DVC then considers these stages up to date. Run the command
    in the project's folder. Results from other code, plans or ids than this project's are refused, as are changed
    files. A stage that has run here with other outputs is kept, unless it, or a stage before it, is out of date. If
    checkpoints or weights are missing, use `context-nmt repro --allow-missing` afterwards, because `dvc repro` would
    train again.

        Reads    FILE                                  the results
        Writes   EXPERIMENT/runs/decoded/, models/, training/    translations in units, weights if they were packed
                 EXPERIMENT/metrics/curves/, hypotheses/         learning curves, translations
                 EXPERIMENT/metrics/contrastive/, analyses/      scores of given translations, analyses
                 EXPERIMENT/metrics/machines/                    processor, versions and commit of each stage
                 EXPERIMENT/dvc.lock                             the stages
                 standard output                                 a line for each stage
        Example  context-nmt unpack results.tar
    """
    from context_nmt.pipeline.unpacking import unpack as unpack_results

    for line in unpack_results(Path(), archive):
        typer.echo(line)
