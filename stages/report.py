"""Write all measurements as tables, figures and the report."""

from typing import Annotated

import typer

from context_nmt.report.writing import write_report, write_tables
from context_nmt.results.out_of_date import results_out_of_date
from context_nmt.settings.parameters import Experiment


def main(
    mark: Annotated[
        bool,
        typer.Option(
            "--mark",
            help="Write only if systems are out of date, and mark them. The pipeline marks none, because DVC does not"
            " track whether results are stale.",
        ),
    ] = False,
) -> None:
    """Collect all systems and seeds of params.yaml into tables, figures and the report.

    Reads scores/, contrastive/, analyses/, curves/, models.json and ceilings.json of metrics/, and the project's
    benchmarks/variants.json for speeds. At the root, the report includes the current results of all experiments/. A
    dash stands for a missing result. Writes under metrics/

        results.json    {SYSTEM: {TEST: {METRIC: {"mean", "deviation", "seeds"}}, "model": {"parameters", "flops_…"}}};
                        with contrastive sets beside the test sets
        summary.json    {SYSTEM: {TEST: mean over seeds}} of significance.metric, for `dvc metrics show`
        results.csv     every measurement, by test set, metric, layer and tag: its mean over seeds, the difference from
                        the baseline, its interval over seeds and its p; rows without a run (`bound`, `human`,
                        `chance`, `text`) are at the end
        results.md      a table per test or contrastive set, with marks for significance and every signature
        claims.json     each claim of a paper: the published value, the difference here with its interval and p, the
                        verdict and the obstacle to it; and the meaning of every field
        claims.csv      the same as a table

    and under reports/

        report.md       each paper's main claims, and all systems with their costs
        papers/         a page per paper: all its claims, and its tables and figures, published and reproduced side by
                        side, without gaps, repetitions and the widest tables
        figures/        headlines.svg, costs.svg and the figures of the main tables
        report.html     report.md and papers/ with all pictures, as one page that needs no other file and no network
        tables/         every table in full as PAPER-TABLE.csv, a row per cell with plain numbers, and as
                        PAPER-TABLE.tex, for booktabs
        pages/          analyses.md     inside the systems: locality entropy, local attention, divergence, gates;
                                        n-gram accuracy and BLEU by length
                        probes.md       accuracies of probes for sentences and for words
                        discourse.md    pronouns, nouns, cohesion and coherence of documents, and contrastive accuracy
                                        by distance
                        figures/        learning_curves.svg, and MEASURE.svg for each measure of analyses.md and
                                        probes.md that a system has

    Example: python stages report
    """
    experiment = Experiment()
    old = results_out_of_date(experiment) if mark else []
    if old or not mark:
        write_tables(experiment, old)
        write_report(experiment, old)
