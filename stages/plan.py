"""Resolves every variant of params.yaml."""

from context_nmt.command_line import run
from context_nmt.experiment import Experiment
from context_nmt.models.planning import write_plans


def main() -> None:
    """Resolve every variant of params.yaml into what training, averaging and decoding are told.

    A variant's settings are the experiment's with the variant's own changes, checked; a mechanism's settings are
    spread over the layers of its slot, and its file is hashed. As each later stage depends on its variant's part
    alone, an edit of one variant or one mechanism re-runs just what it concerns.

    Writes

        metrics/plans/VARIANT/training.json     model, slots layer by layer, recipe, hashes of mechanism files
        metrics/plans/VARIANT/averaging.json
        metrics/plans/VARIANT/decoding.json
    """
    write_plans(Experiment())


if __name__ == "__main__":
    run(main)
