"""Starts a new experiment."""

from pathlib import Path
from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.new_experiment import create_experiment, next_steps


def main(
    name: Annotated[str, typer.Argument(help="Of the new folder in experiments/.")],
    corpus: Annotated[str | None, typer.Option(help="Folder in data/; default: the default experiment's.")] = None,
    source: Annotated[str | None, typer.Option(help="Source language: the ending of its files, like en.")] = None,
    target: Annotated[str | None, typer.Option(help="Target language: the ending of its files, like de.")] = None,
) -> None:
    """Start an experiment from the default one: the same dvc.yaml and recipe, its own variants, runs and results.

    Writes

        experiments/NAME/dvc.yaml       the root's, byte for byte
        experiments/NAME/params.yaml    the root's, with the corpus and languages given

    A corpus that is not the default experiment's has the splits train, valid and test: change that in params.yaml.

    Example: python -m stages.experiment mine-en-cs --corpus mine --source en --target cs
    """
    typer.echo(next_steps(Path(), create_experiment(Path(), name, corpus=corpus, source=source, target=target)))


if __name__ == "__main__":
    run(main)
