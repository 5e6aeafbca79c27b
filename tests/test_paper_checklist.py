"""The papers' tables and claims are all there, with what they publish, and an experiment can fill each cell."""

from functools import cache
from itertools import product
from pathlib import Path

import pytest
import yaml

from context_nmt.report.published import COST_METRICS, published_gains, read_papers
from context_nmt.settings.parameters import Experiment

ROOT = Path(__file__).parents[1]
PAPERS = read_papers()
CHECKLIST = yaml.safe_load((ROOT / "tests/paper_checklist.yaml").read_text(encoding="utf-8"))
SIGNS = {"higher": ">", "not_lower": ">=", "lower": "<", "equal": "="}


def columns_of(texts):
    """The columns that a line of the checklist lists: languages, test set, metric, layer, tag, difference."""
    for text in texts:
        names, parts = text.partition(": ")[0].split(), text.partition(": ")[2].split(" / ")
        values = {part.split()[0]: part.split()[1:] for part in parts[1:]}
        for metric in parts[0].split():
            for layer in values.get("layers", ["all"]):
                for tag in values.get("tags", [""]):
                    layer_number = None if layer == "all" else int(layer)
                    yield (names[0], *(names[1:] or [None]), metric, layer_number, tag, "difference" in values)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_and_figure_has_its_rows_and_columns(paper):
    tables = {}
    for table in PAPERS[paper].tables:
        assert table.checklist
        columns = {
            (column.languages, column.test_set, column.metric, column.layer, str(column.tag), column.difference)
            for column in table.columns
            if not column.added
        }
        for name in table.checklist:
            rows = {row.variant or row.label for row in table.rows if not row.added}
            known_rows, known_columns = tables.setdefault(name, (rows, set()))
            assert rows == known_rows
            known_columns |= columns
    entries = CHECKLIST[paper]["tables"].items()
    assert tables == {name: (set(entry["rows"]), set(columns_of(entry["columns"]))) for name, entry in entries}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_is_there(paper):
    written_claims = [written(claim) for claim in PAPERS[paper].claims if claim.place]
    assert sorted(written_claims) == sorted(CHECKLIST[paper]["claims"])


@pytest.mark.parametrize("paper", PAPERS)
def test_the_published_differences_of_claims_are_those_of_the_papers(paper):
    for text, published in CHECKLIST[paper]["published"].items():
        (claim,) = [candidate for candidate in PAPERS[paper].claims if text in (written(candidate), candidate.says)]
        assert published_gains(PAPERS[paper], claim) == (published["gains"], published["decimals"]), text


def test_a_limit_of_twenty_words_needs_longer_sentences_than_those_of_the_miniature():
    claims = [claim for claim in PAPERS["context_aware_self_attention"].claims if claim.table == "Figure 5"]
    assert claims
    assert all(claim.own_text and claim.experiment == "wmt14-en-de-context-aware" for claim in claims)


def written(claim):
    """A claim as in the list."""
    measure, other = in_words(claim.measure), " ".join(claim.against)
    if claim.against_measure:
        measure, other = f"{measure} and {in_words(claim.against_measure)}", "itself"
    elif claim.against_tags:
        measure, other = f"{measure} and each of {' '.join(map(str, claim.against_tags))}", "itself"
    elif claim.to is not None:
        other = claim.to if claim.to == "human" else f"{claim.to:g}"
    columns = f": {' '.join(claim.columns)}" if claim.columns else ""
    system = f"{'gain of ' if claim.gains else ''}{claim.variant} {SIGNS[claim.direction]}"
    return f"{system} {other or 'its baseline'}, {measure} ({claim.place}{columns})"


def in_words(measure):
    if measure is None:
        return "BLEU"
    values = (value if isinstance(value, tuple) else (value,) for value in (measure.metric, measure.layer, measure.tag))
    metrics, layers, tags = (" ".join(str(value) for value in part if value not in (None, "")) for part in values)
    return metrics + (f" in layer {layers}" if layers else "") + (f" of {tags}" if tags else "")


@cache
def settings_of(experiment):
    return Experiment(ROOT / "experiments" / experiment if experiment else ROOT).settings


def test_every_cell_of_the_papers_can_be_filled():
    """By an experiment on the column's text with the row's system, unless something is in the way."""
    experiments = {path.parent.name: settings_of(path.parent.name) for path in ROOT.glob("experiments/*/params.yaml")}
    for table in (table for paper in PAPERS.values() for table in paper.tables):
        for column, row in product(table.columns, table.rows):
            if column.metric in COST_METRICS or column.obstacle or row.added or not (row.variant or row.experiment):
                continue
            capable = [
                name
                for name, settings in experiments.items()
                if (name == row.experiment if row.experiment else row.variant in settings.variants)
                and column.has_languages_of(settings.corpus)
                and column.test_set in (settings.corpus.train, *sets_of(settings), settings.probing.tasks)
            ]
            assert capable or column.id in row.empty, (table.id, row.label, column.id)


def sets_of(settings):
    return (*settings.corpus.tests, *settings.corpus.groups, *settings.corpus.contrastive)


@pytest.mark.parametrize("paper", PAPERS)
def test_the_experiment_of_every_claim_has_its_systems_its_layers_and_its_text(paper):
    for claim in PAPERS[paper].claims:
        settings = settings_of(claim.experiment)
        variants = set(settings.variants)
        assert {claim.variant, *claim.against} <= variants or (claim.smaller and set(claim.smaller) <= variants)
        layers = [spec.layer for spec in (claim.measure, claim.against_measure) if spec and isinstance(spec.layer, int)]
        assert max(map(abs, layers), default=0) <= settings.model.encoder_layers, claim.says
        assert max(layers, default=0) <= 1 or settings.model.encoder_layers == 6, claim.says  # layer 2 of six
        if claim.own_text:
            columns = PAPERS[paper].columns_of(claim)
            assert any(
                column.has_languages_of(settings.corpus) and column.test_set in sets_of(settings) for column in columns
            ), claim.says
