"""discourse.md: what systems keep of documents."""

import re
from collections.abc import Iterator

from context_nmt.measures.contrastive import SUMMED
from context_nmt.measures.rows import HUMAN, Measure
from context_nmt.report.cells import number_cell, value_cell
from context_nmt.report.grid import Grid, grid_of
from context_nmt.report.pages.page import Page, Section, heading, introduction
from context_nmt.report.pages.results import ACCURACIES, with_items
from context_nmt.results.table import Results

METRICS = ("apt_pronouns", "apt_nouns", "cohesion", "coherence")
NOTES = """\
- apt_pronouns, accuracy of pronoun translation: the share of the reference's pronouns that the translation has at the
  word that they are linked to through the source (Miculicich and Popescu-Belis 2017); apt_nouns: the same of nouns.
  1 if all are those of the reference.
- cohesion: the share of a document's content words that take up an earlier one, by repetition or, where its signature
  names a WordNet, by a related word (Wong and Kit 2012). A system that says less, or the same again and again, has
  more of it: it is read beside that of the human translation.
- coherence: the cosine of adjacent sentences in a latent semantic space of the training text (Foltz et al. 1998); it is
  comparable within this experiment alone.

The human translation is the first reference."""


def documents_page(results: Results) -> Page:
    """Build a table per test set with documents, and one per contrastive set that knows how far antecedents are."""
    found = [measure for measure in results.measures if measure.metric in METRICS]
    sections = [
        Section(test, grids=(_scores(results, test),))
        for test in results.settings.corpus.tests
        if any(measure.test_set == test for measure in found)
    ]
    if not sections:
        sections.append(Section(text="No test set of this corpus says where documents start."))
    named = {measure.metric: results.signatures(measure) for measure in found}
    return Page(
        title=heading(results, "Documents"),
        introduction=introduction(results, "Nothing here is tested."),
        sections=(*sections, *(one for name in results.contrastive_sets for one in _distances(results, name))),
        notes=NOTES if found else "",
        signatures=tuple(
            f"{metric}: " + ", ".join(f"`{one}`" for one in named[metric]) for metric in METRICS if metric in named
        ),
    )


def _scores(results: Results, test: str) -> Grid:
    measures = [one for one in (Measure(test, metric) for metric in METRICS) if one in results.measures]
    rows = [
        (results.settings.label(variant), [number_cell(results.number(variant, one), 4) for one in measures])
        for variant in results.models
    ]
    human = [value_cell(results.of(HUMAN, measure), "{:.4f}") for measure in measures]
    return grid_of("", [measure.metric for measure in measures], [*rows, ("Human translation", human)])


def _distances(results: Results, name: str) -> Iterator[Section]:
    """Yield the accuracies of a set whose categories are `within` and `distance_N`; nothing for another set."""
    known = [one for one in results.measures if (one.test_set, one.metric) == (name, SUMMED)]
    back = {one: int(far[1]) for one in known if (far := re.fullmatch(r"distance_(\d+)", one.tag))}
    if not back:
        return
    titles = {one: "in the sentence" for one in known if one.tag == "within"}
    titles |= {one: f"{back[one]} back" for one in sorted(back, key=lambda one: back[one])}
    rows = [
        (results.settings.label(variant), [number_cell(results.number(variant, one)) for one in titles])
        for variant in results.models
    ]
    grid = grid_of("", [with_items(results, one, title) for one, title in titles.items()], rows)
    text = f"{ACCURACIES} The antecedent is the nearest mention; 50 is chance where each item has a mirror."
    yield Section(f"{name} (contrastive), by the distance of the antecedent", text, grids=(grid,))
