"""Check claims, train their systems again, and count the seeds that a comparison needs."""

from pathlib import Path
from typing import Annotated

import typer

from context_nmt.files import UserError

PaperName = Annotated[
    str, typer.Argument(metavar="PAPER", help="The name of a file in src/context_nmt/report/papers, without .yaml.")
]
ClaimName = Annotated[str, typer.Argument(metavar="CLAIM", help="The part of the claim's id after PAPER/.")]


def verify(
    paper: PaperName = "",
    claim: ClaimName = "",
    experiment: Annotated[
        Path, typer.Option(metavar="EXPERIMENT", help="Check the claims of this experiment's own report.")
    ] = Path(),
    train: Annotated[
        bool, typer.Option("--train", help="Instead, train the systems of one claim again and compare the runs.")
    ] = False,
    seeds: Annotated[
        str | None, typer.Option(help="With --train, the seeds to train, such as 1,2. Default: the committed ones.")
    ] = None,
    copy: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="With --train, a new folder outside the project for its clone; the same command continues there.",
        ),
    ] = None,
) -> None:
    """Check that claims follow from the files in git.

    For each claim, the command prints whether it agrees with what is committed, or what differs. It needs no model and
    no DVC cache. In each experiment with a number for the claim's paper, the files of all systems are compared with
    their hashes in dvc.lock. BLEU and other scores of the compared systems are computed from the translations and the
    references, and accuracies from the outcomes of contrastive items; rows of results.csv, differences over seeds,
    intervals, p-values and verdicts are computed from the rows of all runs. If the references are not here, those of a
    miniature are generated; for other corpora, the scores are taken from their rows. Speeds, and measures that need a
    model or the training text, are also taken from their rows. The last lines name what was not recomputed. Pages and
    results.json are not compared.

    --train clones the project at the last commit, runs what `context-nmt repro EXPERIMENT --only VARIANT` runs, and
    compares each new run with the committed ones. A run whose files are equal in every byte passes. A run of a
    committed seed with other bytes fails on the same kind of processor. Any other run passes if its number is inside
    the prediction interval of a further run (Student's t over the committed seeds); if nothing has changed, the
    probability that any run of the claim is outside is at most 1% (Bonferroni). With fewer than three committed seeds
    there is no interval, and such a run is not checked. The exit status is 1 unless all runs pass.

        Reads    EXPERIMENT/metrics/, dvc.lock    the files in git, also those of experiments/*
                 EXPERIMENT/data/CORPUS/          the references, if they are here
        Writes   standard output                  a line for each claim, with a line for each difference below it;
                                                  the exit status is 1 if anything differs
                 FOLDER/                          with --train, a clone with the new runs
        Example  context-nmt verify dual_contextual enc-dc-is-better-than-the-transformer
    """
    if not train and (seeds or copy):
        raise UserError("--seeds and --copy need --train")
    if train:
        if not claim or not copy:
            raise UserError("--train needs PAPER and CLAIM, and --copy FOLDER, where the same command continues")
        _train(experiment, paper, claim, seeds, copy)
        return
    from context_nmt.report.verification import check_claims, coverage_notes
    from context_nmt.settings.parameters import Experiment, experiment_folder

    checked, shown = [], set[str]()
    for one in check_claims(Experiment(experiment_folder(experiment)), paper, claim):
        typer.echo(f"{one.id}: {'differs' if one.faults else 'agrees'}: {one.verdict}")
        new = [line for line in map(str, one.faults) if line not in shown]  # a file may count for many claims
        for line in new:
            typer.echo(f"    {line}")
        shown |= {*new}
        checked.append(one)
    typer.echo("")
    for note in coverage_notes(checked):
        typer.echo(note)
    if wrong := sum(bool(one.faults) for one in checked):
        raise UserError(f"{wrong} of {len(checked)} claims differ; `git status` shows files that were changed here")


def _train(experiment: Path, paper: str, claim: str, seeds: str | None, copy: Path) -> None:
    from context_nmt.pipeline.retraining import FALSE_ALARM_PROBABILITY, compare_runs, designated_outcome, train_again
    from context_nmt.settings.parameters import Experiment, experiment_folder

    outcome = designated_outcome(Experiment(experiment_folder(experiment)), paper, claim)
    try:
        chosen = [int(word) for word in seeds.split(",")] if seeds else [*outcome.results.settings.seeds]
    except ValueError:
        raise UserError(f"--seeds is {seeds!r}; it must be numbers such as 1,2") from None
    runs = compare_runs(outcome, train_again(outcome, chosen, copy))
    for run in runs:
        typer.echo(run)
    typer.echo(f"probability that any of {len(runs)} runs is outside by chance: at most {FALSE_ALARM_PROBABILITY:.0%}")
    if failed := [f"{run.name}: {run.verdict}" for run in runs if not run.passes]:
        raise UserError("; ".join(failed))


def power(
    name: Annotated[
        str, typer.Argument(metavar="PAPER|EXPERIMENT", help="Default: every experiment with three seeds or more.")
    ] = "",
    difference: Annotated[
        list[float] | None, typer.Option(help="True difference to detect; can be repeated. Default: 0.3, 0.5 and 1.")
    ] = None,
) -> None:
    """Show how many seeds a comparison needs for 80% and 90% power.

    The standard deviation is that of the paired differences in BLEU over the seeds that have been run: between each
    system and its baseline on the first test set or, for a PAPER, in its primary claims. The variance is not shrunk.
    Power is the probability that a two-sided paired t test (noncentral t) finds the difference, in its direction. The
    level is 5% or, for a PAPER, the level of its primary claims (5% unless preregistered otherwise) divided by their
    number, the first step of Holm's correction. Numbers start at five, the fewest seeds for a verdict.
    A deviation from few seeds is itself uncertain: with five, the true one can be 0.6 to 2.9 times as large (95%).

        Reads    metrics/           of all experiments, or of EXPERIMENT
        Writes   standard output    a row for each pair of systems: its seeds, the standard deviation of its
                                    differences, and for each --difference the seeds for 80% / 90% power; then the
                                    pooled deviation, with the smallest and the largest
        Example  context-nmt power experiments/miniature-dual-contextual --difference 0.5
    """
    from context_nmt.report.power import POWERS, pairs_of_experiment, pairs_of_paper, power_table
    from context_nmt.report.published import read_papers
    from context_nmt.results.metrics import SIGNIFICANCE_LEVEL
    from context_nmt.results.reading import read_all, read_results
    from context_nmt.settings.parameters import Experiment, experiment_folder

    differences, papers = difference or [0.3, 0.5, 1.0], read_papers()
    if wrong := [value for value in differences if not 0 < value < float("inf")]:
        raise UserError(f"--difference is {wrong[0]:g}; it must be a number above 0")
    if name in papers:
        tables = {name: pairs_of_paper(papers[name], read_all(Experiment(experiment_folder(Path()))))}
    elif name:
        folder = experiment_folder(Path(name))
        tables = {str(folder): (pairs_of_experiment(read_results(Experiment(folder))), SIGNIFICANCE_LEVEL)}
    else:
        experiments = read_all(Experiment(experiment_folder(Path())))
        found = {one.folder or "default experiment": pairs_of_experiment(one) for one in experiments}
        tables = {title: (pairs, SIGNIFICANCE_LEVEL) for title, pairs in found.items() if pairs}
    tables = {title: of for title, of in tables.items() if of[0]}
    if not tables:
        raise UserError(f"{name or 'the project'}: no two systems have three seeds or more, so their spread is unknown")
    for title, (pairs, level) in tables.items():
        powers = " / ".join(f"{power:.0%}" for power in POWERS)
        typer.echo(f"{title}: seeds for {powers} power at a level of {level:.2g}, by difference in BLEU")
        rows = power_table(pairs, differences, level)
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
