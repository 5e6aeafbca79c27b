"""Show the results of one variant to `dvc metrics diff`."""

from context_nmt.command_line import run
from context_nmt.files import read_json, write_json
from context_nmt.settings.parameters import Experiment


def main() -> None:
    """Write the results of the variant that params.yaml names under `focus`.

    `dvc metrics diff` compares revisions, not variants; with one experiment per variant it compares those:

        dvc exp run -n view-baseline --single-item -S focus=transformer focus
        dvc exp run -n view-narrow --single-item -S focus=transformer_narrow focus
        dvc metrics diff view-baseline view-narrow --targets metrics/focus.json

    Reads metrics/results.json. Writes

        metrics/focus.json    {TEST: {METRIC: mean}, "model": {"parameters", "flops_per_target_token"}}
    """
    experiment = Experiment()
    results = read_json(experiment.results)[experiment.settings.focus]
    model = results.pop("model")
    means = {test: {metric: one["mean"] for metric, one in metrics.items()} for test, metrics in results.items()}
    write_json(experiment.focus, means | {"model": model})


if __name__ == "__main__":
    run(main)
