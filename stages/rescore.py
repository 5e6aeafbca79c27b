"""Lets a teacher choose among a masked run's translations, and scores its choice."""

from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.evaluation.run_rescored import rescore_run
from context_nmt.experiment import Experiment


def main(
    variant: Annotated[str, typer.Argument(help="A masked variant of params.yaml.")],
    seed: Annotated[int, typer.Argument(help="A seed of params.yaml.")],
    teacher: Annotated[str, typer.Argument(help="An autoregressive variant; its run with the first seed chooses.")],
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …; auto takes a GPU where there is one.")] = "auto",
) -> None:
    """Translate every test set with a masked run, let a teacher choose among the candidates, and score its choice.

    The run has a candidate for each of decoding.length_beam lengths. The teacher chooses the one with the highest mean
    log-probability per unit, END included.

    Reads what decode, detokenize and evaluate read, and runs/models/TEACHER-SEED of the first seed. Writes

        metrics/hypotheses/rescored/VARIANT-SEED/     as detokenize does
        metrics/scores/rescored/VARIANT-SEED.json     as evaluate does

    Example: python -m stages.rescore cmlm 1 transformer
    """
    rescore_run(Experiment().with_plan_of(variant), variant, seed, teacher, device=device)


if __name__ == "__main__":
    run(main)
