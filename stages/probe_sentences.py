"""Probes what one run's encoder knows of sentences."""

from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.evaluation.probing.sentences import probe_sentences
from context_nmt.experiment import Experiment


def main(
    variant: Annotated[str, typer.Argument(help="A variant of params.yaml.")],
    seed: Annotated[int, typer.Argument(help="The seed of the run.")],
) -> None:
    """Train and test classifiers on what one run's encoder makes of the probing tasks' sentences.

    Reads runs/probing/VARIANT-SEED, which the probe_features stage has written, and probing.sentence_classifier of
    params.yaml. Writes

        metrics/analyses/sentences/VARIANT-SEED.json    {TASK: …}, and surface, syntactic, semantic: means of tasks
            accuracies    in per cent, of a classifier per seed
            accuracy      their mean, and with several seeds "deviation", their sample standard deviation
            chance        the share of the most frequent class in the test set

    Example: python -m stages.probe_sentences transformer 1
    """
    probe_sentences(Experiment(), variant, seed)


if __name__ == "__main__":
    run(main)
