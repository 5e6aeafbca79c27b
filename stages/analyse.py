"""Reads what goes on inside one run."""

from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.evaluation.analyses.running import analyse_run
from context_nmt.experiment import Experiment


def main(
    variant: Annotated[str, typer.Argument(help="A variant of params.yaml, as resolved by the plan stage.")],
    seed: Annotated[int, typer.Argument(help="The seed of the run.")],
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …; auto takes a GPU where there is one.")] = "auto",
) -> None:
    """Read what goes on inside one run, and how many n-grams of its translations are right.

    Reads metrics/plans/VARIANT/decoding.json, runs/models/VARIANT-SEED, runs/binarized, runs/tokenized and
    metrics/hypotheses/VARIANT-SEED; params.yaml is not read. Writes

        metrics/analyses/VARIANT-SEED.json    for each test set
            locality_entropy                of cross-attention, in bits, over all decoder layers; of one with _LAYER
            locality_entropy_of_mean_map    the same of the map that is the mean over heads
            local_share_LAYER               how much of the attention is local, where it is gated
            ngram_accuracy_N                per cent of the n-grams that the reference has, for n = 1 to 10

    Example: python -m stages.analyse transformer 1
    """
    analyse_run(Experiment(), variant, seed, device=device)


if __name__ == "__main__":
    run(main)
