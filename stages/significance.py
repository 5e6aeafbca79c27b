"""Tests whether a variant differs from its baseline by more than chance."""

from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.measures.evaluated import Evaluated
from context_nmt.results.comparisons import compare_variant


def main(
    variant: Annotated[str, typer.Argument(help="A variant of params.yaml; all its seeds are tested.")],
) -> None:
    """Compare each run of a variant with its baseline's run of the same seed on every test set.

    Paired bootstrap by compare-mt (Koehn 2004) and by sacrebleu, and the sign test of Collins et al. (2005); their
    p-values mean different things, see context_nmt/results/significance.py. Metric, resamples, their size and the
    seed are under `significance` in params.yaml; which test a table uses is the variant's `test`.
    Reads metrics/plans/significance.json and text.json, metrics/pairs/VARIANT.json, metrics/hypotheses/ of both
    variants and the references. `context-nmt compare` does the same for any files. Writes

        metrics/significance/VARIANT/SEED.json    {TEST: {"difference", "bootstrap", "sacrebleu", "sign", "p", …}}

    which is {} for a variant without a baseline.

    Example: python stages significance dual_context_encoder
    """
    compare_variant(Evaluated(), variant)


if __name__ == "__main__":
    run(main)
