"""Scores every test set of one run."""

from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.evaluation.run_scores import score_run
from context_nmt.experiment import Experiment


def main(
    variant: Annotated[str, typer.Argument(help="A variant of params.yaml.")],
    seed: Annotated[int, typer.Argument(help="A seed of params.yaml.")],
) -> None:
    """Score one run of the experiment in the current folder on all its test sets and groups of test sets.

    Reads metrics/hypotheses/VARIANT-SEED/, the raw references data/CORPUS/TEST.LANGUAGE and their tokens
    runs/tokenized/TEST.LANGUAGE.cased; of further references, which count in every score, TEST.LANGUAGE.1 and so on.
    Where there is a data/CORPUS/TEST.bound.LANGUAGE, the best that a system can do that sees one sentence at a time,
    its score stands beside, with the share of it that the run reaches. Writes

        metrics/scores/VARIANT-SEED.json    {TEST: {METRIC: {"score": float, "signature": str}}}

    Example: python -m stages.evaluate transformer 1
    """
    score_run(Experiment(), variant, seed)


if __name__ == "__main__":
    run(main)
