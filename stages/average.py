"""Average the checkpoints of one run."""

from context_nmt.models.averaging import average_run
from context_nmt.settings.run_layout import RunLayout
from stages import Seed, Variant


def main(
    variant: Variant,
    seed: Seed,
) -> None:
    """Average the last or the best checkpoints of a run, and collect everything that translation needs in one folder.

    Reads metrics/plans/VARIANT/training.json and averaging.json, runs/training/VARIANT-SEED and the text models of the
    corpus. Writes

        runs/models/VARIANT-SEED/model.safetensors     weights; its metadata has the plan and the averaged checkpoints
        runs/models/VARIANT-SEED/text/                 truecasers, BPE codes, vocabularies

    Example: python stages average transformer 1
    """
    average_run(RunLayout().with_plan_of(variant), variant, seed)
