"""The results of one variant, which `dvc metrics diff` compares between revisions."""

from context_nmt.files import UserError, read_json, read_yaml, write_json
from context_nmt.settings.layout import Layout


def write_focus(layout: Layout) -> None:
    """Write the means of the system that params.yaml names under `focus`; raise UserError if it has no results."""
    variant, results = read_yaml(layout.parameters)["focus"], read_json(layout.results)
    if variant not in results:
        raise UserError(f"{layout.parameters}: focus: no results of {variant!r}; there are {', '.join(results)}")
    model = results[variant].pop("model", None)  # an external system has none
    means = {
        test: {metric: estimate["mean"] for metric, estimate in estimates.items()}
        for test, estimates in results[variant].items()
    }
    write_json(layout.focus, means | ({"model": model} if model else {}))
