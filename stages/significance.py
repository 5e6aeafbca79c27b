"""Tests whether a run differs from its baseline by more than chance."""

from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.evaluation.run_significance import compare_run
from context_nmt.experiment import Experiment


def main(
    variant: Annotated[str, typer.Argument(help="A variant of params.yaml.")],
    seed: Annotated[int, typer.Argument(help="A seed of params.yaml.")],
) -> None:
    """Compare a run with its baseline's run of the same seed on every test set (`python -m stages.compare`: any files).

    Paired bootstrap by compare-mt (Koehn 2004) and by sacrebleu, and the sign test of Collins et al. (2005); their
    p-values mean different things, see context_nmt/evaluation/significance.py. Metric, resamples, their size and the
    seed are under `significance` in params.yaml; which test a table uses is the variant's `test`.
    Reads metrics/hypotheses/ of both runs and the references. Writes

        metrics/significance/VARIANT-SEED.json    {TEST: {"difference", "bootstrap", "sacrebleu", "sign", "p", …}}

    which is {} for a variant without a baseline.

    Example: python -m stages.significance transformer_narrow 1
    """
    compare_run(Experiment(), variant, seed)


if __name__ == "__main__":
    run(main)
