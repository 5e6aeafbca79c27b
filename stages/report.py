"""Writes the report: every table and figure of the papers, published and reproduced."""

from context_nmt.command_line import run
from context_nmt.evaluation.report.writing import write_report
from context_nmt.experiment import Experiment


def main() -> None:
    """Report on the experiment in the current folder.

    Reads results.csv, analyses.csv, models.json, scores/, contrastive/ and discourse/ of metrics/, and the project's
    benchmarks/variants.json. At the root it reads the same of all experiments/, as they stand. Writes under reports/

        report.html     one page that needs no other file and no network
        report.md       the same for where Markdown is shown, with figures/
        tables/         every table as NAME.csv, in rows with plain numbers, and as NAME.tex, for booktabs
        figures/        every picture as NAME.svg

    Example: python -m stages.report
    """
    write_report(Experiment())


if __name__ == "__main__":
    run(main)
