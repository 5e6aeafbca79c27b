"""The page and the pictures of probes: what was probed, chance beside it, and nothing that was not."""

from pathlib import Path

import pytest
from made_up_experiment import evaluate_all, make_experiment
from measured import assert_golden, write_flat
from shown import texts

from context_nmt.measures.sentence_probes import summarize
from context_nmt.report.writing import write_tables
from context_nmt.settings.parameters import Experiment
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
            tasks = {name: summarize([60 + better, 62 + better], chance) for name, chance in TASKS.items()}
            run = run_name(variant, seed)
            probed = {}
            for name, one in (tasks | {"syntactic": summarize([61 + better], 25.0)}).items():
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


def made(folder: Path, state: str) -> Experiment:
    """An experiment with all probes, with some, with none of those it asks for, or that asks for none."""
    experiment = make_experiment(folder, **({} if state == "unasked" else {"probing": PROBING}))
    if state in ("all", "partly"):
        write_probes(experiment)
    if state == "partly":
        experiment.sentence_probes("gauss-2").unlink()
        experiment.word_probes("transformer-1").unlink()
    write_tables(evaluate_all(experiment))
    return experiment


@pytest.mark.parametrize("state", ["all", "partly", "none", "unasked"])
def test_probes_stand_beside_chance_and_their_baseline_by_layer_frequency_and_tag(tmp_path, state):
    """On their page, in their pictures and in the table of results; only the tasks that were there."""
    experiment = made(tmp_path, state)
    page = (experiment.reports / "pages/probes.md").read_text(encoding="utf-8")
    pictures = sorted((experiment.reports / "pages/figures").iterdir())
    shown = [f"{one.name}: {', '.join(texts(one))}" for one in pictures if one.name.startswith(("lexical", "probe"))]
    lines = (experiment.metrics / "results.csv").read_text(encoding="utf-8").split("\n")
    rows = [line for line in lines if line.split(",")[1:2] == ["tasks"] or ",lexical_encoder_by_tag,0," in line]
    assert_golden("\n".join([page, *shown, "", *rows, ""]), f"probes-{state}.md")
