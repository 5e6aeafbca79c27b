"""The part of results.md about translations that a teacher chose among a masked model's candidates."""

import dataclasses
from collections.abc import Iterator
from statistics import fmean

from context_nmt.report.markdown import signed, table_header, table_row
from context_nmt.results.flat import read_flat
from context_nmt.results.table import METRICS, Results
from context_nmt.settings.folder import Experiment
from context_nmt.settings.layout import rescored_name, run_name

NOTE = """\
Of the candidates of a masked model, one per length, each sentence gets the one that {teacher} (seed {seed}) finds most
probable, by its mean log-probability per unit, END included. In brackets the difference to the model's own choice."""


def format_rescored(experiment: Experiment, results: Results) -> Iterator[str]:
    """Yield the lines of the section, none if no variant is rescored; raises UserError for missing scores."""
    settings = results.settings
    if not settings.rescored:
        return
    yield from ["", "## Rescored by the teacher", ""]
    yield NOTE.format(teacher=settings.label(settings.train.teachers[0]), seed=settings.seeds[0])
    scores = {
        variant: [read_flat(experiment.scores(rescored_name(run_name(variant, seed)))) for seed in settings.seeds]
        for variant in settings.rescored
    }
    chosen = dataclasses.replace(results, scores=scores)
    for test_set in results.test_sets:
        metrics = [metric for metric in METRICS if metric in chosen.metrics(test_set)]
        yield from ["", f"{test_set}:", ""]
        yield from table_header(["System", *metrics])
        for variant in settings.rescored:
            cells = [_cell(chosen, results, variant, test_set, metric) for metric in metrics]
            yield table_row([settings.label(variant), *cells])


def _cell(chosen: Results, own: Results, variant: str, test_set: str, metric: str) -> str:
    after, before = (fmean(results.values(variant, test_set, metric)) for results in (chosen, own))
    return f"{after:.2f} ({signed(after - before)})"
