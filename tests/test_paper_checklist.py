"""The papers' tables and claims are all there, and each cell that is missing has a command that fills it."""

import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from context_nmt.report.papers.all_systems import SPEED
from context_nmt.report.papers.comparison import BLANK, CITED, NO_EXPERIMENT, WITH_ANY, comparisons_of
from context_nmt.report.papers.published import COSTS, published_gains, read_papers
from context_nmt.report.tables import DASH
from context_nmt.results.reading import read_all
from context_nmt.settings.parameters import Experiment

ROOT = Path(__file__).parents[1]
PAPERS = read_papers()
CHECKLIST = yaml.safe_load((ROOT / "tests/paper_checklist.yaml").read_text(encoding="utf-8"))
SIGNS = {"higher": ">", "not_lower": ">=", "lower": "<", "equal": "="}


def columns_of(texts):
    """The columns that a line of the checklist lists: languages, test set, metric, layer, tag, difference."""
    for text in texts:
        names, parts = text.partition(": ")[0].split(), text.partition(": ")[2].split(" / ")
        places = {part.split()[0]: part.split()[1:] for part in parts[1:]}
        for metric in parts[0].split():
            for layer in places.get("layers", ["all"]):
                for tag in places.get("tags", [""]):
                    layer_number = None if layer == "all" else int(layer)
                    yield (names[0], *(names[1:] or [None]), metric, layer_number, tag, "difference" in places)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_and_figure_has_its_rows_and_columns(paper):
    found = {}
    for table in PAPERS[paper].tables:
        assert table.checklist
        columns = {
            (one.languages, one.test_set, one.metric, one.layer, str(one.tag), one.difference)
            for one in table.columns
            if not one.added
        }
        for name in table.checklist:
            rows = {row.variant or row.label for row in table.rows if not row.added}
            known, earlier = found.setdefault(name, (rows, set()))
            assert rows == known
            earlier |= columns
    listed = CHECKLIST[paper]["tables"].items()
    assert found == {name: (set(one["rows"]), set(columns_of(one["columns"]))) for name, one in listed}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_is_there(paper):
    written_claims = [written(claim) for claim in PAPERS[paper].claims if claim.place]
    assert sorted(written_claims) == sorted(CHECKLIST[paper]["claims"])


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


def test_a_limit_of_twenty_words_needs_longer_sentences_than_those_of_the_miniature():
    claims = [claim for claim in PAPERS["context_aware_self_attention"].claims if claim.table == "Figure 5"]
    assert claims
    assert all(claim.own_text and claim.experiment == "wmt14-en-de-context-aware" for claim in claims)


def test_the_lead_over_other_work_is_as_printed():
    (table,) = [table for table in PAPERS["dual_contextual"].tables if "T3" in table.checklist]
    assert "by 2.51" in table.source
    assert "up to" not in table.source


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
    values = (one if isinstance(one, tuple) else (one,) for one in (measure.metric, measure.layer, measure.tag))
    metrics, layers, tags = (" ".join(str(one) for one in each if one not in (None, "")) for each in values)
    return metrics + (f" in layer {layers}" if layers else "") + (f" of {tags}" if tags else "")


@pytest.fixture(scope="module")
def comparisons():
    experiments = read_all(Experiment(ROOT))
    return [comparison for name, paper in PAPERS.items() for comparison in comparisons_of(name, paper, experiments)]


def test_every_dash_has_a_command_that_runs_one_system_and_other_cells_say_what_they_are(comparisons):
    for comparison in comparisons:
        table, grid = comparison.table, comparison.grid
        for row, cells in zip(table.rows, (row.cells for row in grid.rows), strict=True):
            for heading, cell in zip(grid.headings, cells, strict=True):
                assert (cell.text == DASH) == bool(cell.command), (table.id, row.label, heading)
                if heading.group != "Published" and row.variant is None and row.experiment is None:
                    assert cell.value or cell in ((WITH_ANY, BLANK) if row.subject else (CITED,))
                if cell.command == NO_EXPERIMENT:
                    assert heading.group in ("Not run: no experiment", "Not run: the text of each"), (table.id, heading)
                elif cell.command not in ("", SPEED):
                    experiment, variant = runs(cell.command)
                    assert variant == row.variant or row.experiment == experiment, cell.command
                    assert table.command or variant in settings_of(experiment).variants, cell.command


def runs(command):
    """The experiment and the system that a command runs."""
    (found,) = re.findall(r"make repro(?: NAME=(\S+))? ONLY=(\w+)", command)
    return found


@cache
def settings_of(experiment):
    return Experiment(ROOT / "experiments" / experiment if experiment else ROOT).settings


def test_every_cell_of_the_papers_is_filled_or_has_such_a_command(comparisons):
    for comparison in comparisons:
        table = comparison.table
        if table.command:
            assert (ROOT / "experiments" / runs(table.command)[0]).is_dir()
            continue
        gaps = {(column.languages, column.test_set): gap for gap in comparison.gaps for column in gap.columns}
        for text in {(column.languages, column.test_set) for column in table.columns if column.metric not in COSTS}:
            languages, test_set = text
            for row in (row for row in table.rows if (row.variant or row.experiment) and not row.added):
                command = comparison.command(gaps[text], row) if text in gaps else ""
                assert command != NO_EXPERIMENT, (table.id, row.label, text)
                if command and not row.experiment:
                    settings = settings_of(runs(command)[0])
                    sets = (*settings.corpus.tests, *settings.corpus.groups, *settings.corpus.contrastive)
                    assert settings.corpus.direction == languages
                    assert test_set in (*sets, settings.probing.tasks)
                elif not (text in gaps and gaps[text].obstacle):
                    columns = {column.id for column in table.columns if (column.languages, column.test_set) == text}
                    is_measured = any(  # by an experiment on this text, with a command for what it lacks
                        results.settings.corpus.direction == languages and test_set in results.sets
                        for results in comparison.experiments
                        if row.variant in results.settings.variants
                    )
                    assert row.experiment or columns <= set(row.empty) or is_measured, (table.id, row.label, text)


@pytest.mark.parametrize("paper", PAPERS)
def test_the_experiment_of_every_claim_has_its_systems_its_layers_and_its_text(paper):
    for claim in PAPERS[paper].claims:
        settings = settings_of(claim.experiment)
        variants = set(settings.variants)
        assert {claim.variant, *claim.against} <= variants or (claim.smaller and set(claim.smaller) <= variants)
        layers = [one.layer for one in (claim.measure, claim.against_measure) if one and isinstance(one.layer, int)]
        assert max(map(abs, layers), default=0) <= settings.model.encoder_layers, claim.says
        assert max(layers, default=0) <= 1 or settings.model.encoder_layers == 6, claim.says  # layer 2 of six
        if claim.own_text:
            columns = PAPERS[paper].columns_of(claim)
            sets = {column.test_set for column in columns if column.is_of(settings.corpus)}
            assert sets & {*settings.corpus.tests, *settings.corpus.groups}, claim.says


def test_the_experiment_with_five_seeds_is_the_default_one():
    texts = [
        (ROOT / folder / "params.yaml").read_text(encoding="utf-8").partition("\nroot: ")[2]
        for folder in (".", "experiments/miniature-five-seeds")
    ]
    one, five = (re.sub(r"\nseeds:.*?\n\n", "\n", text.partition("\n")[2], flags=re.DOTALL) for text in texts)
    assert one == five
