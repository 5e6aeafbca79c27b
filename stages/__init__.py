"""The stages of the pipeline, one file each; `python stages NAME --help` describes a stage."""

from typing import Annotated

import typer

Variant = Annotated[str, typer.Argument(help="A variant of params.yaml.")]
Seed = Annotated[int, typer.Argument(help="The seed of the run.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …; auto takes a GPU if there is one.")]
