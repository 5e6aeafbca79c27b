"""The page and the pictures of probes: what was probed, chance beside it, and nothing that was not."""

import pytest
from made_up_experiment import evaluate_all, make_experiment
from measured import assert_golden, write_flat
from shown import tables, texts

from context_nmt.measures.sentence_probes import summary
from context_nmt.report.probes import probes_page
from context_nmt.report.tables import DASH
from context_nmt.report.writing import write_tables
from context_nmt.results.reading import read_results
from context_nmt.settings.folder import Experiment
from context_nmt.settings.run_layout import run_name

pytestmark = pytest.mark.slow

TASKS = {"tree_depth": 20.0, "top_constituents": 5.0, "bigram_shift": 50.0}
PROBING = {
    "sentences": ["transformer", "gauss"],
    "tasks": "tasks",
    "words": ["transformer", "gauss"],
    "sentence_classifier": {"seeds": [1, 2]},
}


def write_probes(experiment: Experiment) -> None:
    for number, variant in enumerate(PROBING["words"]):
        for seed in (1, 2):
            better = 7 * number + (0.5, -0.5)[seed % 2]
            tasks = {name: summary([60 + better, 62 + better], chance) for name, chance in TASKS.items()}
            run = run_name(variant, seed)
            probed = {}
            for name, one in (tasks | {"syntactic": summary([61 + better], 25.0)}).items():
                probed |= {f"probe_{name}": one["accuracy"], f"probe_{name}_chance": one["chance"]}
                probed |= {f"probe_deviation_{name}": one["deviation"]} if "deviation" in one else {}
            write_flat(experiment.sentence_probes(run), {PROBING["tasks"]: probed})
            found = {}
            for stack in ("encoder", "decoder"):
                found |= {f"lexical_{stack}_{layer}": 99 - 10 * layer - better for layer in range(3)}
                found |= {f"cosine_{stack}_{what}_1": 0.5 for what in ("tokens", "sentences")}
                found |= {f"lexical_{stack}_by_frequency_{group}_{n}": 50.0 for group in (10, 2) for n in range(3)}
                found |= {f"lexical_{stack}_by_tag_PRP$_{n}": 25.0 for n in range(3)}
            write_flat(experiment.word_probes(run), dict.fromkeys(("dev", "test"), found))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    experiment = make_experiment(tmp_path_factory.mktemp("probed"), probing=PROBING)
    write_probes(experiment)
    write_tables(evaluate_all(experiment))
    return experiment


def test_probes_stand_beside_chance_and_their_baseline_by_layer_frequency_and_tag(written):
    """Of sentence probes, only the tasks that were there; their classifiers' deviation; chance first."""
    found = (written.reports / "pages/probes.md").read_text(encoding="utf-8")
    assert_golden(found, "probes.md")


def test_probes_are_rows_of_the_table_of_results(written):
    rows = (written.metrics / "results.csv").read_text(encoding="utf-8").split("\n")
    assert any(row.startswith("gauss,tasks,probe,,tree_depth,68.0,0.7071,2,transformer,7.0") for row in rows)
    assert any(row.startswith("gauss,test,lexical_encoder_by_tag,0,PRP$,25.0") for row in rows)
    assert any(row.startswith("chance,tasks,probe,,tree_depth,20.0") for row in rows)
    assert not any(row.startswith("alone,tasks") for row in rows)


def test_pictures_differ_without_colour(written):
    figures = written.reports / "pages/figures"
    for name in ("sentence_probes", "lexical_probes", "lexical_frequency", "lexical_tag"):
        assert "<dc:date>" not in (figures / f"{name}.svg").read_text(encoding="utf-8")
    assert {"chance", "Transformer", "Gauss | half", "bigram shift"} <= set(texts(figures / "sentence_probes.svg"))
    assert "stroke-dasharray" in (figures / "lexical_probes.svg").read_text(encoding="utf-8")


def test_without_probes_the_page_says_what_to_do(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path))
    write_tables(experiment)
    page = (experiment.reports / "pages/probes.md").read_text(encoding="utf-8")
    for kind in ("sentences", "words"):
        assert f"probing.{kind} in params.yaml" in page
    assert not list((experiment.reports / "pages/figures").glob("*probes.svg"))


def test_probes_that_have_not_run_are_dashes(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path, probing=PROBING))
    write_probes(experiment)
    experiment.sentence_probes("gauss-2").unlink()
    experiment.word_probes("transformer-1").unlink()
    page = probes_page(read_results(experiment), [])
    grid = tables(page, "Sentences")[0]
    assert (grid["Gauss | half"]["tree_depth"], grid["Transformer"]["tree_depth"]) == (DASH, "61.00 ± 0.71")
    assert set(tables(page, "Units: test")[0]["Transformer"].values()) == {DASH}


def test_where_no_probe_has_run_there_is_no_picture(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path, probing=PROBING))
    page = probes_page(read_results(experiment), [])
    assert tables(page, "Sentences") == []
    assert tables(page, "Units: test") == [{"Transformer": {}, "Gauss | half": {}}] * 2
    write_tables(experiment)
    assert not list((experiment.reports / "pages/figures").glob("*probes.svg"))
