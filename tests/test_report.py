"""The report: every table and figure of the papers, the numbers of experiments, and self-contained pages."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_experiment import COMPARISONS, PARAMETERS, evaluate_all, make_experiment
from markupsafe import escape as escape_html
from measured import read_claims
from shown import texts

from context_nmt.files import read_json, write_json
from context_nmt.measures.rows import Measure
from context_nmt.report import verdicts
from context_nmt.report.all_systems import System, systems_grid, systems_of_one_recipe
from context_nmt.report.comparison import comparisons_of
from context_nmt.report.formats import LATEX_ESCAPES, escape_latex, format_latex, render
from context_nmt.report.pages import results_page
from context_nmt.report.pictures import draw_costs
from context_nmt.report.published import Claim, read_papers
from context_nmt.report.tables import DASH, DASH_CELL, EMPTY_CELL, Cell, Grid, GridRow, Heading
from context_nmt.report.verdicts import Confound
from context_nmt.report.writing import write_report, write_tables
from context_nmt.results.reading import read_all
from context_nmt.settings.parameters import Experiment

pytestmark = pytest.mark.slow

VARIANTS = {
    "transformer": {"label": "Transformer"},
    "dual_context_encoder": {"label": "Both & <more>", "baseline": "transformer"},
    "lexical_shortcuts_fusion": {"baseline": "transformer", "test": "sign", "training": {"maximum_updates": 50}},
    "han_joint": {"baseline": "transformer"},
}
GIVEN = {
    "variants": VARIANTS,
    "train": {"bitext": list(VARIANTS)[:3], "document": ["han_joint"], "document_start": "transformer"},
    "training": {"maximum_updates": 100},
    "focus": "transformer",
    "corpus": PARAMETERS["corpus"] | {"validation": "dev"},
    "significance": {"metric": "sacrebleu", "resamples": 10, "seed": 1},
}
PAPER = replace(read_papers()["dual_contextual"], preregistration=None)
SLOTS = {"transformer": "transformer", "gauss": "dual_context_encoder"}  # what the made-up speeds are of


def made_up(folder, **changes):
    folder.mkdir(parents=True, exist_ok=True)
    experiment = make_experiment(folder, **(GIVEN | changes))
    speeds = read_json(experiment.speeds)
    for system in speeds["variants"].values():
        system["slots"]["slot"][0]["mechanism"] = SLOTS[system["slots"]["slot"][0]["mechanism"]]
    write_json(experiment.speeds, speeds)
    return experiment


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The default experiment with two seeds, one with the same recipe and one seed, and one that never ran."""
    folder = tmp_path_factory.mktemp("project")
    others = {"dual_context_decoder": {"baseline": "transformer"}, "dual_context_both": {"baseline": "transformer"}}
    bitext = [*GIVEN["train"]["bitext"], *others]
    never = {"variants": VARIANTS | others, "train": GIVEN["train"] | {"bitext": bitext}}
    (made_up(folder / "experiments/never", root="../..", **never).metrics / "models.json").unlink()
    few = ("transformer", "dual_context_decoder")
    more = {"variants": {name: never["variants"][name] for name in few}, "train": {"bitext": list(few)}, "seeds": [1]}
    write_tables(evaluate_all(made_up(folder / "experiments/more", root="../..", **more)))
    experiment = evaluate_all(made_up(folder))
    write_tables(experiment)
    write_report(experiment)
    return experiment


def changed(results, **settings):
    """The same experiment with other settings."""
    experiment = replace(results.experiment)
    experiment.__dict__["settings"] = replace(results.settings, **settings)
    return replace(results, experiment=experiment)


def cells(experiment, table, query):
    """Return the rows of a table's CSV that match a query; empty cells are ""."""
    path = experiment.reports / "tables" / f"{table}.csv"
    return pd.read_csv(path, keep_default_na=False, dtype=str).query(query)


def page_of(experiment, name):
    return (experiment.reports / f"papers/{name}.md").read_text(encoding="utf-8")


def test_every_entry_is_on_both_pages_with_its_numbers_and_has_its_files(root):
    page, markdown = parsed(root), (root.reports / "report.md").read_text(encoding="utf-8")
    for name, paper in read_papers().items():
        whole, only_in_files = page_of(root, name).partition("\n## Only in files\n")[::2]
        for comparison in comparisons_of(name, paper, read_all(root)):
            grid = comparison.page_grid
            found = page.findall(f".//table[@id='table-{grid.name}']/tbody/tr")
            if grid.headings and not re.match("Figures (8|16) to", comparison.table.id):
                rows = [[row.find("th").text, *(cell.text or "" for cell in row.findall("td"))] for row in found]
                across, titles = grid.titles, ["System", *(heading.title for heading in grid.headings)]
                lines = [titles, *([row.label, *(cell.text for cell in row.cells)] for row in grid.rows)]
                if len(grid.rows) <= len(grid.headings):
                    lines = [list(line) for line in zip(*lines, strict=True)]
                    across = lines[0][1:]
                assert [row for row in rows if len(row) > 1] == lines[1:]
                section = whole.split(f"\n## {grid.title}\n")[1].split("\n## ")[0]
                assert f"\n| System | {' | '.join(across)} |\n| --- |" in section
                assert [cell for cell in re.findall(r"\n\| (.*?) \|", section)[2:] if cell[:2] != "**"] == [
                    line[0] for line in lines[1:]
                ]
            else:
                assert found == []
                assert grid.title not in whole
                assert re.search(rf"[:;] {re.escape(comparison.table.id)}[;.]", only_in_files)
            assert all((root.reports / f"tables/{grid.name}.{ending}").is_file() for ending in ("csv", "tex"))
    on_other_text = "cannot be compared with the published ones;"
    assert [text.count(on_other_text) for text in (markdown, html(root))] == [1, 1]
    assert on_other_text in (root.reports / "tables/dual_contextual-table-1.tex").read_text(encoding="utf-8")


def test_a_page_leaves_out_gaps_repetitions_and_wide_tables(root):
    headings = [Heading(group, title) for group, title in zip("AABBC", ["x", "y", "x", "y", "z"], strict=True)]
    number = {text: Cell(text, value=float(text)) for text in "1234"}
    rows = (
        GridRow("one", None, (number["1"], number["2"], number["1"], number["3"], EMPTY_CELL)),
        GridRow("two", None, (number["4"], EMPTY_CELL, EMPTY_CELL, DASH_CELL, Cell("cited"))),
        GridRow("two", None, (EMPTY_CELL, EMPTY_CELL, EMPTY_CELL, EMPTY_CELL, DASH_CELL)),
    )
    left = Grid("table", tuple(headings), rows).without_gaps()
    assert [(heading.group, heading.title) for heading in left.headings] == [("A", "x"), ("A", "y"), ("B", "y")]
    assert [(row.label, [cell.text for cell in row.cells]) for row in left.rows] == [
        ("one", ["1", "2", "3"]),
        ("two", ["4", "", DASH]),
    ]
    page = page_of(root, "dual_contextual")
    assert "- No number, published or ours: Table 3" in page
    assert "Not run:" not in page
    speeds = cells(root, "dual_contextual-table-1", "column == 'training speed / Transformer' and value != ''")
    assert speeds.group.nunique() == 2
    assert page.split("\n## Table 1: ")[1].split("\n## ")[0].count("\n| training speed / Transformer |") == 1


def html(experiment):
    return (experiment.reports / "report.html").read_text(encoding="utf-8")


def parsed(experiment):
    return ElementTree.fromstring(html(experiment).removeprefix("<!DOCTYPE html>\n"))


def test_the_page_is_well_formed_has_all_pictures_and_needs_no_network(root):
    page = parsed(root)
    ids = [node.get("id") for node in page.iter() if node.get("id")]
    assert len(ids) == len(set(ids))
    references = [node.get(key) for node in page.iter() for key in ("src", "href") if node.get(key)]
    assert any(reference.startswith("data:image/svg+xml;base64,") for reference in references)
    for reference in references:
        assert reference.startswith("data:") or (reference[0] == "#" and reference[1:] in ids), reference
    assert not page.findall(".//script")
    assert not page.findall(".//link")
    assert not re.search(r"@import|url\(", html(root))
    assert all(image.get("alt") for image in page.iter("img"))
    pages = [root.reports / "report.md", *(root.reports / "papers").iterdir()]
    shown = re.findall(r"\]\((?:\.\./)?figures/(.*?)\)", "".join(path.read_text(encoding="utf-8") for path in pages))
    assert {"costs.svg", "dual_contextual-table-1.svg", "lexical_shortcuts-table-1.svg"} <= set(shown)
    assert {path.name for path in (root.reports / "figures").iterdir()} == set(shown)
    assert len(page.findall(".//img")) > len(shown)


def test_numbers_are_those_of_results_json(root):
    results = read_json(root.metrics / "results.json")
    query = "group == 'birds en-de, seeds 1, 2' and column == 'test, sacrebleu' and value != ''"
    printed = cells(root, "dual_contextual-table-1", query)
    assert set(printed.variant) == {"transformer", "dual_context_encoder"}
    for row in printed.itertuples():
        expected = results[row.variant]["test"]["sacrebleu"]
        assert (float(row.value), float(row.deviation)) == (expected["mean"], expected["deviation"])
        assert row.text.startswith(f"{expected['mean']:.2f} ± {expected['deviation']:.2f}")
        assert row.text in html(root)


def changed_columns(paper, name, ids=(), **changes):
    """Return a paper in which some or all columns of scores of a table are changed."""

    def column(original):
        return replace(original, **changes) if original.test_set and (not ids or original.id in ids) else original

    tables = {table.id: table for table in paper.tables}
    tables[name] = replace(tables[name], columns=tuple(map(column, tables[name].columns)))
    return replace(paper, tables=tuple(tables.values()))


def test_a_note_has_the_command_of_every_experiment_that_lacks_systems(root):
    """The root's report is about all experiments; an experiment that never ran has no column."""
    paper = changed_columns(PAPER, "Table 1", test_set="test")
    first, *other_results = read_all(root)
    never = next(results for results in other_results if results.name == "never")
    alone = read_all(Experiment(root.folder / "experiments/never"))
    for experiments, expected in (([first, never], ["make repro NAME=never"]), (alone, ["make repro NAME=never"])):
        table_1, *_ = comparisons_of("dual_contextual", paper, experiments)
        assert list(table_1.not_run) == expected
        assert table_1.grid.notes[0] == "Not run: `make repro NAME=never` (test)"
    assert comparisons_of("dual_contextual", paper, [first])[0].not_run == {}
    shown = cells(root, "dual_contextual-table-1", "column == 'test, sacrebleu'")
    texts_of = {(row.variant, row.group): row.text for row in shown.itertuples()}
    assert texts_of["dual_context_both", "birds en-de, seeds 1, 2"] == ""  # this experiment does not have it
    assert texts_of["dual_context_encoder", "birds en-de (more), seed 1, out of date"] == ""


def test_an_experiment_s_own_report_has_only_what_it_knows_something_about(root):
    never, more = (replace(root, folder=root.folder / f"experiments/{name}") for name in ("never", "more"))
    for experiment in (never, more):
        write_report(experiment)
    assert "No experiment has run yet." in html(never)
    assert not list((never.reports / "figures").iterdir())
    papers = {path.stem.partition("-")[0] for path in (more.reports / "tables").glob("*.csv")}
    assert ("dual_contextual" in papers, "hierarchical_attention" in papers) == (True, False)


def test_an_experiment_with_only_some_systems_of_another_one_is_not_in_tables(tmp_path):
    few, one = list(VARIANTS)[:2], "dual_context_encoder"
    whole = {"variants": {name: VARIANTS[name] for name in few}, "train": {"bitext": few}, "seeds": [1]}
    part = {"variants": {one: {"label": "Alone"}}, "train": {"bitext": [one]}, "seeds": [1, 2, 3], "focus": one}
    for name, changes in (("whole", whole), ("part", part)):
        write_tables(evaluate_all(made_up(tmp_path / f"experiments/{name}", root="../..", **changes)))
    experiment = evaluate_all(made_up(tmp_path))
    write_tables(experiment)
    write_report(experiment)
    shown = (experiment.reports / "tables/dual_contextual-table-1.csv").read_text(encoding="utf-8")
    assert ("(whole)" in shown, "(part)" in shown) == (True, False)


def test_the_same_bytes_come_out_again(root):
    def written():
        paths = (path for folder in (root.metrics, root.reports) for path in folder.rglob("*") if path.is_file())
        return {path: path.read_bytes() for path in paths}

    before = written()
    COMPARISONS.clear()
    write_tables(evaluate_all(root))
    write_report(root)
    assert written() == before


@pytest.mark.parametrize(("batches", "accumulation"), [(100, 1), (83, 1), (83, 3), (250, 4), (5000, 1)])
def test_learning_curves_bound_the_epochs_of_a_training(root, batches, accumulation):
    curves = []
    for last in (1600, 1200):  # the second seed stopped early
        updates = range(200, last + 1, 200)
        epochs = [float((update * accumulation - 1) // batches + 1) for update in updates]
        curves.append(pd.DataFrame({"epoch": epochs}, index=list(updates)))
    empty = pd.DataFrame({"epoch": []}, index=[])
    results = replace(read_all(root)[0], curves={"transformer": [*curves, empty]})
    low, high = System("transformer", results).epochs
    assert low <= 1400 * accumulation / batches <= high
    assert high - low <= 1
    assert System("dual_context_encoder", results).epochs is None


def test_what_a_training_costs(root):
    """Costs include the training that a system continues, and are unknown if a curve has few points."""
    results = read_all(root)[0]
    plain, joint, dual = (System(name, results) for name in ("transformer", "han_joint", "dual_context_encoder"))
    assert plain.tokens == pytest.approx(20, rel=0.05)
    assert joint.tokens == pytest.approx(2 * plain.tokens)
    assert joint.flops == pytest.approx((4 + 1) * plain.flops)
    assert joint.seconds is None
    assert dual.seconds == pytest.approx(plain.seconds / 0.8123)
    short = [curve[:1] for curve in results.curves["han_joint"]]
    known = System("han_joint", replace(results, curves=results.curves | {"han_joint": short}))
    assert plain.tokens < known.tokens < plain.tokens + 1
    few = replace(results, curves=results.curves | {"transformer": short, "han_joint": short})
    for unknown in (few, replace(results, curves={})):
        for name in ("transformer", "han_joint"):  # which continues it
            assert (System(name, unknown).tokens, System(name, unknown).flops) == (None, None)


def test_a_system_is_of_the_paper_that_claims_something_of_its_mechanism(root):
    results, paper = read_all(root)[0], read_papers()["dual_contextual"]
    claims = tuple(Claim(says="better", variant=name) for name in ("dual_context_encoder", "transformer"))
    variants = results.settings.variants
    filled = replace(variants["dual_context_encoder"], slots={"encoder_self_attention": {"mechanism": "dual_context"}})
    claimed = changed(results, variants=variants | {"dual_context_encoder": filled})
    systems = systems_of_one_recipe({"paper": replace(paper, claims=claims, tables=())}, [claimed])
    paper_of = {system.variant: system.paper for system in systems}
    assert (paper_of["dual_context_encoder"], paper_of["transformer"]) == (paper.name, None)


def test_all_systems_are_in_a_table_with_the_cost_of_a_gain_and_some_have_a_name_in_its_picture(root):
    experiments = read_all(root)
    results = experiments[0]
    grid = systems_grid(systems_of_one_recipe(read_papers(), experiments))
    headings = [(heading.group, heading.title) for heading in grid.headings]
    rows = {row.variant: dict(zip(headings, row.cells, strict=True)) for row in grid.rows}
    assert next(iter(rows)) == "transformer"
    assert rows["dual_context_decoder"]["", "seeds"].text == "1"  # of the other experiment, which has one
    dual, old = rows["dual_context_encoder"], rows["dual_context_decoder"]
    gain = results.estimate("dual_context_encoder", Measure("test", "sacrebleu")).gain
    assert gain.interval[0] > 0
    assert dual["", "baseline"].text == "Transformer"
    assert dual["Model", "parameters"].value == results.models["dual_context_encoder"]["parameters"]
    assert [dual["Training costs", name].text for name in ("FLOPs", "seconds")] == ["× 2.00", "× 1.23"]  # noqa: RUF001
    price = dual["Cost of a point of gain", "FLOPs"]
    assert price.value == pytest.approx(100 / gain.mean, abs=1e-4)  # twice the FLOPs of the Transformer
    assert old["Model", "parameters"] == old["Cost of a point of gain", "seconds"] == EMPTY_CELL  # out of date
    named = [text for text in texts(root.reports / "figures/costs.svg") if re.match(r"\d+ \D", text)]
    shown = [row for row in grid.rows if row.variant in results.models or row.cells[1].text == DASH]
    assert sorted(named) == [row.label.replace(".", "", 1) for row in shown if "(out of date)" not in row.label]
    assert len(shown) < len(grid.rows)


def test_all_systems_are_those_of_the_recipe_with_the_most_runs(root):
    results = read_all(root)[0]
    short = replace(results.settings.training, maximum_updates=7)
    small = changed(results, seeds=results.settings.seeds[:1], training=short)
    systems = systems_of_one_recipe(read_papers(), [small, results])
    assert {system.variant for system in systems} == results.measured_systems & {*results.tested_systems}
    assert all(system.results is results for system in systems)


def test_costs_are_drawn_whatever_stands_first_and_a_label_is_not_mathematics(root, tmp_path):
    first = read_all(root)[0]
    variants = first.settings.variants
    lexical = replace(variants["lexical_shortcuts_fusion"], label="$d_$")
    named = changed(first, variants=variants | {"lexical_shortcuts_fusion": lexical})
    order = ("lexical_shortcuts_fusion", "transformer", "han_joint")
    assert draw_costs([System(name, named) for name in order], named.models, tmp_path / "costs.svg")
    assert {"1 $d_$", "2 Transformer", "3 han_joint"} <= set(texts(tmp_path / "costs.svg"))
    stale = replace(named, out_of_date=("transformer", "han_joint"))
    assert not draw_costs([System(name, stale) for name in order], stale.models, tmp_path / "few.svg")
    assert not (tmp_path / "few.svg").exists()


@given(st.text())
def test_latex_prints_what_was_written(text):
    printed, left = "", escape_latex(text)
    back = {written: character for character, written in LATEX_ESCAPES.items() if character != "\n"}
    while left:
        written = next((escape for escape in sorted(back, key=len, reverse=True) if left.startswith(escape)), left[0])
        assert written in back or written not in "\\&%$#_{}~^[]*"
        printed += back.get(written, written)
        left = left[len(written) :]
    assert printed == text.replace("\n", " ")


def test_a_table_of_two_groups_in_latex_and_columns_of_words(root):
    headings = (Heading("", "v", is_text=True), Heading("A", "x"), Heading("A", "y"), Heading("B_1", "z"))
    row = GridRow("[1-1] & more", "v", (Cell("w"), Cell("1"), Cell("−2 ‡"), Cell(DASH)))  # noqa: RUF001
    text = format_latex(Grid("50%", headings, (row,)))
    assert r"\caption{50\%}" in text
    assert "{llrrr}" in text
    groups = r" &  & \multicolumn{2}{c}{A} & B\_1 \\"
    assert groups + "\n" + r"\cmidrule(lr){3-4} \cmidrule(lr){5-5}" + "\n & v & x & y & z" in text
    assert r"{[}1-1{]} \& more & w & 1 & $-$2 ‡ & – \\" in text  # noqa: RUF001
    page = (root.metrics / "results.md").read_text(encoding="utf-8")
    assert re.search(r"\n\| System \| Baseline \| .*\n\| --- \| --- \| ---: \|", page)


def test_every_claim_is_on_a_line_of_both_pages_and_the_primary_ones_on_the_first_screen(root):
    rows = read_claims(root)
    markdown, page = (root.reports / "report.md").read_text(encoding="utf-8"), html(root)
    screen = markdown.split("\n## ")[0]
    assert screen.index("What these runs are: models of") < screen.index("| Claim | Verdict |")
    for name, paper in read_papers().items():
        of_paper = [row for row in rows if row.id.startswith(f"{name}/")]
        section = page_of(root, name)
        counts = section.split("\nHere: ")[1].split("\n")[0]
        for verdict in verdicts.VERDICTS:
            counted = sum(int(number) for number in re.findall(rf"(\d+) {verdict}(?: \(|[,;.])", counts))
            assert counted == [row.verdict for row in of_paper].count(verdict)
        assert f"\n- [{paper.name}](papers/{name}.md) ({paper.year}): {counts}\n" in markdown
        for row in of_paper:
            assert f"\n| {' | '.join(row.detail_cells[:2])} | " in section
            assert escape_html(row.detail_cells[0]) in page
            assert (f"| {' | '.join(row.summary_cells)} |" in screen) == (row.family == "primary")
    (encoder,) = (row for row in rows if row.says == "Enc-DC is better than the Transformer")
    assert (encoder.place, encoder.published_text, encoder.numbers) == ("Table 1", "+0.89", "")
    assert [other.corpus for other in encoder.elsewhere] == ["birds en-de"]
    assert (encoder.verdict, encoder.kind, encoder.reason) == (
        "open",  # it is preregistered
        "not run",
        "has not been run: `make repro NAME=miniature-dual-contextual`",
    )
    never = next(row for row in rows if not row.system)
    assert never.reason == f"has not been run: `make repro NAME={never.experiment}`"
    (decoder,) = (row for row in rows if row.says == "Dec-DC is better than the Transformer")
    assert decoder.difference is None  # the only experiment that has it is out of date


def test_results_pages_say_which_numbers_answer_no_claim(root, monkeypatch):
    entry = Confound(short="a fault", says="Something was wrong.", systems=("dual_context_encoder",))
    monkeypatch.setattr(verdicts, "read_confounds", lambda: [entry])
    results = read_all(root)[0]
    assert results_page(results).faults == ["confounded, a fault: Something was wrong."]
    assert replace(results_page(results), metrics=()).faults == []
    page = render("results.md.j2", page=results_page(results))
    assert "\n\nCannot be tested here:\n\n- confounded, a fault: Something was wrong.\n\n## " in page
    monkeypatch.setattr(verdicts, "read_confounds", list)
    mixed = replace(results, processors={("transformer", 1): "EPYC", ("dual_context_encoder", 1): "Xeon"})
    says = "two processors: some seeds of Both & <more> were trained on another than the baseline's."
    assert results_page(mixed).faults == [says]
