"""The papers' tables and claims are all there, and each cell that is missing has a command that fills it."""

import re
from functools import cache
from pathlib import Path

import pytest
from paper_checklist import CLAIMS, TABLES

from context_nmt.report.papers.columns import COSTS
from context_nmt.report.papers.comparison import BLANK, CITED, SPEED, WITH_ANY, comparisons_of
from context_nmt.report.papers.filling import NO_EXPERIMENT
from context_nmt.report.papers.judging import columns_of, table_of
from context_nmt.report.papers.published import read_papers
from context_nmt.report.papers.published_gains import published_gains
from context_nmt.report.tables import DASH
from context_nmt.results.reading import read_all
from context_nmt.settings.folder import Experiment
from context_nmt.settings.parameters import read_parameters

ROOT = Path(__file__).parents[1]
PAPERS = read_papers()
SIGNS = {"higher": ">", "not_lower": ">=", "lower": "<", "equal": "="}


def key(column):
    return column.languages, column.test_set, column.metric, column.layer, str(column.tag), column.difference


def entries(paper, name):
    """The tables of a paper with a name of the checklist."""
    return [table for table in PAPERS[paper].tables if name in table.checklist]


@pytest.mark.parametrize("paper", TABLES)
def test_every_table_and_figure_has_its_rows_and_columns(paper):
    assert {name for table in PAPERS[paper].tables for name in table.checklist} == set(TABLES[paper])
    assert all(table.checklist for table in PAPERS[paper].tables)
    for name, (rows, columns) in TABLES[paper].items():
        tables = entries(paper, name)
        for table in tables:
            assert {row.variant or row.label for row in table.rows if not row.added} == set(rows), table.id
        assert {key(column) for table in tables for column in table.columns if not column.added} == columns, name


@pytest.mark.parametrize("paper", CLAIMS)
def test_every_claim_is_there(paper):
    listed = [" ".join(claim.split()) for claim in re.split(r"\n {8}(?! )", CLAIMS[paper].rstrip()) if claim.strip()]
    claims = PAPERS[paper].claims
    assert sorted(written(claim) for claim in claims if claim.place) == sorted(listed)


@pytest.mark.parametrize(
    ("paper", "claim", "published"),
    [
        ("dual_contextual", "dual_context_encoder > dual_context_decoder, BLEU (Table 2)", [0.04, 0.22]),
        ("dual_contextual", "dual_context_both > transformer, BLEU (Table 2)", [0.52, 0.52, 0.35]),
        (
            "dual_contextual",
            "dual_context_both > dual_context_decoder, BLEU"
            " (Table 2: es_en es_en_gain vi_en en_es ro_en en_ro fr_en en_fr)",
            [0.19],
        ),
        ("context_aware_self_attention", "context_aware_encoder >= transformer, training_speed (Table 1)", [-0.09]),
        ("context_aware_self_attention", "context_aware_encoder >= transformer, decoding_speed (Table 1)", [-0.11]),
        ("context_aware_self_attention", "context_aware_encoder = transformer_big, BLEU (Table 2: en_de)", [-0.32]),
        ("context_aware_self_attention", "context_aware_encoder = transformer_big, BLEU (Table 2: zh_en)", [0.11]),
        (
            "context_aware_cross_attention",
            "ccan > its baseline, probe of tree_depth top_constituents bigram_shift (Table 5)",
            [0.53],
        ),
        (
            "context_aware_cross_attention",
            "ccan > its baseline, probe of past_present subj_number obj_number odd_man_out coordination_inversion"
            " (Table 5)",
            [-0.02],
        ),
    ],
)
def test_the_published_differences_of_claims_are_those_of_the_papers(paper, claim, published):
    (found,) = [one for one in PAPERS[paper].claims if written(one) == claim]
    assert [round(one.gain, one.decimals) for one in published_gains(PAPERS[paper], found)] == published


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
    gain = "gain of " if claim.gains else ""
    other = other or "its baseline"
    return f"{gain}{claim.variant} {SIGNS[claim.direction]} {other}, {measure} ({claim.place}{columns})"


def in_words(measure):
    if measure is None:
        return "BLEU"
    texts = [" ".join(map(str, values)) for values in map(listed, (measure.metric, measure.layer, measure.tag))]
    return texts[0] + (f" in layer {texts[1]}" if texts[1] else "") + (f" of {texts[2]}" if texts[2] else "")


def listed(value):
    values = value if isinstance(value, tuple) else (value,)
    return [one for one in values if one not in (None, "")]


@pytest.fixture(scope="module")
def comparisons():
    experiments = read_all(Experiment(ROOT))
    return [comparison for name, paper in PAPERS.items() for comparison in comparisons_of(name, paper, experiments)]


def test_every_dash_has_a_command_that_runs_one_system_of_an_experiment(comparisons):
    for comparison in comparisons:
        table, grid = comparison.table, comparison.grid
        for row, cells in zip(table.rows, (row.cells for row in grid.rows), strict=True):
            for heading, cell in zip(grid.headings, cells, strict=True):
                assert (cell.text == DASH) == bool(cell.command), (table.id, row.label, heading)
                if not cell.command or cell.command == SPEED:
                    continue
                if cell.command == NO_EXPERIMENT:
                    assert heading.group in ("Not run: no experiment", "Not run: the text of each"), (table.id, heading)
                    continue
                experiment, variant = runs(cell.command)
                assert variant == row.variant or row.experiment == experiment, cell.command
                if not table.command:
                    assert variant in parameters(experiment).variants, cell.command


def runs(command):
    """The experiment and the system that a command runs."""
    (found,) = re.findall(r"make repro(?: NAME=(\S+))? ONLY=(\w+)", command)
    return found


@cache
def parameters(experiment):
    return read_parameters(ROOT / "experiments" / experiment / "params.yaml" if experiment else ROOT / "params.yaml")


def test_every_cell_of_the_papers_is_filled_or_has_such_a_command(comparisons):
    for comparison in comparisons:
        table = comparison.table
        if table.command:
            experiment, _ = runs(table.command)
            assert (ROOT / "experiments" / experiment).is_dir()
            continue
        texts = {(column.languages, column.test_set) for column in table.columns if column.metric not in COSTS}
        gaps = {(column.languages, column.test_set): gap for gap in comparison.gaps for column in gap.columns}
        for text in texts:
            for row in (row for row in table.rows if (row.variant or row.experiment) and not row.added):
                command = gaps[text].command(row) if text in gaps else ""
                assert command != NO_EXPERIMENT, (table.id, row.label, text)
                if command and not row.experiment:
                    languages, test_set = text
                    settings = parameters(runs(command)[0])
                    sets = (*settings.corpus.tests, *settings.corpus.groups, *settings.corpus.contrastive)
                    assert settings.corpus.direction == languages
                    assert test_set in (*sets, settings.probing.tasks)
                elif not (text in gaps and gaps[text].obstacle):
                    columns = [column.id for column in table.columns if (column.languages, column.test_set) == text]
                    is_filled = row.experiment or set(columns) <= set(row.empty)
                    assert is_filled or is_measured(comparison, row, text), (table.id, row.label, text)


def is_measured(comparison, row, text):
    """Whether an experiment on the text of some columns has this row, with a command for what it lacks."""
    return any(
        (results.settings.corpus.direction, row.variant in results.settings.variants) == (text[0], True)
        and text[1] in results.sets
        for results in comparison.experiments
    )


def test_cells_that_no_system_can_fill_say_so(comparisons):
    for comparison in comparisons:
        for row, cells in zip(comparison.table.rows, (row.cells for row in comparison.grid.rows), strict=True):
            ours = [cell for heading, cell in zip(comparison.grid.headings, cells, strict=True) if is_ours(heading)]
            if row.variant is None and row.experiment is None:
                assert all(cell in ((CITED,) if not row.subject else (WITH_ANY, BLANK)) or cell.value for cell in ours)


def is_ours(heading):
    return heading.group != "Published"


@pytest.mark.parametrize("paper", PAPERS)
def test_the_experiment_of_every_claim_has_its_systems(paper):
    for claim in PAPERS[paper].claims:
        variants = set(Experiment(ROOT / "experiments" / claim.experiment).settings.variants)
        compared = {claim.variant, *claim.against}
        assert compared <= variants or (claim.smaller and set(claim.smaller) <= variants), claim.says


@pytest.mark.parametrize("paper", PAPERS)
def test_the_experiment_of_every_claim_has_its_layers_and_its_text(paper):
    for claim in PAPERS[paper].claims:
        settings = Experiment(ROOT / "experiments" / claim.experiment).settings
        layers = [one.layer for one in (claim.measure, claim.against_measure) if one and isinstance(one.layer, int)]
        assert max(map(abs, layers), default=0) <= settings.model.encoder_layers, claim.says
        assert max(layers, default=0) <= 1 or settings.model.encoder_layers == 6, claim.says  # layer 2 of six
        if claim.own_text:
            columns = columns_of(table_of(PAPERS[paper], claim), claim)
            sets = {column.test_set for column in columns if column.is_of(settings.corpus)}
            assert sets & {*settings.corpus.tests, *settings.corpus.groups}, claim.says


def test_a_limit_of_twenty_words_needs_longer_sentences_than_those_of_the_miniature():
    claims = [claim for claim in PAPERS["context_aware_self_attention"].claims if claim.table == "Figure 5"]
    assert claims
    assert all(claim.own_text and claim.experiment == "wmt14-en-de-context-aware" for claim in claims)


def test_the_lead_over_other_work_is_as_printed():
    (table,) = entries("dual_contextual", "T3")
    assert "by 2.51" in table.source
    assert "up to" not in table.source


def test_the_experiment_with_five_seeds_is_the_default_one():
    texts = [
        (ROOT / folder / "params.yaml").read_text(encoding="utf-8").partition("\nroot: ")[2]
        for folder in (".", "experiments/miniature-five-seeds")
    ]
    one, five = (re.sub(r"\nseeds:.*?\n\n", "\n", text.partition("\n")[2], flags=re.DOTALL) for text in texts)
    assert one == five
