"""Tables of papers: published numbers that keep their rules, and an experiment's numbers beside them."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from made_up_experiment import PARAMETERS, SPEEDS, evaluate_all, make_experiment
from measured import assert_golden, rows_of
from shown import cells, texts

from context_nmt.files import UserError, write_json
from context_nmt.measures.rows import Measure
from context_nmt.report.papers.comparison import REPLICA, comparisons_of, reproduce_paper
from context_nmt.report.papers.published import read_papers
from context_nmt.report.pictures import draw_comparison
from context_nmt.report.tables import TIMES
from context_nmt.results.reading import read_results
from context_nmt.results.speeds import Speeds

ROOT = Path(__file__).parents[1]

PAPER = {
    "name": "Bird songs",
    "title": "On birds",
    "authors": ["A. Finch", "B. Wren"],
    "year": 1999,
    "venue": "Nest",
    "link": "doi 10.1/birds",
    "claim": "Birds sing.",
    "tables": [
        {
            "id": "Table 1",
            "title": "singing",
            "languages": "en-de",
            "source": "The table.",
            "columns": [
                {"id": "bleu", "label": "BLEU", "test_set": "test", "metric": "sacrebleu", "decimals": 1},
                {"id": "other", "label": "En-Fi", "languages": "en-fi", "test_set": "test", "metric": "sacrebleu"},
                {"id": "size", "label": "Size (M)", "metric": "parameters", "decimals": 1},
                {"id": "speed", "label": "Steps/s", "metric": "training_speed"},
            ],
            "rows": [
                {"label": "someone else", "published": {"bleu": 20}},
                {
                    "label": "Transformer",
                    "variant": "transformer",
                    "published": {"bleu": 27.3, "size": 60.1, "speed": 1.5},
                },
                {
                    "label": "Gauss",
                    "variant": "gauss",
                    "baseline": "transformer",
                    "published": {"bleu": 28.0, "other": 10, "size": 90.15, "speed": 1.2},
                    "marks": {"bleu": "p < 0.01"},
                },
                {"label": "never run", "variant": "never", "baseline": "gauss", "published": {"bleu": 28.5}},
            ],
        }
    ],
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return read_results(evaluate_all(make_experiment(tmp_path_factory.mktemp("experiment"))))


def read(tmp_path, **changes):
    """A paper of one table, which changes; columns and rows by their place."""
    paper = yaml.safe_load(yaml.safe_dump(PAPER))
    table = paper["tables"][0]
    for key, value in changes.items():
        kind, _, place = key.partition("_")
        if place:
            table[kind][int(place)].update(value)
        else:
            table[kind] = value
    folder = tmp_path / "papers"
    folder.mkdir(exist_ok=True)
    (folder / "birds.yaml").write_text(yaml.safe_dump(paper, sort_keys=False), encoding="utf-8")
    return read_papers(folder)["birds"]


def comparison_of(paper, results):
    return comparisons_of("birds", paper, [results])[0]


def row_of(paper, results, label="Gauss"):
    """The cells of a row; those of the experiment by "test, sacrebleu" alone."""
    found = cells(comparison_of(paper, results).grid)[label]
    return {title.removeprefix("birds en-de, seeds 1, 2: "): text for title, text in found.items()}


def at(**places):
    """A figure: columns or rows with their places on its axis."""
    return {"across": "length"} | {name: {"at": place} for name, place in places.items()}


EACH = {"metric": "local_share", "label": "shares", "test_set": "elsewhere", "each": {"layer": [1, 2]}}
TAGS = EACH | {"metric": "probed", "each": {"layer": [0, 1], "tag": ["NN", "VB"]}}
NOTHING = {f"rows_{number}": {"published": {}, "marks": {}} for number in range(4)}
ELSEWHERE = {"columns_0": {"test_set": "elsewhere"}}
ALONE = {"baseline": None}
NGRAMS = {
    "columns_0": {"at": "<10", "metric": "ngram_accuracy", "tag": 3},
    "columns_1": {"at": "10-20", "metric": "ngram_accuracy", "tag": 9, "languages": "en-de"},
}
ENTROPIES = {
    f"columns_{layer - 1}": {"metric": "locality_entropy", "layer": layer, "at": layer}
    | {"test_set": "elsewhere", "languages": "en-de"}
    for layer in (1, 2)
}
SIZES = {"across": "size", "rows_1": {"at": 2}, "rows_2": {"at": 3}}
CHANGES = {
    "own_text": {},
    "other_test_set": {"columns_0": {"test_set": "newstest2014"}},
    "other_direction": {"languages": "de-en"},
    "not_run": {"rows_3": {"variant": "alone"}},  # of which the experiment has no score
    "iterations": {"columns_3": {"metric": "iterations", "decimals": 0}, "rows_0": {"variant": "again"}},
    # the size of a model of other languages is none of ours, and what two columns show is reproduced once
    "twice": {"columns_1": {"languages": "en-de"}, "columns_3": {"metric": "parameters", "languages": "en-fi"}},
    "differences": {
        "rows_2": {"published": {"bleu": 0.7, "size": -30}, "marks": {"size": "about"}},
        "columns_0": {"difference": True},
        "columns_2": {"difference": True},
    },
    "baselines_alone": {"rows_2": {"variant": "other"}, "rows_3": {"baseline": "other"}},  # nothing yet
    "no_baselines": {"rows_2": ALONE | {"variant": "other"}, "rows_3": ALONE},  # without them, any system will do
    "none": {"rows_1": {"variant": None}, "rows_2": ALONE | {"variant": None}, "rows_3": ALONE},
    "entropy": {"columns_0": {"metric": "locality_entropy", "decimals": 2}},
    "layer": {"columns_0": {"metric": "local_share", "layer": 2}},  # the baseline has none
    "decimals": {"columns_0": {"metric": "cohesion", "decimals": 4}},
    "each": {"across": "layer", "columns_0": EACH, **NOTHING, "rows_2": {"published": {"bleu_2": 0.5}, "marks": {}}},
    "each_tag": {"across": "tag", "columns_0": TAGS, **NOTHING},
    "chrf": ELSEWHERE | {"replica": [{"metric": "chrf"}]},
    "chrf_on_test": ELSEWHERE | {"replica": [{"metric": "chrf", "test_set": "test"}]},
    "nothing": ELSEWHERE | {"replica": [{"metric": "senses"}]},
    "several": ELSEWHERE
    | {"replica": [{"metric": "locality_entropy"}, {"metric": "local_share", "layer": 7}, {"metric": "chrf"}]},
    "tag": ELSEWHERE | {"replica": [{"metric": "ngram_accuracy", "tag": 3}]},
    "obstacle": {"columns_1": {"obstacle": "no tagger"}},
    "one_score_is_no_line": at(columns_0="<10", columns_1="10-20", columns_2=20, columns_3=30),
    "a_line_per_system": {"across": "length"} | NGRAMS,
    "a_point_each": {"across": "length"}
    | {name: column | {"line": line} for (name, column), line in zip(NGRAMS.items(), "ab", strict=True)},
    "a_line_per_measure": SIZES,
    "one_gain_is_no_line": SIZES | {"columns_0": {"difference": True}, "rows_3": {"at": 4, "baseline": "gauss"}},
    "on_other_text": {"across": "layer"} | ENTROPIES,  # without published numbers, on one test set
    "unpublished": {"across": "layer"} | ENTROPIES | NOTHING,
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_table_with_its_reproduction_is_as_before(tmp_path, results, name):
    """What it shows, its notes, its numbers and the texts of its picture."""
    rows = {run: [*rows, *rows_of({"test": {"cohesion": 0.1234}})] for run, rows in results.rows.items()}
    if name == "not_run":
        rows = {run: of_run for run, of_run in rows.items() if run[0] != "alone"}
    masked = {"again": results.models["again"] | {"kind": "masked"}}
    found = replace(results, rows=rows, models=results.models | masked, command="make repro")
    paper = read(tmp_path, **CHANGES[name])
    comparison = comparison_of(paper, found)
    columns = [f"{one.id}: {one.label} at {one.at}, line {one.line}" for one in paper.tables[0].columns]
    notes = "\n".join(
        [paper.citation(), *(columns if "each" in name else comparison.grid.titles), *comparison.grid.notes]
    )
    picture = drawn(comparison, tmp_path / "birds.svg")
    shown = f"{notes}\n\n{comparison.grid.numbers().to_csv(index=False)}\n{', '.join(picture)}\n"
    assert_golden(shown, f"paper-{name}.txt")


def drawn(comparison, path):
    """The texts of an entry's picture but for the numbers on axes, each once; "no picture"."""
    assert draw_comparison(comparison, path) == path.exists()
    found = texts(path) if path.exists() else ["no picture"]
    return [text for text in dict.fromkeys(found) if not re.fullmatch(r"−?\d+\.\d+", text)]  # noqa: RUF001


def test_a_row_may_be_about_the_reference_or_a_text_instead_of_a_system(tmp_path, results):
    human, size = Measure("test", "cohesion"), Measure("train", "sentences_of_text")
    numbers = {("human", human): 0.25, ("text", size): 1234.0}
    found = replace(
        results, rows={run: [*rows, *rows_of({"test": {"cohesion": 0.5}})] for run, rows in results.rows.items()}
    )
    found.__dict__["reference_values"] = numbers
    columns = {
        "columns_0": {"metric": "cohesion"},
        "columns_1": {"metric": "sentences_of_text", "test_set": "train", "languages": "any"},
    }
    nothing = {f"rows_{number}": {"published": {}, "marks": {}} for number in (1, 2, 3)}
    about = {"published": {}, "subject": "human"}
    row = row_of(read(tmp_path, **columns, **nothing, rows_0=about), found, "someone else")
    assert (row["test, cohesion"], row["train, sentences_of_text"]) == ("0.25", "")
    (tmp_path / "experiments/own").mkdir(parents=True)
    inside = replace(found, experiment=make_experiment(tmp_path / "experiments/own", root="../.."))
    inside.__dict__["reference_values"] = numbers
    for folder, expected in (("own", "1,234"), ("other", "")):
        about = {"published": {}, "subject": "text", "experiment": folder}
        row = row_of(read(tmp_path, **columns, **nothing, rows_0=about), inside, "someone else")
        assert (row["test, cohesion"], row["train, sentences_of_text"]) == ("", expected)


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


@pytest.mark.parametrize(
    ("layers", "wanted", "label"),
    [
        ([{"window": 9}] * 2, {"window": 9}, "Gauss"),
        ([{"window": 2}] * 2, {"window": 9}, "Gauss (here: window 2)"),
        ([{"window": 2}, {"window": 9, "size": 3}], {"window": 9, "size": 4}, "Gauss (here: window 2, 9; size 3)"),
        ([{"window": 2}], {}, "Gauss"),
        ([{}], {"window": 9}, "Gauss"),
    ],
)
def test_settings_that_are_not_the_paper_s_are_in_the_label(tmp_path, results, layers, wanted, label):
    models = results.models | {"gauss": results.models["gauss"] | {"slots": {"slot": layers, "other": [{}]}}}
    paper = read(tmp_path, rows_2={"settings": wanted}, rows_3={"settings": {"window": 9}})  # which never ran
    labels = {row.variant: row.label for row in comparison_of(paper, replace(results, models=models)).grid.rows}
    assert (labels["gauss"], labels["never"]) == (label, "never run")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"rows_2": {"publish": {}}},
            r"birds\.yaml: tables\.0\.rows\.2\.publish: unknown key; did you mean 'published'",
        ),
        ({"rows_2": {"published": {"blue": 1.0}, "marks": {}}}, r"'Gauss' has \['blue'\] under published; there are"),
        ({"rows_2": {"marks": {"speed": "about", "bleu2": "x"}}}, r"marks has \['bleu2'\], for which nothing"),
        ({"rows_2": {"baseline": "transfomer"}}, r"'Gauss' has baseline 'transfomer'; the variants of other rows are"),
        ({"rows_2": {"variant": "gauss-1"}}, r"variant is 'gauss-1'; it must be made of letters, digits and _"),
        ({"rows_0": {"settings": {"window": 9}}}, r"settings is \{'window': 9\}, but no variant is named"),
        ({"rows_3": {"variant": "gauss"}}, r"variants repeats a name"),
        ({"columns_1": {"id": "bleu"}}, r"columns repeats a name"),
        ({"columns_3": {"test_set": "test"}}, r"test_set is 'test'; training_speed has none"),
        ({"columns_0": {"test_set": None}}, r"test_set is missing; sacrebleu is measured on one"),
        ({"across": "size"}, r"Table 1 has across: 'size'; a figure has it, and at in either"),
        ({"columns_0": {"at": 1}}, r"Table 1 has across: ''; a figure has it"),
        ({"across": "size", "columns_0": {"at": 1}, "rows_1": {"at": 1}}, r"at in either its columns or its rows"),
        ({"languages": None}, r"bleu has no languages, and the table has none"),
        ({"headline": ["gaus"]}, r"headline has \['gaus'\]; the variants of rows are"),
        ({"rows_1": {"published": {"bleu": "27"}}}, r"rows\.1\.published\.bleu: .* not '27'"),
    ],
)
def test_a_broken_rule_is_named(tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        read(tmp_path, **changes)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"table": "Table 9"}, r"claims: table is 'Table 9'; there are \['Table 1'\]"),
        ({"table": "Table 1", "against": ["gaus"]}, r"claims: Table 1 has no row or column gaus"),
        ({"table": "Table 1", "variant": "song"}, r"claims: Table 1 has no row or column song"),
        ({"table": "Table 1", "columns": ["blue"]}, r"claims: Table 1 has no row or column blue"),
        (
            {"direction": "equal", "measure": {"metric": "gate"}},
            r"claims\.0: margin is missing; only BLEU has one by default",
        ),
        ({"margin": 1.0}, r"margin is 1\.0; a claim of higher has none"),
        ({"direction": "equal", "margin": -1.0}, r"margin is -1\.0; it must be above 0"),
        ({"smaller": ["gauss"]}, r"smaller is \['gauss'\]; it must be two or more"),
        ({"against": ["never"], "to": 0.5}, r"against and to exclude each other"),
        ({"direction": "more"}, r"claims\.0\.direction: .* 'more'"),
    ],
)
def test_a_claim_names_a_table_and_its_rows(tmp_path, claim, message):
    with pytest.raises(UserError, match="no paper in"):
        read_papers(tmp_path)
    claims = [{"says": "louder", "variant": "gauss"} | claim]
    (tmp_path / "birds.yaml").write_text(yaml.safe_dump(PAPER | {"claims": claims}), encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_papers(tmp_path)


def test_published_numbers_of_lexical_shortcuts_add_up():
    tables = {table.id: table for table in read_papers()["lexical_shortcuts"].tables}
    for row in tables["Table 1"].rows:
        scores = [row.published[f"newstest{year}"] for year in range(2014, 2019)]
        assert sum(scores) / 5 == pytest.approx(row.published["mean"], abs=0.06)
    fusion = tables["Table 4"].row("lexical_shortcuts_fusion").published
    assert fusion.items() <= tables["Table 1"].row("lexical_shortcuts_fusion").published.items()


def test_published_numbers_of_context_aware_cross_attention_agree_between_tables():
    tables = {table.id: table for table in read_papers()["context_aware_cross_attention"].tables}
    for variant in ("transformer_big", "cmlm", "ccan"):
        second, fourth = (tables[name].row(variant).published for name in ("Table 2", "Table 4"))
        assert (second["en_de"], second["zh_en"]) == (fourth["en_de"], fourth["zh_en"])
    for variant in ("cmlm", "ccan"):
        assert len({tables[f"Table 3, {side}"].row(variant).published["bleu"] for side in ("left", "right")}) == 1
    columns = [column for column in tables["Table 4"].columns if column.test_set]
    gains = [tables["Table 4"].published_gain(tables["Table 4"].row("ccan"), column) for column in columns]
    assert gains == [0.4, 0.5, 0.6, 0.5]


def test_published_scores_of_documents_rise_with_context():
    """As the text says, any context helps, and the joint system has the best BLEU."""
    tables = {table.id: table for table in read_papers()["hierarchical_attention"].tables}
    for name in ("Table 1", "Table 4"):
        rows = {row.variant: row.published for row in tables[name].rows if row.published}
        for column in ("ted_es_en", "ted_zh_en", "subtitles_es_en", "subtitles_zh_en"):
            assert min(rows, key=lambda variant: rows[variant][column]) == "transformer"
            if name == "Table 1":
                assert max(rows, key=lambda variant: rows[variant][column]) == "han_joint"


@pytest.mark.slow
def test_the_papers_stand_beside_an_experiment_with_their_systems(tmp_path):
    names = ["transformer", "dual_context_encoder", "context_aware_encoder", "lexical_shortcuts_fusion", "cmlm", "ccan"]
    names.append("han_joint")
    variants = {name: {"baseline": "transformer"} if number else {} for number, name in enumerate(names)}
    variants["ccan"] = {"baseline": "cmlm", "test": "sign"}
    experiment = make_experiment(tmp_path, variants=variants, train={"bitext": names}, focus="transformer")
    results = read_results(evaluate_all(experiment))
    found = {name: comparisons_of(name, paper, [results]) for name, paper in read_papers().items()}
    ran = {entry.name: entry for entries in found.values() for entry in entries if entry.reproductions}
    assert [name for name in ran if name.endswith("-table-3")] == [
        *("context_aware_self_attention-table-3", "hierarchical_attention-table-3"),  # no small Transformer ran
    ]
    assert "context_aware_cross_attention-figure-2b" in ran
    assert "context_aware_cross_attention-figure-2a" not in ran  # no system is gated
    assert "lexical_shortcuts-contrawsd" not in ran
    assert {entry.paper for entry in ran.values()} == set(read_papers())
    assert [paper.place for paper in read_papers().values()] == [1, 2, 3, 4, 5]
    assert all(entry.grid.notes[0] == REPLICA for entry in ran.values())
    sizes = ran["lexical_shortcuts-table-5"].grid.numbers().query("variant == 'lexical_shortcuts_fusion'")
    published, own = (sizes[sizes.text.str.contains(ratio)].iloc[0] for ratio in ("1.29", "4.00"))
    assert (published.group, published.text, published.value) == ("Published", f"84,053 ({TIMES} 1.29)", 84053)
    assert (own.value, own.difference, own.text) == (4_000_000, 3_000_000, f"4,000,000 ({TIMES} 4.00)")
    pictures = {name for name, entry in ran.items() if draw_comparison(entry, tmp_path / f"{name}.svg")}
    assert set(ran) - pictures == {"hierarchical_attention-text", "lexical_shortcuts-table-5"}  # of costs


@pytest.mark.parametrize(
    ("kind", "slot", "measured", "same", "other"),
    [
        # a setting at its default is no other architecture, and a window does not change the speed
        ("autoregressive", "decoder_output", {"context": None}, {"context": "target"}, {"context": "source"}),
        (
            "masked",
            "cross_attention",
            {"window": 9, "center": "argmax"},
            {"window": 2, "center": "argmax"},
            {"window": 9},
        ),
    ],
)
def test_speeds_are_of_all_systems_with_the_same_architecture(kind, slot, measured, same, other):
    mechanism = {"decoder_output": "hierarchical_attention", "cross_attention": "context_aware_cross_attention"}[slot]

    def described(settings, **speeds):
        return {"kind": kind, "slots": {slot: [{"mechanism": mechanism, **settings}]}, **speeds}

    known = described(measured, training={"median": 0.7, "rounds": [0.6, 0.8]})
    speeds = Speeds("a machine", "small", {"measured": known})
    found = [
        (speeds.ratio(described(one), "training"), speeds.rounds(described(one), "training"))
        for one in (measured, same)
    ]
    assert found == [(0.7, (0.6, 0.8))] * 2
    assert (speeds.ratio(described(other), "training"), speeds.rounds(described(other), "training")) == (None, ())


def test_speeds_that_are_missing_or_malformed_are_named(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path))
    broken = {"kind": "autoregressive", "slots": {}, "training": {"mean": 1}}
    write_json(experiment.speeds, SPEEDS | {"variants": {"gauss": broken}})
    with pytest.raises(UserError, match=r"variants\.json: .*median"):
        read_results(experiment)
    experiment.speeds.unlink()
    with pytest.raises(UserError, match=r"variants\.json: no such file"):
        read_results(experiment)
