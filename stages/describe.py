"""Counts parameters and FLOPs of every variant."""

from pathlib import Path
from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.evaluation.descriptions import print_descriptions, vocabulary_sizes


def main(
    parameters: Annotated[Path, typer.Argument(help="The params.yaml whose variants are described.")] = Path(
        "params.yaml"
    ),
    vocabulary: Annotated[
        int | None, typer.Option(help="Units per side; without it those of the experiment's binarized corpus.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    output: Annotated[Path | None, typer.Option(help="Write the JSON to this file instead.")] = None,
) -> None:
    """Show what each variant of a params.yaml is, without training or data.

    Parameters in all and by part, FLOPs per target token (training: forward and backward pass over a sentence pair of
    25 and 25 units), and what fills each slot of each layer. JSON is

        {VARIANT: {"parameters": int, "flops_per_target_token": int, "parameters_by_part": {...}, "slots": {...}}}

    Example: python -m stages.describe experiments/wmt14-en-de-lexical-shortcuts/params.yaml --vocabulary 41138
    """
    print_descriptions(parameters, vocabulary_sizes(parameters, vocabulary), as_json=as_json, output=output)


if __name__ == "__main__":
    run(main)
