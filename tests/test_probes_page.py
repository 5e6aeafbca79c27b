"""The page and the pictures of probes: what was probed, chance beside it, and nothing that was not."""

import re

import pytest
from made_up_experiment import evaluate_all, make_experiment
from measured import write_flat

from context_nmt.measures.probes.sentences import summary
from context_nmt.report.tables import write_tables
from context_nmt.settings.folder import Experiment
from context_nmt.settings.layout import run_name

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
                probed[f"probe_{name}"] = {"score": one["accuracy"], "chance": one["chance"]}
                probed |= {f"probe_{name}_deviation": one["deviation"]} if "deviation" in one else {}
            write_flat(experiment.sentence_probes(run), {PROBING["tasks"]: probed})
            found = {}
            for stack in ("encoder", "decoder"):
                found |= {f"lexical_{stack}_{layer}": 99 - 10 * layer - better for layer in range(3)}
                found |= {f"cosine_{stack}_{what}_1": 0.5 for what in ("tokens", "sentences")}
                found |= {f"lexical_{stack}_frequency_{group}_{n}": 50.0 for group in (10, 2) for n in range(3)}
                found |= {f"lexical_{stack}_tag_PRP$_{n}": 25.0 for n in range(3)}
            write_flat(experiment.word_probes(run), dict.fromkeys(("dev", "test"), found))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    experiment = make_experiment(tmp_path_factory.mktemp("probed"), probing=PROBING)
    write_probes(experiment)
    write_tables(evaluate_all(experiment))
    return experiment


def test_sentence_probes_stand_beside_chance_and_their_baseline(written):
    page = (written.metrics / "probes.md").read_text()
    assert "| (chance) | 20.00 | 5.00 | 50.00 | 25.00 |" in page
    assert "| Transformer | 61.00 ± 0.71 |" in page
    assert "| Gauss \\| half | 68.00 ± 0.71 (+7.00) |" in page
    assert "Surface:" not in page  # none of its tasks was there
    assert "deviation over the classifiers of a run:\n\n| System | tree_depth" in page
    assert "| Transformer | 1.41 |" in page


def test_lexical_probes_stand_by_layer_frequency_and_tag(written):
    page = (written.metrics / "probes.md").read_text()
    assert "| System | layer 0 | layer 1 | layer 2 |" in page
    assert "| Transformer | 99.00 ± 0.71 | 89.00 ± 0.71 | 79.00 ± 0.71 |" in page
    rows = re.findall(r"^\| (\d+|PRP\$) \|", page, re.MULTILINE)
    assert rows[:2] == ["2", "10"]
    assert "PRP$" in rows
    assert "0.500 ± 0.000" in page


def test_probes_are_rows_of_the_table_of_measures(written):
    rows = (written.metrics / "analyses.csv").read_text().split("\n")
    assert any(row.startswith("gauss,tasks,probe_tree_depth,68.0,0.7071,2,transformer,7.0") for row in rows)
    assert any(row.startswith("gauss,test,lexical_encoder_tag_PRP$_0,25.0") for row in rows)
    assert not any(row.startswith("alone,tasks") for row in rows)


def test_pictures_differ_without_colour(written):
    for name in ("sentence_probes", "lexical_probes", "lexical_frequency", "lexical_tag"):
        picture = (written.metrics / "figures" / f"{name}.svg").read_text(encoding="utf-8")
        assert "<dc:date>" not in picture
    texts = re.findall(r"<!-- (.*?) -->", (written.metrics / "figures/sentence_probes.svg").read_text(encoding="utf-8"))
    assert {"chance", "Transformer", "Gauss | half", "bigram shift"} <= set(texts)
    lines = (written.metrics / "figures/lexical_probes.svg").read_text(encoding="utf-8")
    assert "stroke-dasharray" in lines


def test_without_probes_the_page_says_what_to_do(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path))
    write_tables(experiment)
    page = (experiment.metrics / "probes.md").read_text()
    assert "No variant stands under probing.sentences of params.yaml." in page
    assert not list((experiment.metrics / "figures").glob("*probes.svg"))
