"""Describe the variants of an experiment."""

from pathlib import Path
from typing import Annotated

import typer


def describe(
    parameters: Annotated[Path, typer.Argument(metavar="PARAMETERS", help="The params.yaml with the variants.")] = Path(
        "params.yaml"
    ),
    vocabulary: Annotated[
        int | None,
        typer.Option(min=1, help="Units per side. Default: the vocabularies of the experiment's binarized corpus."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Show each variant's size and mechanisms.

    Shows parameters in total and by part, FLOPs per target token (training: forward and backward pass over a sentence
    pair of 25 and 25 units), and the mechanism in each slot of each layer. Nothing is trained.

    Reads

        PARAMETERS         recipe and variants
        runs/binarized/    sizes of the vocabularies, unless --vocabulary is given

    Writes

        standard output    tables, or with --json {VARIANT: {"parameters": int,
                           "flops_per_target_token": int,
                           "parameters_by_part": {…}, "slots": {…}}}

    For example

        context-nmt describe params.yaml --vocabulary 3000
    """
    from context_nmt.pipeline.descriptions import print_descriptions

    print_descriptions(parameters, vocabulary, as_json=as_json)
