"""Starts a new experiment."""

from pathlib import Path
from typing import Annotated

import typer


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the new folder in experiments/.")],
    like: Annotated[
        str | None,
        typer.Option(
            help="The experiment to start from, '.' for the default one; without it, the default one for its corpus,"
            " multi30k-en-de for another."
        ),
    ] = None,
    corpus: Annotated[str | None, typer.Option(help="Folder in data/; without it, that of LIKE.")] = None,
    source: Annotated[str | None, typer.Option(help="Source language: the ending of its files, like en.")] = None,
    target: Annotated[str | None, typer.Option(help="Target language: the ending of its files, like de.")] = None,
) -> None:
    """Start a new experiment with the recipe of an existing one.

    It has the variants of the existing one, too; runs and results are its own. A corpus that is not that of LIKE has
    the splits train, valid and test: change that in params.yaml.

    Reads

        dvc.yaml                        the pipeline
        experiments/LIKE/params.yaml    recipe and variants; './' if LIKE is '.'

    Writes

        experiments/NAME/dvc.yaml       a copy
        experiments/NAME/params.yaml    that of LIKE, with what the options say
        experiments/NAME/.dvc/config    makes the folder a DVC repository with the project's cache; .dvcignore
        experiments/NAME/data/CORPUS    a link to data/CORPUS, if the corpus is your own

    For example

        context-nmt new mine-en-cs --corpus mine --source en --target cs
    """
    from context_nmt.pipeline.new_experiment import create_experiment, next_steps

    folder = create_experiment(Path(), name, like=like, corpus=corpus, source=source, target=target)
    typer.echo(next_steps(Path(), folder))
