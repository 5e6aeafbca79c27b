"""Show the results of one variant to `dvc metrics diff`."""

from context_nmt.command_line import run
from context_nmt.files import UserError, read_json, read_yaml, write_json
from context_nmt.settings.layout import Layout


def main() -> None:
    """Write the results of the variant that params.yaml names under `focus`.

    `dvc metrics diff` compares revisions, not variants; with one experiment per variant it compares those:

        dvc exp run -n view-baseline --single-item -S focus=transformer focus
        dvc exp run -n view-narrow --single-item -S focus=transformer_narrow focus
        dvc metrics diff view-baseline view-narrow --targets metrics/focus.json

    Reads metrics/results.json. Writes

        metrics/focus.json    {TEST: {METRIC: mean}, "model": {"parameters", "flops_per_target_token"}}
    """
    layout = Layout()  # not the whole settings, whose code this stage would then depend on
    variant, results = read_yaml(layout.parameters)["focus"], read_json(layout.results)
    if variant not in results:
        raise UserError(f"{layout.parameters}: focus: no results of {variant!r}; there are {', '.join(results)}")
    model = results[variant].pop("model")
    means = {test: {metric: one["mean"] for metric, one in found.items()} for test, found in results[variant].items()}
    write_json(layout.focus, means | {"model": model})


if __name__ == "__main__":
    run(main)
