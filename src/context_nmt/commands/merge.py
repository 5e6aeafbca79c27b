"""Resolve the conflicts of a git merge in the files that stages write."""

from pathlib import Path

import typer


def merge() -> None:
    """Resolve conflicts of `git merge` in dvc.lock and results.

    For two clones that ran stages of one experiment. Each dvc.lock is merged by stages: what one side has run stays,
    and of what both have run, that of this side. Other files that stages write are kept as on this side. Conflicts in
    all other files, such as params.yaml, are left to you.

    Then get the models of the other side, and let DVC run what is not up to date: plans, tests and tables, but no
    training that a side has done.

    Reads

        git's index                 the versions of each file in conflict, in this folder and below

    Writes

        dvc.lock                    also that of every experiment, merged
        metrics/, reports/          files in conflict, as on this side
        src/code/                   the same
        standard output             what was merged, kept, and left to you

    For example

        context-nmt merge
    """
    from context_nmt.pipeline.merging import resolve

    for line in resolve(Path()):
        typer.echo(line)
