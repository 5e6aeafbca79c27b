"""Score given translations with one run: contrastive sets and references."""

from context_nmt.measures.given_translations import contrast_run
from context_nmt.settings.layout import Layout
from stages import Device, Seed, Variant


def main(
    variant: Variant,
    seed: Seed,
    device: Device = "auto",
) -> None:
    """Measure how often a run prefers the right translation of a contrastive item, and its loss on references.

    Reads runs/models/VARIANT-SEED, and the test sets and the sets under corpus.contrastive from runs/binarized and
    runs/tokenized. A tie counts one half. The categories are the items' own, and "all". Masked models score by
    pseudo-log-likelihood: the sum over the units, END included, each predicted when only it is masked, and over the
    length. A system that reads previous sentences reads those of the set, in references also the true previous targets.

    Writes

        metrics/contrastive/VARIANT-SEED.csv    rows
            accuracy                per cent, by log-probability; a tag per category
            accuracy_normalized     the same by the mean log-probability of a translation's units
            items                   number of items in the category
            nll                     negative log-likelihood of the first reference, in nats per target unit and END
        metrics/contrastive/VARIANT-SEED.json   {SET: {METRIC: a letter per item: 1, 0, or = for a tie}}
        runs/contrastive/VARIANT-SEED/SET.tsv
            for each line of the set: outcome (1, 0.5, 0), margin in nats, and both normalized

    Example: python stages contrast transformer 1
    """
    contrast_run(Layout().with_plan_of(variant), variant, seed, device=device)
