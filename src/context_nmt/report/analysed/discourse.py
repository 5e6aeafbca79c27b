"""What systems keep of documents, as a Markdown page."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from context_nmt.report.markdown import DASH, score_cell, table_header, table_row
from context_nmt.results.flat import read_flat
from context_nmt.results.table import Results
from context_nmt.settings.folder import Experiment
from context_nmt.settings.layout import run_name

COLUMNS = ("apt_pronouns", "apt_nouns", "cohesion", "coherence")
HUMAN = "Human translation"
INTRODUCTION = """\
Seeds: {seeds}. Written by the report stage; analyses.csv and results.csv hold the same numbers. ± is the sample
standard deviation over seeds; in brackets the difference to the system's baseline; nothing here is tested."""
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


def format_discourse(experiment: Experiment, results: Results) -> str:
    """Format a table per test set with documents, and one per contrastive set that knows how far antecedents are."""
    settings = results.settings
    corpus = settings.corpus
    runs = [
        read_flat(experiment.discourse(run_name(variant, seed)))
        for variant in settings.variants
        for seed in settings.seeds
    ]
    tests = [test for test in corpus.tests if any(run.get(test) for run in runs)]
    lines = [f"# Documents: {corpus.name}, {corpus.source}-{corpus.target}", ""]
    lines.append(INTRODUCTION.format(seeds=", ".join(map(str, settings.seeds))))
    for test in tests:
        lines += ["", f"## {test}", "", *_scores(results, test, [run[test] for run in runs if test in run])]
    if not tests:
        lines += ["", "No test set of this corpus says where documents start."]
    for name in results.contrastive_sets:
        lines += _distances(results, name)
    if tests:
        lines += ["", "## Notes", "", NOTES, "", "## Signatures", ""]
        scores = [run[test] for run in runs for test in tests if test in run]
        lines += [f"- {metric}: {', '.join(_signatures(scores, metric))}" for metric in COLUMNS if _has(scores, metric)]
    return "\n".join(lines) + "\n"


def _scores(results: Results, test: str, found: list[dict[str, Any]]) -> Iterator[str]:
    metrics = [metric for metric in COLUMNS if _has(found, metric)]
    yield from table_header(["System", *metrics])
    for variant in results.settings.variants:
        cells = [score_cell(results, variant, test, metric, decimals=4) for metric in metrics]
        yield table_row([results.settings.label(variant), *cells])
    human = [next((run[metric].get("reference") for run in found if metric in run), None) for metric in metrics]
    yield table_row([HUMAN, *(DASH if score is None else f"{score:.4f}" for score in human)])


def _has(found: Iterable[dict[str, Any]], metric: str) -> bool:
    return any(metric in scores for scores in found)


def _signatures(found: Iterable[dict[str, Any]], metric: str) -> list[str]:
    return sorted({f"`{scores[metric]['signature']}`" for scores in found if metric in scores})


def _distances(results: Results, name: str) -> Iterator[str]:
    """Yield the accuracies of a set whose categories are `within` and `distance_N`; nothing for another set."""
    metrics = results.metrics(name)
    back = [re.fullmatch(rf"{re.escape(name)}_distance_(\d+)", metric) for metric in metrics]
    columns = {match[0]: f"{match[1]} back" for match in sorted(filter(None, back), key=lambda match: int(match[1]))}
    if not columns:
        return
    within = f"{name}_within"
    columns = ({within: "in the sentence"} if within in metrics else {}) | columns
    yield from ["", f"## {name} (contrastive), by the distance of the antecedent", ""]
    yield "Per cent of the items whose right translation is more probable than every wrong one; ties count half. The"
    yield "antecedent is the nearest mention; 50 is chance where each item has a mirror."
    yield ""
    yield from table_header(
        ["System", *(f"{title}, {results.items(name, metric):,} items" for metric, title in columns.items())]
    )
    for variant in results.settings.variants:
        cells = [score_cell(results, variant, name, metric) for metric in columns]
        yield table_row([results.settings.label(variant), *cells])
