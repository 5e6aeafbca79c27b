"""Count the parameters and FLOPs of every variant."""

from context_nmt.pipeline.descriptions import describe_plans
from context_nmt.settings.layout import Layout


def main() -> None:
    """Count parameters and FLOPs of every variant, from its model and the vocabularies.

    `context-nmt describe` prints the same as tables.

    Reads metrics/plans/models.json and the vocabularies of runs/binarized/training. Writes

        metrics/models.json    {VARIANT: {"parameters", "flops_per_target_token", "parameters_by_part", "slots", …}}

    Example: python stages describe
    """
    describe_plans(Layout())
