"""Record which runs are scored, and which are compared."""

from context_nmt.measures.pairs import write_pairs
from context_nmt.settings.parameters import Experiment


def main() -> None:
    """Record for every system the hashes of its translations and contrastive outcomes, and of its baseline's.

    A significance test takes minutes and depends on two systems, of which a DVC matrix can name only one. The scores
    and tests of a system therefore depend on a small file of its own, which changes only with the `baseline`, the
    seeds, the translations or the outcome of a contrastive item.

    Reads params.yaml (variants, external, seeds), metrics/hypotheses and metrics/contrastive. Writes

        runs/pairs/SYSTEM.json     {"baseline", "runs": {SEED: {"system", "baseline": hashes or null}}}

    Example: python stages pair
    """
    write_pairs(Experiment())
