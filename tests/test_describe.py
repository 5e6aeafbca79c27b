"""`describe` counts what a model has and does, without training or data."""

import json
from functools import partial
from pathlib import Path
from typing import get_args

import pytest
import yaml
from project_root import make_root
from small_models import SIZES, small_plan

from benchmarks import hours
from context_nmt.corpus.binarized import write_ids
from context_nmt.corpus.vocabulary import SPECIALS, Vocabulary
from context_nmt.files import read_yaml, write_json, write_lines
from context_nmt.models import mechanisms
from context_nmt.models.counting import SENTENCE_LENGTH, describe
from context_nmt.models.mechanisms import PLAIN, plain
from context_nmt.models.plans import Filling
from context_nmt.pipeline.descriptions import describe_plans
from context_nmt.pipeline.planning import write_plans
from context_nmt.settings.model import LayerSlot, ModelSlot
from context_nmt.settings.parameters import Experiment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


@pytest.fixture
def command(call):
    return partial(call, "describe")


def write_parameters(folder, variants, **changes):
    values = {
        "root": ".",
        "corpus": {"name": "any", "source": "en", "target": "de", "tests": ["test"]},
        "model": SIZES,
        "variants": variants,
        "train": {"bitext": list(variants)},
        "seeds": [1],
        "focus": "one",
    }
    path = folder / "params.yaml"
    path.write_text(yaml.safe_dump(values | changes))
    return path


@pytest.fixture
def small(tmp_path):
    """A params.yaml of two equal, small variants."""
    return write_parameters(tmp_path, {"one": {}, "twins": {}})


def test_counts_at_paper_size(command, tmp_path):
    """Emelin et al. (2019), Table 5: 65,166K and 218,413K. The parts add up and every layer is named."""
    values = read_yaml(ROOT / "experiments/wmt14-en-de-lexical-shortcuts/params.yaml")
    systems = ["transformer", "transformer_big"]
    values |= {"variants": {name: values["variants"][name] for name in systems}, "train": {"bitext": systems}}
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump(values | {"probing": {}, "focus": "transformer"}))
    status, printed, errors = command(path, "--vocabulary", 41138, "--json")
    assert (status, errors) == (0, "")
    base, big = found = list(json.loads(printed).values())
    assert [values["parameters"] for values in found] == [65_166_336, 218_413_056]
    for values in (base, big):
        assert sum(values["parameters_by_part"].values()) == values["parameters"]
        names = {slot: [layer["mechanism"] for layer in layers] for slot, layers in values["slots"].items()}
        assert names == {slot: [plain(slot)] * 6 for slot in get_args(LayerSlot)} | {"norm": [plain("norm")]}
    assert base["parameters_by_part"]["source_embedding"] == 41_138 * 512
    assert base["parameters_by_part"]["decoder.cross_attention"] == 6 * 4 * 512**2
    assert base["flops_per_target_token"] == training_flops(512, 2048, 6, 6, 41_138)


def training_flops(width, hidden, encoder_layers, decoder_layers, vocabulary, length=SENTENCE_LENGTH):
    """6 per weight and token: 2 in the forward pass, 4 in the backward pass, which differentiates both factors."""
    weights = encoder_layers * (4 * width**2 + 2 * width * hidden)
    weights += decoder_layers * (8 * width**2 + 2 * width * hidden) + vocabulary * width
    attended = (encoder_layers + 2 * decoder_layers) * length * 2 * width  # scores and sums, by query
    return 6 * (weights + attended)


@pytest.mark.parametrize("changes", [{}, {"norm": "post", "attention_bias": True, "tying": "none"}])
def test_operations_are_those_of_the_matrix_products(changes):
    plan = small_plan(width=8, feed_forward_width=20, encoder_layers=1, decoder_layers=3, **changes)
    described = describe(plan, source_vocabulary=13, target_vocabulary=13)
    assert described["flops_per_target_token"] == training_flops(8, 20, 1, 3, 13)


def test_parameters_of_two_tables_and_learned_positions():
    """Fewer positions than the sentence has that operations are counted on."""
    plan = small_plan(width=8, tying="decoder", positions="learned", maximum_positions=5)
    described = describe(plan, source_vocabulary=13, target_vocabulary=17)
    parts = described["parameters_by_part"]
    assert described["flops_per_target_token"] == training_flops(8, 12, 2, 2, 17, length=5)
    assert parts["source_embedding"] == 13 * 8 + 5 * 8
    assert parts["target_embedding"] == 17 * 8 + 5 * 8
    assert "output" not in parts


@pytest.mark.parametrize(
    ("name", "slot"),
    [(name, slot) for name in mechanisms.names() for slot in mechanisms.load(name).SLOTS if name != plain(slot)],
)
def test_every_mechanism_costs_something(name, slot):
    filling = Filling(mechanism=name)
    changed = small_plan({slot: (filling,) * (1 if slot in get_args(ModelSlot) else 2)}, norm="post")
    described, usual = (
        describe(one, source_vocabulary=13, target_vocabulary=13) for one in (changed, small_plan(norm="post"))
    )
    without_parameters = ("rotary_positions", "linear_biases")
    assert (described["parameters"] == usual["parameters"]) == (name in without_parameters)
    assert described["flops_per_target_token"] >= usual["flops_per_target_token"]


def test_tables_for_people(command, small):
    status, output, errors = command(small, "--vocabulary", 100)
    assert (status, errors) == (0, "")
    count = f"{describe(small_plan(), source_vocabulary=100, target_vocabulary=100)['parameters']:,}"
    for words in ("twins", count, "encoder_self_attention", PLAIN):
        assert words in output


def test_the_stage_writes_the_json_that_is_printed(command, small, tmp_path):
    status, printed, errors = command(small, "--vocabulary", 100, "--json")
    assert (status, errors) == (0, "")
    experiment = Experiment(small.parent)
    make_root(small.parent)
    write_plans(experiment)
    write_vocabularies(small.parent, source=96, target=96)
    describe_plans(experiment)
    assert json.loads((tmp_path / "metrics/models.json").read_text()) == json.loads(printed)


def test_without_a_vocabulary_it_is_that_of_the_data(command, small):
    write_vocabularies(small.parent, source=16, target=16)
    expected = describe(small_plan(), source_vocabulary=20, target_vocabulary=20)
    status, printed, _ = command(small, "--json")
    assert status == 0
    assert json.loads(printed)["twins"]["parameters"] == expected["parameters"]


@pytest.fixture
def kinds(tmp_path, monkeypatch):
    """A params.yaml of an autoregressive variant, its twin, a masked one and two that look back, and two seeds."""
    monkeypatch.setattr(hours, "MEASURED_SECONDS", 0.0)
    variants = {
        "one": {},
        "twin": {"training": {"maximum_updates": 10, "accumulation": 3}},
        "masked": {"model": {"kind": "masked", "norm": "post", "positions": "learned", "maximum_positions": 40}},
        "han": {"slots": {"encoder_output": {"mechanism": "hierarchical_attention"}}},
        "joining": {"model": {"kind": "concatenation", "previous_sources": 3}},
    }
    train = {"bitext": ["one", "twin", "masked"], "document": ["han", "joining"], "document_start": "one"}
    training = {"batch_tokens": 100, "maximum_updates": 30, "maximum_sentence_length": 30}
    return write_parameters(tmp_path, variants, train=train, training=training, seeds=[1, 2])


@pytest.mark.parametrize("jobs", [1, 2])
def test_hours_are_those_of_all_updates_and_add_up(kinds, capfd, jobs):
    found = hours.hours(kinds, 20, jobs, 2000)
    assert capfd.readouterr().err.count("measuring") == 4  # the twin has the model and the batches of another
    variants, total = found.iloc[:-1], found.iloc[-1]
    assert total.name == f"in all, {jobs} at a time"
    assert variants["updates"].to_dict() == {"one": 60, "twin": 20, "masked": 60, "han": 60, "joining": 60}
    tokens = variants["target_tokens"]
    assert tokens["one"] == tokens["twin"]  # as many batches
    assert tokens["masked"] < tokens["one"] < 60 * 100
    assert tokens["joining"] < tokens["one"] / 2  # the batches fill with context
    assert set(variants["runs"]) == {2}
    assert (variants["hours"] * 3600 * variants["tokens_per_second"]).to_list() == pytest.approx(tokens, rel=1e-3)
    assert variants["gpu_hours"].to_list() == pytest.approx(tokens / 2000 / 3600, rel=1e-3)
    for key in ("runs", "updates", "target_tokens", "gpu_hours"):
        assert total[key] == pytest.approx(variants[key].sum())
    assert total["hours"] == pytest.approx(variants["hours"].sum() / jobs)


def test_target_tokens_are_counted_on_the_lengths_of_the_training_text(kinds):
    expected = {}
    for length in (2, 9, 27):
        write_vocabularies(kinds.parent, en=16, de=16)
        for language in ("en", "de"):
            path = kinds.parent / f"train.{language}"
            write_lines(path, [" ".join(["1"] * length)] * 50)
            vocabulary = Vocabulary.load(kinds.parent / f"runs/binarized/training/vocabulary.{language}.txt")
            write_ids(path, kinds.parent / "runs/binarized/training", vocabulary)
        expected[length] = hours.hours(kinds, None, 1).loc["one", "target_tokens"]
    assert expected[2] == pytest.approx(60 * 99, rel=0.05)  # 33 sentences of two units and END
    assert expected[9] == pytest.approx(60 * 100, rel=0.05)
    assert expected[27] == pytest.approx(60 * 84, rel=0.05)  # three sentences of 28


def test_hours_as_a_table(kinds, capsys):
    hours.main(kinds, vocabulary=20)
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("one", "twin", "masked", "han", "hours"))
    assert "gpu_hours" not in printed
    assert "nan" not in printed.lower()


def test_rates_and_a_vocabulary_exclude_each_other(command, small):
    status, printed, errors = command(small, "--vocabulary", 20, "--rates")
    assert (status, printed, errors.count("\n")) == (1, "", 1)
    assert "--rates" in errors


def test_what_is_missing_or_does_not_fit_is_one_line(command, small):
    folder, nowhere = small.parent / "runs/binarized", small.with_name("nowhere.yaml")
    message = f"error: {folder}: no such folder; give --vocabulary N, or run `dvc repro bpe` first\n"
    assert command(small, "--json") == (1, "", message)
    assert command(nowhere, "--vocabulary", 9) == (1, "", f"error: {nowhere}: no such file\n")
    assert command(small, "--vocabulary", 0)[0] == 2
    write_vocabularies(small.parent, source=2, target=1)
    status, output, errors = command(small, "--json")
    assert (status, output, errors.count("\n")) == (1, "", 1)
    assert errors.startswith("error: model.tying is all, but the vocabularies hold 6 and 5 units; set units.joint")


def write_vocabularies(folder, **sizes):
    """A binarized corpus, as far as `describe` reads it."""
    training = folder / "runs/binarized/training"
    source, target = sizes
    names = {"source": source, "target": target, "train": "train", "validation": "valid"}
    write_json(training / "corpus.json", names)
    for side, size in sizes.items():
        write_lines(training / f"vocabulary.{side}.txt", [*SPECIALS, *map(str, range(size))])


def test_peak_rates_are_those_of_the_schedules_and_of_all_experiments_of_a_project(command):
    rates = json.loads(command(ROOT / "params.yaml", "--rates", "--json")[1])
    assert {"", "miniature-lexical-shortcuts"} <= set(rates)
    fusion = rates[""]["lexical_shortcuts_fusion"]
    assert (fusion["warmup"], fusion["peak"]) == (200, pytest.approx(0.5657 * 64**-0.5 * 200**-0.5, rel=1e-5))
    assert rates["wmt14-en-de-cross-attention"]["cmlm"]["peak"] == 5e-4  # peak_rate, at the end of warm-up
    assert "0.00309" in command(ROOT / "params.yaml", "--rates")[1]
    # where systems of one experiment warm up for different times in a cosine, all have their baseline's peak
    shortcuts = [
        values["over_baseline"]
        for variants in rates.values()
        for name, values in variants.items()
        if name.startswith("lexical_shortcuts") and values["schedule"] == "cosine" and values["over_baseline"]
    ]
    assert len(shortcuts) > 10
    assert shortcuts == pytest.approx([1.0] * len(shortcuts), abs=0.002)
