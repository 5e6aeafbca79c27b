"""Start a new experiment."""

from pathlib import Path
from typing import Annotated

import typer


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new folder.")],
    like: Annotated[
        str | None,
        typer.Option(
            help="The experiment to start from; '.' is the default one. Default: '.' for generated corpora,"
            " multi30k-en-de for others."
        ),
    ] = None,
    corpus: Annotated[str | None, typer.Option(help="Folder in data/. Default: the corpus of LIKE.")] = None,
    source: Annotated[str | None, typer.Option(help="Source language, as in the names of its files: en.")] = None,
    target: Annotated[str | None, typer.Option(help="Target language, as in the names of its files: de.")] = None,
) -> None:
    """Start a new experiment or a new project.

    In a project, this makes experiments/NAME with the recipe and the variants of LIKE, but its own runs and results.
    Elsewhere it makes the folder NAME: a project with the pipeline, a copy of the installed code, and one experiment.

    For a corpus other than that of LIKE, the splits are called train, valid and test; change this in params.yaml if
    needed.

    Reads

        dvc.yaml                        the pipeline
        experiments/LIKE/params.yaml    recipe and variants; ./params.yaml if LIKE is '.'

    Writes

        experiments/NAME/dvc.yaml       a copy
        experiments/NAME/params.yaml    that of LIKE, changed by the options
        experiments/NAME/.dvc/config    makes the folder a DVC repository with the project's cache; .dvcignore
        experiments/NAME/data/CORPUS    a link to data/CORPUS, if the corpus is your own

    For example

        context-nmt new mine-en-cs --corpus mine --source en --target cs
    """
    from context_nmt.pipeline.new_experiment import StartingPoint, create_experiment, create_project, next_steps

    recipe = StartingPoint(like, corpus, source, target)
    is_project = Path("dvc.yaml").is_file() and Path("data/params.yaml").is_file()
    folder = create_experiment(Path(), name, recipe) if is_project else create_project(name, recipe)
    typer.echo(next_steps(Path(), folder))
