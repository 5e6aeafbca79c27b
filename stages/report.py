"""Turns all measurements into tables, figures and the report."""

from context_nmt.command_line import run
from context_nmt.report.writing import write_report, write_tables
from context_nmt.settings.folder import Experiment


def main() -> None:
    """Collect all variants and seeds of params.yaml into tables, figures and the report.

    Reads scores/, contrastive/, significance/, analyses/, discourse/, curves/ and models.json of metrics/, and the
    project's benchmarks/variants.json for speeds. At the root the report takes in the results of all experiments/, as
    they are. Writes under metrics/

        results.json    {VARIANT: {TEST: {METRIC: {"mean", "deviation", "seeds"}}, "model": {"parameters", "flops_…"}}};
                        contrastive sets are with the test sets
        results.csv     the same in rows, with the difference to the baseline, its interval over seeds and its p
        results.md      a table per test or contrastive set, with marks for significance and every signature
        analyses.md     what goes on inside the systems: locality entropy, local attention, divergence, gates;
                        n-gram accuracy and BLEU by length; analyses.csv has all of it and of the next two in rows
        probes.md       what the states of probed systems tell of sentences and of words
        discourse.md    pronouns, nouns, cohesion and coherence of documents, and contrastive accuracy by distance
        papers.md       tables of papers, published and reproduced side by side; papers.csv has the same in rows
        figures/        bleu.svg, learning_curves.svg, MEASURE.svg for each one of analyses.md and probes.md that a
                        system has, PAPER.svg for each paper of which a gain is reproduced, and PAPER_curves.svg of
                        the paper's figures

    and under reports/

        report.html     one page that needs no other file and no network
        report.md       the same for where Markdown is shown, with figures/
        tables/         every table as NAME.csv, in rows with plain numbers, and as NAME.tex, for booktabs
        figures/        every picture as NAME.svg

    Example: python stages report
    """
    write_tables(Experiment())
    write_report(Experiment())


if __name__ == "__main__":
    run(main)
