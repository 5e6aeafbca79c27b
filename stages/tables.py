"""Turns the scores of all runs into tables and figures."""

from context_nmt.command_line import run
from context_nmt.evaluation.tables import write_tables
from context_nmt.experiment import Experiment


def main() -> None:
    """Collect all variants and seeds of the params.yaml in the current folder.

    Reads metrics/scores/, contrastive/, significance/, analyses/, discourse/, curves/ and models.json, and the
    project's benchmarks/variants.json for speeds. Writes under metrics/

        results.json    {VARIANT: {TEST: {METRIC: {"mean", "deviation", "seeds"}}, "model": {"parameters", "flops_…"}}};
                        contrastive sets stand beside the test sets
        results.csv     the same in rows, with the difference to the baseline, its interval over seeds and its p
        results.md      a table per test or contrastive set, with marks for significance and every signature
        analyses.md     what goes on inside the systems: locality entropy, local attention, divergence, gates;
                        n-gram accuracy and BLEU by length. analyses.csv has the same in rows, and what discourse.md
                        says of translations
        probes.md       what the states of probed systems tell of sentences and of words; also in analyses.csv
        discourse.md    pronouns, nouns, cohesion and coherence of documents, and contrastive accuracy by distance
        papers.md       tables of papers, published and reproduced side by side; papers.csv has the same in rows
        figures/        bleu.svg, learning_curves.svg, MEASURE.svg for each one of analyses.md that a system has, those
                        of probes.md, PAPER.svg for each paper of which a gain is reproduced, PAPER_curves.svg of its
                        figures

    Example: python -m stages.tables
    """
    write_tables(Experiment())


if __name__ == "__main__":
    run(main)
