"""Score the contrastive sets with one run."""

from context_nmt.measures.contrastive import contrast_run
from context_nmt.settings.layout import Layout
from stages import Device, Seed, Variant


def main(
    variant: Variant,
    seed: Seed,
    device: Device = "auto",
) -> None:
    """Measure how often a run gives the right translation of a contrastive item the highest probability.

    Reads runs/models/VARIANT-SEED, and the sets under corpus.contrastive from runs/binarized and runs/tokenized. A tie
    counts one half. The categories are the items' own, and "all". Masked models score by pseudo-log-likelihood: the sum
    over the units, END included, each predicted when only it is masked, and over the length.

    Writes

        metrics/contrastive/VARIANT-SEED.csv    rows, a tag per category
            accuracy                per cent, by log-probability
            accuracy_normalized     the same by the mean log-probability of a translation's units
            items                   number of items in the category
        runs/contrastive/VARIANT-SEED/SET.tsv
            for each line of the set: outcome (1, 0.5, 0), margin in nats, and both normalized

    Example: python stages contrast transformer 1
    """
    contrast_run(Layout().with_plan_of(variant), variant, seed, device=device)
