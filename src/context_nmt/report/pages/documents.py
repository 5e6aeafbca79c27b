"""Build discourse.md: the measures of whole documents."""

import re
from collections.abc import Iterator

from context_nmt.measures.contrastive import SUMMED
from context_nmt.measures.rows import HUMAN, Measure
from context_nmt.report.cells import value_cell
from context_nmt.report.grid import Grid, grid_of
from context_nmt.report.pages.page import Page, Section, heading, introduction, rows_of
from context_nmt.report.pages.results import ACCURACIES, with_items
from context_nmt.results.table import Results

METRICS = ("apt_pronouns", "apt_nouns", "cohesion", "coherence")
NOTES = """\
- apt_pronouns (accuracy of pronoun translation): the share, from 0 to 1, of the reference's pronouns that the
  translation has at the word aligned with them through the source (Miculicich and Popescu-Belis 2017); apt_nouns: the
  same for nouns.
- cohesion: the share of a document's content words that repeat an earlier one or, if the signature names a WordNet, are
  related to one (Wong and Kit 2012). A system that says less, or repeats itself, scores higher: compare it with the
  human translation.
- coherence: the cosine of adjacent sentences in a latent semantic space of the training text (Foltz et al. 1998),
  comparable only within this experiment.

The human translation is the first reference."""


def documents_page(results: Results) -> Page:
    """Build a table per test set with documents, and one per contrastive set with distances of antecedents."""
    measures = [measure for measure in results.measures if measure.metric in METRICS]
    tests = [test for test in results.settings.corpus.tests if any(entry.test_set == test for entry in measures)]
    sections = [Section(test, grids=(_scores(results, test),)) for test in tests]
    signatures = {measure.metric: results.signatures(measure) for measure in measures}
    return Page(
        title=heading(results, "Documents"),
        introduction=introduction(results, "No difference here was tested.", METRICS),
        sections=(
            *(sections or [Section(text="No test set of this corpus has documents.")]),
            *(section for name in results.contrastive_sets for section in _distances(results, name)),
        ),
        notes=NOTES if measures else "",
        signatures=tuple(
            f"{metric}: " + ", ".join(f"`{entry}`" for entry in signatures[metric])
            for metric in METRICS
            if metric in signatures
        ),
    )


def _scores(results: Results, test: str) -> Grid:
    measures = [
        candidate for candidate in (Measure(test, metric) for metric in METRICS) if candidate in results.measures
    ]
    human = [value_cell(results.reference_value(HUMAN, measure), "{:.4f}") for measure in measures]
    rows = [*rows_of(results, results.models, measures, 4), ("Human translation", human)]
    return grid_of("", [measure.metric for measure in measures], rows)


def _distances(results: Results, name: str) -> Iterator[Section]:
    """Yield the accuracies on a set with the categories `within`, `distance_N`, `distance_over_N`; else nothing."""
    measures_by_tag = {
        measure.tag: measure for measure in results.measures if (measure.test_set, measure.metric) == (name, SUMMED)
    }
    distances = sorted(int(match[1]) for tag in measures_by_tag if (match := re.fullmatch(r"distance_(\d+)", tag)))
    if not distances:
        return
    titles = {"within": "in the sentence"} | {f"distance_{distance}": f"{distance} back" for distance in distances}
    titles |= {f"distance_over_{distance}": f"more than {distance} back" for distance in distances[-1:]}
    measures = [measures_by_tag[tag] for tag in titles if tag in measures_by_tag]
    columns = [with_items(results, measure, titles[measure.tag]) for measure in measures]
    text = f"{ACCURACIES} The antecedent is the nearest mention; chance is 50 if each item has a mirror."
    grid = grid_of("", columns, rows_of(results, results.models, measures))
    yield Section(f"{name} (contrastive), by the distance of the antecedent", text, grids=(grid,))
