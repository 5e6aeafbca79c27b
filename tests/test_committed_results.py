"""What stands in metrics/results.json keeps what the miniature promises."""

from pathlib import Path

import pytest

from context_nmt.files import read_json

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("folder", [".", "experiments/miniature-de-en"])
def test_the_transformer_comes_close_to_the_bound_and_has_no_leak(folder):
    results = read_json(ROOT / folder / "metrics/results.json")["transformer"]
    assert results["test"]["sacrebleu_of_bound"]["mean"] >= 97
    assert results["pronouns"]["pronouns_within"]["mean"] >= 95
    assert results["senses"]["senses_beside"]["mean"] >= 95
    assert results["pronouns"]["pronouns_cross"]["mean"] == 50
    assert results["senses"]["senses_cross"]["mean"] == 50


@pytest.mark.parametrize("folder", [".", "experiments/miniature-masked"])
def test_the_masked_model_is_close_to_its_teacher(folder):
    results = read_json(ROOT / folder / "metrics/results.json")
    teacher, student = (results[name]["test"]["sacrebleu"]["mean"] for name in ("transformer", "cmlm"))
    assert student >= teacher - 3


@pytest.mark.parametrize("variant", ["cmlm_raw", "ccan_raw", "ccan"])
def test_iterations_help_where_a_sentence_has_several_translations(variant):
    found = read_json(ROOT / f"experiments/miniature-masked/metrics/analyses/{variant}-1.json")["test"]
    assert found["bleu_of_iterations_10"] >= found["bleu_of_iterations_1"] + 3


@pytest.mark.parametrize(
    ("folder", "variant"),
    [
        (".", "han_encoder"),
        (".", "han_joint"),
        ("experiments/miniature-documents", "han_encoder"),
        ("experiments/miniature-documents", "han_decoder"),
        ("experiments/miniature-documents", "han_joint"),
    ],
)
def test_what_reads_previous_sentences_understands_pronouns_that_need_them(folder, variant):
    results = read_json(ROOT / folder / "metrics/results.json")
    read, blind = (results[name]["pronouns"] for name in (variant, "transformer"))
    assert read["pronouns_cross"]["mean"] >= blind["pronouns_cross"]["mean"] + 25
    assert read["pronouns_within"]["mean"] >= blind["pronouns_within"]["mean"] - 1


def test_what_reads_one_sentence_finds_nothing_that_stands_farther_back():
    results = read_json(ROOT / "experiments/miniature-documents/metrics/results.json")["han_encoder_k1"]["pronouns"]
    assert results["pronouns_distance_1"]["mean"] >= 75
    assert results["pronouns_distance_2"]["mean"] == results["pronouns_distance_3"]["mean"] == 50


def test_the_report_at_the_root_has_every_experiment_that_has_results():
    introduction = (ROOT / "reports/report.md").read_text(encoding="utf-8").split("\n\n")[1]
    names = [path.parents[1].name for path in ROOT.glob("experiments/*/metrics/results.json")]
    assert len(names) > 5
    assert [name for name in names if name not in introduction and not _usual(name, introduction)] == []


def _usual(name, introduction):
    """Whether the report calls an experiment by its corpus and languages alone."""
    return f"{name[:-6].replace('-', '_')} {name[-5:]}" in introduction
