"""Starts a new experiment."""

from pathlib import Path
from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.new_experiment import create_experiment, next_steps


def main(
    name: Annotated[str, typer.Argument(help="Of the new folder in experiments/.")],
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
    """Start an experiment with the recipe and variants of another one; runs and results are its own.

    Writes

        experiments/NAME/dvc.yaml       the root's, byte for byte
        experiments/NAME/params.yaml    that of LIKE, with the corpus and languages given

    A corpus that is not that of LIKE has the splits train, valid and test: change that in params.yaml.

    Example: python -m stages.experiment mine-en-cs --corpus mine --source en --target cs
    """
    folder = create_experiment(Path(), name, like=like, corpus=corpus, source=source, target=target)
    typer.echo(next_steps(Path(), folder))


if __name__ == "__main__":
    run(main)
