"""Write the results of one system for `dvc metrics diff`."""

from context_nmt.results.focus import write_focus
from context_nmt.settings.layout import Layout


def main() -> None:
    """Write the results of the system that params.yaml names under `focus`.

    `dvc metrics diff` compares revisions, not systems. With one DVC experiment per system, it compares systems:

        dvc exp run -n view-baseline --single-item -S focus=transformer focus
        dvc exp run -n view-narrow --single-item -S focus=transformer_narrow focus
        dvc metrics diff view-baseline view-narrow --targets metrics/focus.json

    Reads metrics/results.json. Writes

        metrics/focus.json    {TEST: {METRIC: mean}, "model": {"parameters", "flops_per_target_token"}};
                          an external system has no model
    """
    write_focus(Layout())  # not Experiment, so that this stage does not depend on the code of all settings
