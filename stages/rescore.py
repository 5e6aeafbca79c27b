"""Let a teacher choose among a masked run's translations, and score its choice."""

from typing import Annotated

import typer

from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.rescoring import rescore_run
from stages import Device


def main(
    variant: Annotated[str, typer.Argument(help="A masked variant of params.yaml.")],
    seed: Annotated[int, typer.Argument(help="A seed of params.yaml.")],
    judge: Annotated[str, typer.Argument(help="The run that chooses, of an autoregressive variant: TEACHER-SEED.")],
    device: Device = "auto",
) -> None:
    """Translate every test set with a masked run, let a teacher choose among the candidates, and score its choice.

    The run makes one candidate per length (decoding.length_beam). The teacher chooses the candidate with the highest
    mean log-probability per unit, END included.

    Reads the inputs of decode and significance, and runs/models/JUDGE. Writes

        metrics/hypotheses/VARIANT.rescored-SEED.zip   like decode
        metrics/scores/VARIANT.rescored/SEED.csv       like significance

    Example: python stages rescore cmlm 1 transformer-1
    """
    rescore_run(EvaluationFolder().with_plan_of(variant), variant, seed, judge, device=device)
