"""Notes which hypotheses are compared with which."""

from context_nmt.command_line import run
from context_nmt.evaluation.pairs import write_pairs
from context_nmt.experiment import Experiment


def main() -> None:
    """Note for every run whose output is compared with whose, by the hashes of both.

    A significance test takes minutes and depends on two variants, which DVC cannot express: a matrix item does not
    choose its dependencies. So each test depends on its own small file written here, which changes only with the
    variant's `test`, its `baseline`, or one of the two outputs.

    Reads params.yaml and metrics/hypotheses.

    Writes

        metrics/pairs/VARIANT-SEED.json     {"test": ..., "system": {"run", "sha256"}, "baseline": the same or null}
    """
    write_pairs(Experiment())


if __name__ == "__main__":
    run(main)
