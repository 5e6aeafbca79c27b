"""Record which translations are scored and compared with which."""

from context_nmt.measures.pairs import write_pairs
from context_nmt.settings.parameters import Experiment


def main() -> None:
    """Record for every variant the hashes of its translations and of those they are compared with.

    A significance test takes minutes and depends on two variants, which DVC cannot express: a matrix item cannot choose
    its dependencies. Scores and tests of a variant depend on its own small file, which changes only with the
    `baseline`, the seeds or one of the outputs.

    Reads params.yaml (variants, seeds) and metrics/hypotheses. Writes

        runs/pairs/VARIANT.json     {"baseline", "runs": {SEED: {"system", "baseline": hashes or null}}}

    Example: python stages pair
    """
    write_pairs(Experiment())
