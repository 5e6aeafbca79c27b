"""Tables of papers: published numbers that keep their rules, and an experiment's numbers beside them."""

import re
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from made_up_experiment import PARAMETERS, SPEEDS, evaluate_all, make_experiment
from measured import assert_golden, rows_of
from shown import cells, texts

from context_nmt.files import UserError, write_json
from context_nmt.measures.rows import Measure
from context_nmt.models.counting import describe
from context_nmt.pipeline.planning import plan
from context_nmt.report.claim_rows import claim_id
from context_nmt.report.comparison import REPLICA_NOTE, comparisons_of, reproduce_paper
from context_nmt.report.further_verdicts import read_pilot
from context_nmt.report.pictures import draw_comparison
from context_nmt.report.published import COST_METRICS, ITERATIONS_METRIC, read_papers
from context_nmt.report.tables import TIMES
from context_nmt.results.metrics import format_seeds
from context_nmt.results.reading import read_results
from context_nmt.results.speeds import Speeds, read_speeds
from context_nmt.settings.parameters import read_parameters, training_of

ROOT = Path(__file__).parents[1]

CASES = yaml.safe_load((ROOT / "tests/paper_tables.yaml").read_text(encoding="utf-8"))
PAPERS = read_papers()


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return read_results(evaluate_all(make_experiment(tmp_path_factory.mktemp("experiment"))))


def read(tmp_path, **changes):
    """Read a paper with one table, after changes of the table, its columns or its rows by index."""
    paper = deepcopy(CASES["paper"])
    table = paper["tables"][0]
    for key, value in changes.items():
        kind, _, index = key.partition("_")
        if index:
            table[kind][int(index)].update(value)
        else:
            table[kind] = value
    write_json(tmp_path / "papers/birds.yaml", paper)
    return read_papers(tmp_path / "papers")["birds"]


def comparison_of(paper, results):
    return comparisons_of("birds", paper, [results])[0]


def row_of(paper, results, label="Gauss"):
    """The cells of a row; those of the experiment by "test, sacrebleu" alone."""
    texts_by_title = cells(comparison_of(paper, results).grid)[label]
    return {title.removeprefix("birds en-de, seeds 1, 2: "): text for title, text in texts_by_title.items()}


@pytest.mark.parametrize("name", CASES["tables"])
def test_a_table_with_its_reproduction_is_as_before(tmp_path, results, name):
    """What it shows, its notes, its numbers and the texts of its picture."""
    rows = {run: [*rows, *rows_of({"test": {"cohesion": 0.1234}})] for run, rows in results.rows.items()}
    if name == "not_run":
        rows = {run: of_run for run, of_run in rows.items() if run[0] != "alone"}
    masked = {"again": results.models["again"] | {"kind": "masked"}}
    changed = replace(results, rows=rows, models=results.models | masked)
    paper = read(tmp_path, **CASES["tables"][name])
    comparison = comparison_of(paper, changed)
    columns = [f"{column.id}: {column.label} at {column.at}, line {column.line}" for column in paper.tables[0].columns]
    notes = "\n".join(
        [paper.citation(), *(columns if "each" in name else comparison.grid.titles), *comparison.grid.notes]
    )
    picture = drawn(comparison, tmp_path / "birds.svg")
    shown = f"{notes}\n\n{comparison.grid.numbers().to_csv(index=False)}\n{', '.join(picture)}\n"
    assert_golden(shown, f"paper-{name}.txt")


def drawn(comparison, path):
    """The texts of an entry's picture but for the numbers on axes, each once; "no picture"."""
    assert draw_comparison(comparison, path) == path.exists()
    shown = texts(path) if path.exists() else ["no picture"]
    return [text for text in dict.fromkeys(shown) if not re.fullmatch(r"−?\d+\.\d+", text)]  # noqa: RUF001


def test_a_row_may_be_about_the_reference_or_a_text_instead_of_a_system(tmp_path, results):
    human, size = Measure("test", "cohesion"), Measure("train", "sentences_of_text")
    (tmp_path / "experiments/own").mkdir(parents=True)
    inside = make_experiment(tmp_path / "experiments/own", root="../..")
    more = {run: [*rows, *rows_of({"test": {"cohesion": 0.5}})] for run, rows in results.rows.items()}
    changed = replace(results, rows=more, experiment=inside)
    changed.__dict__["reference_values"] = {("human", human): 0.25, ("text", size): 1234.0}
    text = {"metric": "sentences_of_text", "test_set": "train", "languages": "any"}
    changes = {"columns_0": {"metric": "cohesion"}, "columns_1": text}
    changes |= {f"rows_{number}": {"published": {}, "marks": {}} for number in (1, 2, 3)}
    for about, expected in (
        ({"subject": "human"}, ("0.25", "")),
        ({"subject": "text", "experiment": "own"}, ("", "1,234")),
        ({"subject": "text", "experiment": "other"}, ("", "")),
    ):
        row = row_of(read(tmp_path, **changes, rows_0={"published": {}} | about), changed, "someone else")
        assert (row["test, cohesion"], row["train, sentences_of_text"]) == expected


def test_an_experiment_on_the_paper_s_text_has_no_replicas_of_its_other_tables(tmp_path, results):
    paper = read(tmp_path)
    table = paper.tables[0]
    elsewhere = replace(read(tmp_path, languages="en-ru").tables[0], id="Table 2")
    costs = replace(table, id="Table 3", columns=table.columns[2:], rows=tuple(map(without_scores, table.rows)))
    own = reproduce_paper(replace(paper, tables=(table, elsewhere, costs)), results)
    assert [(beside.table.id, beside.is_replica) for beside in own] == [("Table 1", False), ("Table 3", False)]
    other = reproduce_paper(replace(paper, tables=(elsewhere, costs)), results)
    assert [(beside.table.id, beside.is_replica) for beside in other] == [("Table 2", True), ("Table 3", True)]


def without_scores(row):
    kept = {column: value for column, value in row.published.items() if column in ("size", "speed")}
    return replace(row, published=kept, marks={})


def test_another_baseline_than_the_paper_s_is_named_and_not_drawn(tmp_path):
    variants = PARAMETERS["variants"] | {"gauss": {"baseline": "alone"}}
    results = read_results(evaluate_all(make_experiment(tmp_path, variants=variants)))
    row = row_of(read(tmp_path), results)
    assert row["test, sacrebleu"].endswith("(+3.04 to alone)")
    assert row["parameters"] == f"2,000,000 ({TIMES} 0.50 to alone)"
    assert drawn(comparison_of(read(tmp_path), results), tmp_path / "birds.svg") == ["no picture"]


def test_a_broken_paper_is_named(tmp_path):
    with pytest.raises(UserError, match="no paper in"):
        read_papers(tmp_path)
    with pytest.raises(UserError, match=r"birds\.yaml: tables\.0\.rows\.2\.publish: unknown key; did you mean 'publ"):
        read(tmp_path, rows_2={"publish": {}})
    with pytest.raises(UserError, match=r"rows\.1\.published\.bleu: .* not '27'"):
        read(tmp_path, rows_1={"published": {"bleu": "27"}})


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_tables_keep_the_rules_that_types_do_not_express(paper):
    assert re.fullmatch(r"(doi|arXiv) \S+", paper.link)
    assert len({table.id for table in paper.tables}) == len(paper.tables)
    for table in paper.tables:
        names, variants = [column.id for column in table.columns], [row.variant for row in table.rows if row.variant]
        assert (len({*names}), len({*variants})) == (len(names), len(variants)), table.id
        assert {*table.headline} <= {*variants}
        assert all(
            (column.metric in COST_METRICS) == (column.test_set is None) and column.decimals >= 0
            for column in table.columns
        )
        assert all(column.languages for column in table.columns)
        placed = [any(column.at is not None for column in entries) for entries in (table.columns, table.rows)]
        assert sum(placed) == bool(table.across), table.id  # of a figure, columns or rows have a place on the axis
        assert all((layer or 0) >= 0 for spec in table.replica for _, layer, _ in spec.combinations)
        for row in table.rows:
            assert {*row.marks} <= {*row.published} <= {*names}, row.label
            assert row.baseline is None or row.baseline in {*variants} - {row.variant}, row.label
            assert (row.subject == "text") == bool(row.experiment)
            assert row.variant is None or re.fullmatch(r"\w+", row.variant, re.ASCII)


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_claims_keep_the_rules_that_types_do_not_express(paper):
    tables = {table.id: table for table in paper.tables}
    for claim in paper.claims:
        rows = {row.variant for row in tables[claim.table].rows} if claim.table else {claim.variant, *claim.against}
        assert {claim.variant, *claim.against} <= rows, claim.says
        assert {*claim.columns} <= ({spec.id for spec in tables[claim.table].columns} if claim.table else set())
        measures = [spec for spec in (claim.measure, claim.replica) if spec]
        assert not {metric for spec in measures for metric, _, _ in spec.combinations} & {
            "parameters",
            ITERATIONS_METRIC,
        }
        has_margin = claim.direction in ("equal", "not_lower")
        assert claim.margin is None or (has_margin and claim.margin > 0), claim.says
        assert claim.alike is not None or not has_margin, claim.says  # only BLEU has one by default
        assert len(claim.smaller) != 1
        rivals = (claim.against and not claim.against_measure, claim.against_measure, claim.against_tags)
        assert sum(map(bool, (*rivals, claim.to is not None))) < 2, claim.says


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_a_rerun_has_some_of_the_preregistered_seeds_and_systems(paper):
    whole = read_parameters(ROOT / "experiments" / paper.experiment / "params.yaml")
    for name in paper.preregistration.reruns if paper.preregistration else ():
        again = read_parameters(ROOT / "experiments" / name / "params.yaml")
        assert {*again.seeds} <= {*paper.preregistration.seeds}
        assert all(getattr(again, key) == getattr(whole, key) for key in ("corpus", "text", "units", "significance"))
        for variant, settings in again.variants.items():
            assert again.recipe(variant) == whole.recipe(variant)
            assert training_of(again.train, variant) == training_of(whole.train, variant)
            assert settings.baseline == whole.variants[variant].baseline


def test_the_preregistered_claims_are_those_of_before():
    """Another set changes all corrected p-values."""
    claims = [(name, claim) for name, paper in PAPERS.items() for claim in paper.claims if claim.preregistration]
    lines = [
        f"{claim_id(name, claim)} level {claim.level}, {format_seeds(claim.preregistration.seeds)}"
        for name, claim in claims
    ]
    assert_golden("\n".join([*lines, ""]), "preregistered-claims.txt")


def test_the_pilot_is_of_claims_that_there_are():
    claims = {claim_id(name, claim) for name, paper in PAPERS.items() for claim in paper.claims}
    assert read_pilot()
    assert read_pilot().keys() <= claims


def test_published_numbers_agree_with_each_other_and_with_the_text():
    def tables(paper):
        return {table.id: table for table in PAPERS[paper].tables}

    shortcuts, cross = tables("lexical_shortcuts"), tables("context_aware_cross_attention")
    for row in shortcuts["Table 1"].rows:
        scores = [row.published[f"newstest{year}"] for year in range(2014, 2019)]
        assert sum(scores) / 5 == pytest.approx(row.published["mean"], abs=0.06)
    first, fourth = (shortcuts[name].row("lexical_shortcuts_fusion").published for name in ("Table 1", "Table 4"))
    assert fourth.items() <= first.items()
    for variant in ("transformer_big", "cmlm", "ccan"):
        second, fourth = (cross[name].row(variant).published for name in ("Table 2", "Table 4"))
        assert (second["en_de"], second["zh_en"]) == (fourth["en_de"], fourth["zh_en"])
    for variant in ("cmlm", "ccan"):
        assert len({cross[f"Table 3, {side}"].row(variant).published["bleu"] for side in ("left", "right")}) == 1
    ccan, columns = cross["Table 4"].row("ccan"), [column for column in cross["Table 4"].columns if column.test_set]
    assert [cross["Table 4"].published_gain(ccan, column) for column in columns] == [0.4, 0.5, 0.6, 0.5]
    for name in ("Table 1", "Table 4"):  # any context helps, and the joint system has the best BLEU
        rows = {row.variant: row.published for row in tables("hierarchical_attention")[name].rows if row.published}
        for column in ("ted_es_en", "ted_zh_en", "subtitles_es_en", "subtitles_zh_en"):
            in_order = sorted(rows, key=lambda variant: rows[variant][column])
            assert in_order[0] == "transformer"
            assert name == "Table 4" or in_order[-1] == "han_joint"


@pytest.mark.slow
def test_the_papers_stand_beside_an_experiment_with_their_systems(tmp_path):
    names = ["transformer", "dual_context_encoder", "context_aware_encoder", "lexical_shortcuts_fusion", "cmlm", "ccan"]
    names.append("han_joint")
    variants = {name: {"baseline": "transformer"} if number else {} for number, name in enumerate(names)}
    variants["ccan"] = {"baseline": "cmlm", "test": "sign"}
    experiment = make_experiment(tmp_path, variants=variants, train={"bitext": names}, focus="transformer")
    results = read_results(evaluate_all(experiment))
    comparisons = {name: comparisons_of(name, paper, [results]) for name, paper in PAPERS.items()}
    ran = {entry.name: entry for entries in comparisons.values() for entry in entries if entry.reproductions}
    assert [name for name in ran if name.endswith("-table-3")] == [
        *("context_aware_self_attention-table-3", "hierarchical_attention-table-3"),  # no small Transformer ran
    ]
    assert "context_aware_cross_attention-figure-2b" in ran
    assert "context_aware_cross_attention-figure-2a" not in ran  # no system is gated
    assert "lexical_shortcuts-contrawsd" not in ran
    assert {entry.paper for entry in ran.values()} == set(PAPERS)
    assert [paper.place for paper in PAPERS.values()] == [1, 2, 3, 4, 5]
    assert all(entry.grid.notes[0] == REPLICA_NOTE for entry in ran.values())
    sizes = ran["lexical_shortcuts-table-5"].grid.numbers().query("variant == 'lexical_shortcuts_fusion'")
    published, ours = (sizes[sizes.text.str.contains(ratio)].iloc[0] for ratio in ("1.29", "4.00"))
    assert (published.group, published.text, published.value) == ("Published", f"84,053 ({TIMES} 1.29)", 84053)
    assert (ours.value, ours.difference, ours.text) == (4_000_000, 3_000_000, f"4,000,000 ({TIMES} 4.00)")
    pictures = {name for name, entry in ran.items() if draw_comparison(entry, tmp_path / f"{name}.svg")}
    assert set(ran) - pictures == {"hierarchical_attention-text", "lexical_shortcuts-table-5"}  # of costs


@pytest.mark.parametrize(
    ("slot", "mechanism", "measured", "same", "other"),
    [  # a setting at its default is no other architecture, and a window does not change the speed
        ("decoder_output", "hierarchical_attention", {"context": None}, {"context": "target"}, {"context": "source"}),
        ("cross_attention", "context_aware_cross_attention", {"window": 9, "a": 1}, {"window": 2, "a": 1}, {"a": 2}),
    ],
)
def test_speeds_are_of_all_systems_with_the_same_architecture(slot, mechanism, measured, same, other):
    def described(settings, **speeds):
        return {"kind": "masked", "slots": {slot: [{"mechanism": mechanism, **settings}]}, **speeds}

    training = {"median": 0.5, "rounds": [0.5, 0.5, 1.25]}
    speeds = Speeds("a machine", "small", {"x": described(measured, training=training)})
    known = (0.75, (0.5, 0.5, 1.25))
    for settings, expected in ((measured, known), (same, known), (other, (None, ()))):
        model = described(settings)
        assert (speeds.ratio(model, "training"), speeds.rounds(model, "training")) == expected


def test_every_system_of_the_default_experiment_has_a_measured_speed():
    settings, speeds = read_parameters(ROOT / "params.yaml"), read_speeds(ROOT / "benchmarks/variants.json")
    for variant in settings.variants:
        model = describe(plan(settings, variant).training.model, source_vocabulary=99, target_vocabulary=99)
        for work in ("training", "decoding"):
            assert speeds.ratio(model, work), (variant, work)


def test_speeds_that_are_missing_or_malformed_are_named(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path))
    broken = {"kind": "autoregressive", "slots": {}, "training": {"mean": 1}}
    write_json(experiment.speeds, SPEEDS | {"variants": {"gauss": broken}})
    with pytest.raises(UserError, match=r"variants\.json: .*rounds"):
        read_results(experiment)
    experiment.speeds.unlink()
    with pytest.raises(UserError, match=r"variants\.json: no such file"):
        read_results(experiment)
