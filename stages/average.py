"""Average the checkpoints of one run."""

from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.models.averaging import average_run
from context_nmt.settings.run_layout import RunLayout


def main(
    variant: Annotated[str, typer.Argument(help="A variant of params.yaml.")],
    seed: Annotated[int, typer.Argument(help="The seed of the run.")],
) -> None:
    """Average the last or the best checkpoints of a run, and collect all that translation needs in one folder.

    Reads metrics/plans/VARIANT/averaging.json, runs/training/VARIANT-SEED and the text models of the corpus. Writes

        runs/models/VARIANT-SEED/model.safetensors     weights, and as metadata the plan and the averaged checkpoints
        runs/models/VARIANT-SEED/decoding.json         the variant's search settings
        runs/models/VARIANT-SEED/text/                 truecasers, BPE codes, vocabularies

    Example: python stages average transformer 1
    """
    average_run(RunLayout().with_plan_of(variant), variant, seed)


if __name__ == "__main__":
    run(main)
