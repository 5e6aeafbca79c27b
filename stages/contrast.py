"""Scores the contrastive sets with one run."""

from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.measures.contrastive import contrast_run
from context_nmt.settings.layout import Layout


def main(
    variant: Annotated[str, typer.Argument(help="A variant of params.yaml.")],
    seed: Annotated[int, typer.Argument(help="The seed of the run.")],
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …; auto takes a GPU where there is one.")] = "auto",
) -> None:
    """See how often one run finds the right translation of a contrastive item more probable than every wrong one.

    Reads runs/models/VARIANT-SEED, and from runs/binarized and runs/tokenized the sets that corpus.contrastive names. A
    tie counts one half. Categories are those of the items, and "all". A masked run judges by pseudo-log-likelihood:
    each unit, END included, masked alone, and the length.

    Writes

        metrics/contrastive/VARIANT-SEED.csv    rows, a tag per category
            accuracy                per cent, by log-probability
            accuracy_normalized     the same by its mean over a translation's units
            items                   how many the category has
        runs/contrastive/VARIANT-SEED/SET.tsv
            for each line of the set its outcome (1, 0.5, 0) and margin in nats, and both normalized

    Example: python stages contrast transformer 1
    """
    contrast_run(Layout().with_plan_of(variant), variant, seed, device=device)


if __name__ == "__main__":
    run(main)
