"""Tables of papers: published numbers that keep their rules, and an experiment's numbers beside them."""

import csv
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from made_up_experiment import PARAMETERS, SPEEDS, evaluate_all, make_experiment
from measured import write_flat

from context_nmt.files import UserError, write_json
from context_nmt.report.papers.curves import draw_curves
from context_nmt.report.papers.figures import draw_gains
from context_nmt.report.papers.pages import format_papers
from context_nmt.report.papers.published import read_papers
from context_nmt.report.papers.replicas import set_beside, set_paper_beside
from context_nmt.report.tables import write_tables
from context_nmt.results.table import read_results
from context_nmt.settings.parameters import read_parameters

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
                {"id": "size", "label": "Size (M)", "metric": "parameters", "unit": "M", "decimals": 1},
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


def page_of(paper, results):
    besides = [beside for table in paper.tables if (beside := set_beside(table, results))]
    return format_papers([(paper, besides)], results)


def cells(page, label):
    """The cells of the first row of that label, and the header's."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.split("\n") if line.startswith("|")]
    return next(row for row in lines if row[0] == label), lines[0]


def test_the_paper_s_own_test_set_stands_beside_it(tmp_path, results):
    page = page_of(read(tmp_path), results)
    row, header = cells(page, "Gauss")
    found = dict(zip(header, row, strict=True))
    summary, gain = results.summary("gauss", "test", "sacrebleu"), results.difference("gauss", "test", "sacrebleu")
    assert found["BLEU, published"] == "28.0 (+0.7; p < 0.01)"
    assert found["reproduced, sacrebleu"] == f"{summary['mean']:.2f} ± {summary['deviation']:.2f} (+{gain.mean:.2f} ‡)"
    assert found["En-Fi, published"] == "10.00"
    assert found["Size (M), published"] == "90.2 (x 1.50)"
    assert found["parameters here"] == "2,000,000 (+1,000,000; x 2.00)"
    assert found["Steps/s, published"] == "1.20 (x 0.80)"
    assert found["training speed here / Transformer"] == "0.81"
    assert cells(page, "someone else")[0] == ["someone else", "20.0", "-", "-", "-", "-", "-", "-"]
    assert cells(page, "never run")[0][1:3] == ["28.5 (+0.5)", "-"]
    assert "replica" not in page
    assert "A. Finch, B. Wren (1999). On birds. Nest. doi 10.1/birds" in page


def test_another_test_set_or_direction_is_a_replica(tmp_path, results):
    for change in ({"columns_0": {"test_set": "newstest2014"}}, {"languages": "de-en"}):
        page = page_of(read(tmp_path, **change), results)
        assert "**A replica on birds en-de**" in page
        row, header = cells(page, "Gauss")
        assert header[-3:] == ["birds dev, sacrebleu", "birds test, sacrebleu", "birds both, sacrebleu"]
        gain = results.difference("gauss", "both", "sacrebleu").mean
        assert f"(+{gain:.2f})" in row[-1]
        assert row[1] == "28.0 (+0.7; p < 0.01)"


def test_an_experiment_on_the_paper_s_text_has_no_replicas_of_its_other_tables(tmp_path, results):
    paper = read(tmp_path)
    table = paper.tables[0]
    elsewhere = replace(table, id="Table 2", languages="en-ru")
    costs = replace(table, id="Table 3", columns=table.columns[2:], rows=tuple(map(without_scores, table.rows)))
    own = set_paper_beside(replace(paper, tables=(table, elsewhere, costs)), results)
    assert [(beside.table.id, beside.is_replica) for beside in own] == [("Table 1", False), ("Table 3", False)]
    other = set_paper_beside(replace(paper, tables=(elsewhere, costs)), results)
    assert [(beside.table.id, beside.is_replica) for beside in other] == [("Table 2", True), ("Table 3", True)]


def without_scores(row):
    kept = {column: value for column, value in row.published.items() if column in ("size", "speed")}
    return replace(row, published=kept, marks={})


def test_what_two_columns_show_is_reproduced_once(tmp_path, results):
    other = {"metric": "parameters", "languages": "en-fi"}
    page = page_of(read(tmp_path, columns_1={"languages": "en-de"}, columns_3=other), results)
    header = cells(page, "Gauss")[1]
    assert header[1:5] == ["BLEU, published", "En-Fi, published", "reproduced, sacrebleu", "Size (M), published"]
    assert header[5:] == ["parameters here", "Steps/s, published"]  # the size of a model of other languages is none


def test_a_published_difference_stays_one(tmp_path, results):
    published = {"bleu": 0.7, "size": -30}
    columns = {"columns_0": {"difference": True}, "columns_2": {"difference": True}}
    page = page_of(read(tmp_path, rows_2={"published": published, "marks": {"size": "about"}}, **columns), results)
    row, header = cells(page, "Gauss")
    found = dict(zip(header, row, strict=True))
    assert found["BLEU, published difference"] == "+0.7"
    assert found["Size (M), published difference"] == "−30.0 (about)"  # noqa: RUF001
    assert found["parameters here"] == "2,000,000 (+1,000,000; x 2.00)"


def test_another_baseline_than_the_paper_s_is_named(tmp_path):
    variants = PARAMETERS["variants"] | {"gauss": {"baseline": "alone"}}
    results = read_results(evaluate_all(make_experiment(tmp_path, variants=variants)))
    row, header = cells(page_of(read(tmp_path), results), "Gauss")
    assert row[header.index("reproduced, sacrebleu")].endswith("(+3.04 to alone)")
    assert row[header.index("parameters here")] == "2,000,000 (−2,000,000; x 0.50 to alone)"  # noqa: RUF001


def test_settings_that_are_not_the_paper_s_stand_beside_the_label(tmp_path, results):
    def labels(layers, wanted):
        models = results.models | {"gauss": results.models["gauss"] | {"slots": {"slot": layers, "other": [{}]}}}
        page = page_of(read(tmp_path, rows_2={"settings": wanted}), replace(results, models=models))
        return [line.split(" | ")[0].removeprefix("| ") for line in page.split("\n") if line.startswith("| Gauss")]

    assert labels([{"window": 9}] * 2, {"window": 9}) == ["Gauss"]
    assert labels([{"window": 2}] * 2, {"window": 9}) == ["Gauss (here: window 2)"]
    assert labels([{"window": 2}, {"window": 9, "size": 3}], {"window": 9, "size": 4}) == [
        "Gauss (here: window 2, 9; size 3)"
    ]
    assert labels([{"window": 2}], {}) == labels([{}], {"window": 9}) == ["Gauss"]
    page = page_of(read(tmp_path, rows_2={"settings": {}}, rows_3={"settings": {"window": 9}}), results)
    assert "| never run |" in page


def test_a_table_whose_baselines_alone_ran_is_left_out(tmp_path, results):
    page = page_of(read(tmp_path, rows_2={"variant": "other"}, rows_3={"baseline": "other"}), results)
    assert "|" not in page
    assert "No variant of this experiment is a system of these papers" in page


def test_a_replica_has_the_metric_that_its_table_asks_for(tmp_path, results):
    page = page_of(read(tmp_path, columns_0={"test_set": "elsewhere"}, replica=["chrf"]), results)
    assert cells(page, "Gauss")[1][-1] == "birds both, chrf"
    assert "Bird songs" not in page_of(read(tmp_path, columns_0={"test_set": "elsewhere"}, replica=["senses"]), results)


def test_what_the_analyses_have_measured_is_a_column_like_a_score(tmp_path, results):
    entropy = {"metric": "locality_entropy", "decimals": 2}
    row, header = cells(page_of(read(tmp_path, columns_0=entropy), results), "Gauss")
    assert row[header.index("reproduced, locality_entropy")] == "1.60 ± 0.01 (+0.10)"
    share = {"metric": "local_share_2"}
    row, header = cells(page_of(read(tmp_path, columns_0=share), results), "Gauss")
    assert row[header.index("reproduced, local_share_2")] == "0.60 ± 0.01"  # the baseline has none


def test_a_replica_may_have_several_metrics_and_leaves_out_what_there_is_not(tmp_path, results):
    metrics = ["locality_entropy", "local_share_7", "chrf"]
    page = page_of(read(tmp_path, columns_0={"test_set": "elsewhere"}, replica=metrics), results)
    assert cells(page, "Gauss")[1][-5:] == [
        *("birds dev, locality_entropy", "birds dev, chrf", "birds test, locality_entropy", "birds test, chrf"),
        "birds both, chrf",
    ]


def test_a_column_at_each_place_is_one_per_place(tmp_path, results):
    each = {"metric": "local_share", "label": "shares", "test_set": "elsewhere", "each": [1, 2]}
    nothing = {f"rows_{number}": {"published": {}} for number in (0, 1, 3)}
    paper = read(
        tmp_path, across="layer", columns_0=each, rows_2={"published": {"bleu_2": 0.5}, "marks": {}}, **nothing
    )
    assert [(one.id, one.label, one.metric, one.at, one.line) for one in paper.tables[0].columns[:2]] == [
        ("bleu_1", "shares 1", "local_share_1", 1, "shares"),
        ("bleu_2", "shares 2", "local_share_2", 2, "shares"),
    ]
    row, header = cells(page_of(paper, results), "Gauss")
    assert row[header.index("shares 2, published")] == "0.5"
    assert row[header.index("birds test, local_share_2")] == "0.60 ± 0.01"
    inside = read(
        tmp_path,
        across="layer",
        columns_0={**each, "metric": "a_{}_b"},
        rows_2={"published": {}, "marks": {}},
        **nothing,
    )
    assert [one.metric for one in inside.tables[0].columns[:2]] == ["a_1_b", "a_2_b"]


def test_a_table_without_baselines_takes_any_system_of_it(tmp_path, results):
    rows = {"baseline": None}
    paper = read(tmp_path, rows_2=rows, rows_3=rows)
    assert set_beside(paper.tables[0], results) is not None
    assert (
        set_beside(
            read(tmp_path, rows_1={"variant": None}, rows_2={**rows, "variant": None}, rows_3=rows).tables[0], results
        )
        is None
    )


def test_a_picture_has_the_gains_of_every_compared_system(tmp_path, results):
    paper = read(tmp_path, columns_0={"test_set": "newstest2014"})
    beside = set_beside(paper.tables[0], results)
    draw_gains(paper, [beside], tmp_path / "birds.svg")
    picture = (tmp_path / "birds.svg").read_bytes()
    found = re.findall(r"<!-- (.*?) -->", picture.decode())
    assert {"Bird songs", "Table 1: singing", "Gauss", "never run", "published", "birds en-de"} <= set(found)
    assert not {"Transformer", "someone else"} & set(found)
    draw_gains(paper, [beside], tmp_path / "birds.svg")
    assert (tmp_path / "birds.svg").read_bytes() == picture
    slots = {"slots": {"slot": [{"window": 2}]}}
    other = replace(results, models=results.models | {"gauss": results.models["gauss"] | slots})
    paper = read(tmp_path, columns_0={"test_set": "newstest2014"}, rows_2={"settings": {"window": 9}})
    draw_gains(paper, [set_beside(paper.tables[0], other)], tmp_path / "birds.svg")
    assert "<!-- Gauss (here: window 2) -->" in (tmp_path / "birds.svg").read_text(encoding="utf-8")


def test_a_picture_has_no_gain_over_another_baseline(tmp_path):
    variants = PARAMETERS["variants"] | {"gauss": {"baseline": "alone"}}
    results = read_results(evaluate_all(make_experiment(tmp_path, variants=variants, seeds=[1])))
    paper = read(tmp_path)
    draw_gains(paper, [set_beside(paper.tables[0], results)], tmp_path / "birds.svg")
    assert not (tmp_path / "birds.svg").exists()


def test_bits_are_not_drawn_among_gains_in_bleu(tmp_path, results):
    paper = read(tmp_path, columns_0={"metric": "locality_entropy"}, columns_1={"metric": "ngram_accuracy_3"})
    draw_gains(paper, [set_beside(paper.tables[0], results)], tmp_path / "birds.svg")
    assert not (tmp_path / "birds.svg").exists()


def curved(tmp_path, **changes):
    """The paper's table as a figure over columns."""
    columns = {f"columns_{number}": {"at": at} for number, at in enumerate(("<10", "10-20", 20, 30))}
    return read(tmp_path, across="length", **columns, **changes)


def drawn(paper, results, path):
    path.unlink(missing_ok=True)
    draw_curves(paper, [set_beside(paper.tables[0], results)], path)
    return re.findall(r"<!-- (.*?) -->", path.read_text(encoding="utf-8")) if path.exists() else None


def test_a_figure_has_a_line_per_system_over_its_columns(tmp_path, results):
    first, second = {"metric": "ngram_accuracy_3"}, {"metric": "ngram_accuracy_9", "languages": "en-de"}
    paper = curved(tmp_path)
    assert drawn(paper, results, tmp_path / "birds.svg") is None  # a line of one score is none
    changed = {"columns_0": {"at": "<10", **first}, "columns_1": {"at": "10-20", **second}}
    texts = drawn(read(tmp_path, across="length", **changed), results, tmp_path / "birds.svg")
    assert {"&lt;10", "10-20", "length", "Transformer", "Gauss", "published", "value, test"} <= set(texts)
    assert "never run" not in texts
    lines = {name: {"line": name} for name in ("keys", "values")}
    both = {"columns_0": changed["columns_0"] | lines["keys"], "columns_1": changed["columns_1"] | lines["values"]}
    assert drawn(read(tmp_path, across="length", **both), results, tmp_path / "birds.svg") is None  # a point each


def test_a_figure_may_have_a_line_per_measure_over_its_rows(tmp_path, results):
    rows = {"rows_1": {"at": 2}, "rows_2": {"at": 3}}
    paper = read(tmp_path, across="size", **rows)
    texts = drawn(paper, results, tmp_path / "birds.svg")
    assert {"2", "3", "size", "BLEU"} <= set(texts)
    assert "Gauss" not in texts
    differences = {"columns_0": {"difference": True}, "rows_3": {"at": 4, "baseline": "gauss"}}
    texts = drawn(read(tmp_path, across="size", **rows, **differences), results, tmp_path / "birds.svg")
    assert texts is None  # one system alone has a gain


def test_a_figure_on_other_text_has_its_measures_on_one_test_set(tmp_path, results):
    measures = ("locality_entropy_1", "locality_entropy_2")
    changed = {
        f"columns_{number}": {"metric": metric, "test_set": "elsewhere", "at": number, "languages": "en-de"}
        for number, metric in enumerate(measures)
    }
    paper = read(tmp_path, across="layer", **changed)
    header = cells(page_of(paper, results), "Gauss")[1]
    assert header[-2:] == [f"birds test, {metric}" for metric in measures]
    assert "BLEU, published" in header
    assert "Size (M), published" in header
    texts = drawn(paper, results, tmp_path / "birds.svg")
    assert {"0", "1", "layer", "Gauss", "value, test"} <= set(texts)
    assert "published" not in texts  # on other text
    unpublished = {f"rows_{number}": {"published": {}, "marks": {}} for number in range(4)}
    header = cells(page_of(read(tmp_path, across="layer", **unpublished, **changed), results), "Gauss")[1]
    assert not any("published" in title for title in header)  # so many columns of dashes say nothing


def test_there_is_no_picture_of_published_gains_alone(tmp_path, results):
    paper = read(tmp_path, rows_2={"variant": "other"}, rows_3={"variant": "alone", "baseline": "other"})
    draw_gains(paper, [set_beside(paper.tables[0], results)], tmp_path / "birds.svg")
    assert not (tmp_path / "birds.svg").exists()


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
        ({"columns_0": {"test_set": None}}, r"test_set is missing; sacrebleu is a score on one"),
        ({"columns_0": {"unit": "K"}}, r"unit is 'K'; only parameters have one"),
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
        ({"table": "Table 1", "against": "gaus"}, r"claims: Table 1 has no row of gaus"),
        ({"table": "Table 1", "variant": "song"}, r"claims: Table 1 has no row of song"),
    ],
)
def test_a_claim_names_a_table_and_its_rows(tmp_path, claim, message):
    claims = [{"says": "louder", "variant": "gauss"} | claim]
    (tmp_path / "birds.yaml").write_text(yaml.safe_dump(PAPER | {"claims": claims}), encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_papers(tmp_path)


def test_a_folder_without_papers_is_refused(tmp_path):
    with pytest.raises(UserError, match="holds no paper"):
        read_papers(tmp_path)


def test_published_numbers_add_up():
    """Where a mean is published, it is that of its columns; gains of rows are those of the text."""
    papers = read_papers()
    tables = {(name, table.id): table for name, paper in papers.items() for table in paper.tables}
    first = tables["lexical_shortcuts", "Table 1"]
    for row in first.rows:
        scores = [row.published[f"newstest{year}"] for year in range(2014, 2019)]
        assert sum(scores) / 5 == pytest.approx(row.published["mean"], abs=0.06)
    for other in ("Table 3", "Table 4"):
        table = tables["lexical_shortcuts", other]
        assert table.row(table.rows[0].variant).published.keys() == {"newstest2017", "newstest2018", "mean"}
    fusion = tables["lexical_shortcuts", "Table 4"].row("lexical_shortcuts_fusion").published
    assert fusion.items() <= first.row("lexical_shortcuts_fusion").published.items()
    rows = tables["context_aware_self_attention", "Table 1"].rows
    assert all(before.published["bleu"] < 28.3 for before in rows)
    assert [row.published["parameters"] for row in rows] == [88.0, 91.0, 99.0, 95.9, 106.9, 99.0, 106.9, 125.8]
    speeds = [row.published["decoding"] / row.published["training"] for row in rows]
    assert all(abs(one - other) < 0.03 for one, other in pairwise(speeds))


def test_published_numbers_of_two_tables_agree():
    tables = {table.id: table for table in read_papers()["context_aware_cross_attention"].tables}
    for variant in ("transformer_big", "cmlm", "ccan"):
        second, fourth = (tables[name].row(variant).published for name in ("Table 2", "Table 4"))
        assert {name: second[name] for name in ("en_de", "zh_en")} == {
            name: fourth[name] for name in ("en_de", "zh_en")
        }
    for variant in ("cmlm", "ccan"):
        assert len({tables[f"Table 3, {side}"].row(variant).published["bleu"] for side in ("left", "right")}) == 1
    own = tables["Table 4"].row("ccan")
    assert [tables["Table 4"].published_gain(own, column) for column in tables["Table 4"].columns] == [
        0.4,
        0.5,
        0.6,
        0.5,
    ]
    assert set(own.marks) == {"en_de", "zh_en", "ja_en"}


def test_published_scores_of_documents_rise_with_context():
    """What the text says of them: any context helps; the joint system has the best BLEU, above the cache."""
    tables = {table.id: table for table in read_papers()["hierarchical_attention"].tables}
    for name in ("Table 1", "Table 4"):
        table = tables[name]
        rows = {row.variant: row.published for row in table.rows if row.published}
        assert set(rows) == {"transformer", "cache_memory", "han_encoder", "han_decoder", "han_joint"}
        for column in ("ted_es_en", "ted_zh_en", "subtitles_es_en", "subtitles_zh_en"):
            assert min(rows, key=lambda variant: rows[variant][column]) == "transformer"
            if name == "Table 1":
                assert max(rows, key=lambda variant: rows[variant][column]) == "han_joint"
    joint = tables["Table 1"].row("han_joint")
    assert [tables["Table 1"].published_gain(joint, column) for column in tables["Table 1"].columns] == [
        *(1.8, 0.91, 0.92, 1.03, 1.07),
    ]


def test_shares_have_four_decimals(tmp_path, results):
    changed = replace(results, analyses={name: [{"test": {"cohesion": 0.1234}}] * 2 for name in results.analyses})
    paper = read(tmp_path, columns_0={"metric": "cohesion", "decimals": 4}, rows_2={"published": {"bleu": 0.2}})
    page = format_papers([(paper, set_paper_beside(paper, changed))], changed)
    assert "| 0.1234 ± 0.0000 (+0.0000) |" in page


def test_every_system_of_a_paper_is_a_variant_of_an_experiment():
    paths = [ROOT / "params.yaml", *ROOT.glob("experiments/*/params.yaml")]
    variants = {variant for path in paths for variant in read_parameters(path).variants}
    named = {row.variant for paper in read_papers().values() for table in paper.tables for row in table.rows}
    assert named - {None} <= variants


@pytest.mark.slow
def test_tables_of_an_experiment_have_all_papers(tmp_path):
    names = ["transformer", "dual_context_encoder", "context_aware_encoder", "lexical_shortcuts_fusion", "cmlm", "ccan"]
    names.append("han_joint")
    variants = {name: {"baseline": "transformer"} if number else {} for number, name in enumerate(names)}
    variants["ccan"] = {"baseline": "cmlm", "test": "sign"}
    experiment = make_experiment(tmp_path, variants=variants, train={"bitext": names}, focus="transformer")
    write_tables(evaluate_all(experiment))
    page = (experiment.metrics / "papers.md").read_text(encoding="utf-8")
    for paper in read_papers().values():
        assert f"## {paper.name}\n" in page
    assert page.count("### Table 3:") == 2  # of the small Transformer nothing ran
    assert "### Figure 2b" in page
    assert "### Figure 2a" not in page  # no system is gated
    assert "ContraWSD" not in page
    assert page.count("**A replica on birds en-de**") == page.count("### ")
    with (experiment.metrics / "papers.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    published = next(row for row in rows if row["variant"] == "lexical_shortcuts_fusion" and row["published_ratio"])
    assert (published["metric"], published["published"], published["published_ratio"]) == (
        "parameters",
        "84053000",
        "1.2898",
    )
    assert (published["reproduced"], published["difference"], published["ratio"]) == ("4000000", "3000000", "4.0")
    replica = next(row for row in rows if row["variant"] == "context_aware_encoder" and row["test_set"] == "dev")
    assert (replica["corpus"], replica["languages"], replica["published"]) == ("birds", "en-de", "")
    assert float(replica["reproduced"]) > 80
    assert sorted(path.name for path in (experiment.metrics / "figures").iterdir()) == [
        "bleu.svg",
        "context_aware_cross_attention.svg",
        "context_aware_cross_attention_curves.svg",
        "context_aware_self_attention.svg",
        "dual_contextual.svg",
        "hierarchical_attention.svg",
        "learning_curves.svg",
        "lexical_shortcuts.svg",
        "locality_entropy.svg",
        "ngram_accuracy.svg",
    ]


@pytest.mark.slow
def test_divergences_are_drawn_over_layers_and_over_filter_sizes(tmp_path):
    sizes = {"dual_context_encoder": 2, "dual_context_kernel_3": 3, "dual_context_kernel_8": 8}
    variants = {"transformer": {}} | {name: {"baseline": "transformer"} for name in sizes}
    experiment = make_experiment(
        tmp_path, variants=variants, train={"bitext": list(variants)}, focus="transformer", seeds=[1]
    )
    for name, size in sizes.items():
        layers = {
            f"{measure}_encoder{end}": 1 / size
            for measure in ("divergence", "head_divergence")
            for end in ("", "_1", "_2")
        }
        write_flat(experiment.analyses(f"{name}-1"), dict.fromkeys(("dev", "test"), layers))
    write_tables(evaluate_all(experiment))
    page = (experiment.metrics / "papers.md").read_text(encoding="utf-8")
    by_size = cells(page.split("### Figure 4b")[1], "f = 8")
    assert by_size == (
        ["f = 8", "0.125", "0.125"],
        ["System", *(f"birds test, {one}_encoder" for one in ("divergence", "head_divergence"))],
    )
    picture = (experiment.metrics / "figures/dual_contextual_curves.svg").read_text(encoding="utf-8")
    texts = re.findall(r"<!-- (.*?) -->", picture)
    for wanted in ("Figure 4a: divergence of the two attentions by encoder layer", "Figure 4b:", "Figure 3:"):
        assert any(text.startswith(wanted) for text in texts)
    panel = texts[texts.index(next(text for text in texts if text.startswith("Figure 4a"))) :]
    assert {"f = 2", "f = 3", "f = 8", "pairs of heads", "f"} <= set(panel)


def test_speeds_that_are_missing_or_malformed_are_named(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path))
    broken = {"kind": "autoregressive", "slots": {}, "training": {"mean": 1}}
    write_json(experiment.speeds, SPEEDS | {"variants": {"gauss": broken}})
    with pytest.raises(UserError, match=r"variants\.json: not what `make speed` writes \(KeyError: 'median'\)"):
        read_results(experiment)
    experiment.speeds.unlink()
    with pytest.raises(UserError, match=r"variants\.json: no such file"):
        read_results(experiment)
