"""The benchmarks start and report; what they measure is for `make speed`, on a machine that does nothing else."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from small_models import VOCABULARY, small_model
from tiny_training import make_experiment

from benchmarks import gpu, models, report, variants
from benchmarks.report import Part, section
from benchmarks.rounds import Contender, Measured, measure, ratio
from benchmarks.variants import LENGTH, SEARCH, never_end
from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import UserError, read_json
from context_nmt.models.building import build
from context_nmt.models.kinds.document import DocumentModel
from context_nmt.models.plans import Filling
from context_nmt.pipeline.planning import plan
from context_nmt.settings.folder import Experiment
from context_nmt.training.updating import Updater

ROOT = Path(__file__).parents[1]


@contextmanager
def counting(amount):
    """A contender whose output tells how many rounds it has had."""
    rounds = []

    def work():
        rounds.append(amount)
        return amount, len(rounds)

    yield work


@contextmanager
def failing():
    yield lambda: 1 / 0


def contender(name, prepare, *arguments):
    return Contender(name=name, prepare=prepare, arguments=arguments, unit="things")


@pytest.mark.slow
def test_each_contender_has_its_turn_in_each_round(capsys):
    measured = measure("test", [contender("a", counting, 10.0), contender("b", counting, 20.0)], rounds=2)
    turns = [line for line in capsys.readouterr().err.splitlines() if "round" in line]
    assert [line.split(":")[1].split(", ")[1] for line in turns] == ["a", "b", "a", "b"]
    assert [one.output for one in measured.values()] == [2, 2]
    assert all(len(one.speeds) == 2 and min(one.speeds) > 0 for one in measured.values())


@pytest.mark.slow
def test_a_contender_that_fails_is_named(capfd):
    with pytest.raises(UserError, match="breaks: failed"):
        measure("test", [contender("breaks", failing)], rounds=1)
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_ratios_are_taken_round_by_round():
    measured = {"ours": Measured("lines", [2.0, 9.0, 8.0]), "theirs": Measured("lines", [1.0, 3.0, 2.0])}
    found = ratio(measured, "ours", "theirs", wanted=1.5).to_dict()
    assert found == {"of": "ours", "to": "theirs", "wanted": 1.5, "median": 3.0, "minimum": 2.0, "maximum": 4.0}


MACHINE = {
    "processor": "P",
    "family_and_model": "1/2",
    "cores": 2,
    "instructions": ["avx2"],
    "memory_gb": 8,
    "system": "L",
}


def test_the_tables_show_medians_ratios_and_what_is_wanted():
    measured = {"ours": Measured("lines", [2000.0, 4000.0, 3000.0], 12.3), "theirs": Measured("lines", [1000.0] * 3)}
    ratios = [ratio(measured, "ours", "theirs", wanted=1.5), ratio(measured, "theirs", "ours")]
    part = Part("Text", measured, ratios, ["a note"]).to_dict()
    lines = section(part)
    assert "| ours | 3,000 lines/s | 2,000 to 4,000 | 12 |" in lines
    assert "| ours / theirs | 3.00 | 2.00 to 4.00 | at least 1.5 |" in lines
    assert lines[-1] == "- a note"
    speed = {"median": 0.8, "least": 0.75, "greatest": 0.85}
    variant = {"training": speed, "decoding": speed | {"median": 0.5}, "flops": 1.125, "time_over_flops": 1.11}
    lines = section(Part("Variants", variants={"a": variant}).to_dict())
    assert "| a | 0.80 | 0.75 to 0.85 | 0.50 | 0.75 to 0.85 | 1.125 | 1.11 |" in lines
    assert not any("memory" in line for line in lines)


def test_a_part_of_its_own_takes_the_place_of_the_earlier_one(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "FOLDER", tmp_path)
    slow, fast = Measured("lines", [1.0]), Measured("lines", [2.0])
    report.write(MACHINE, [Part("One", {"a": slow}), Part("Two", {"b": slow})])
    report.replace(Part("Two", {"b": fast}, [ratio({"b": fast}, "b", "b", wanted=1.0)]), MACHINE | {"cores": 64})
    one, two = read_json(tmp_path / "results.json")["parts"]
    assert (one["contenders"]["a"]["median"], two["contenders"]["b"]["median"]) == (1, 2)
    assert "64 cores" in two["notes"][-1]
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "64 cores" in page
    assert "| b / b | 1.00 | 1.00 to 1.00 | at least 1 |" in page


HAN = (Filling(mechanism="hierarchical_attention", settings={"sentences": 2}),)


def test_in_documents_all_models_predict_the_same_sentences(tmp_path, monkeypatch):
    """And one that looks back sees those before: the first batch is cut off in the middle of a document."""
    corpus = BinarizedCorpus(make_experiment(tmp_path).binarized)
    monkeypatch.setattr(models, "corpus", lambda: corpus)
    slots = {"encoder_output": HAN, "decoder_output": HAN}
    plain, looking = (models.batches_in_documents(small_model(given), 100, 5) for given in ({}, slots))
    assert [batch.tokens for batch in plain] == [batch.tokens for batch in looking]
    for own, other in zip(plain, looking, strict=True):
        assert own.previous is None
        rows, width = own.targets.shape
        assert own.targets.equal(other.targets[:rows, :width])
        assert other.source.numel() <= 100
    before = [(batch.previous >= 0).any(1)[: len(batch.targets)] for batch in looking]
    assert all(some.sum() > len(some) / 2 for some in before)
    assert any(len(other.targets) > len(own.targets) for own, other in zip(plain, looking, strict=True))


def test_what_looks_at_previous_sentences_is_measured_in_documents_and_has_room():
    settings = Experiment(ROOT / "benchmarks").settings
    looking = {}
    for name in settings.variants:
        of = plan(settings, name).training.model
        with torch.device("meta"):
            model = build(of, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY)
        if isinstance(model, DocumentModel):
            looking[name] = model.reach
    assert {"han_encoder", "han_joint", "cache_memory"} <= set(looking)
    assert max(looking.values()) == models.REACH


def test_what_looks_at_previous_sentences_is_relative_to_the_transformer_in_documents(tmp_path, monkeypatch):
    joint = {slot: {"mechanism": "hierarchical_attention"} for slot in ("encoder_output", "decoder_output")}
    experiment = make_experiment(tmp_path, variants={"transformer": {}, "joint": {"slots": joint}})
    corpus = BinarizedCorpus(experiment.binarized)
    for module, name, value in (
        (variants, "EXPERIMENT", experiment),
        (models, "EXPERIMENT", experiment),
        (variants, "corpus", lambda: corpus),
        (variants, "prepared", lambda: None),
    ):
        monkeypatch.setattr(module, name, value)
    speeds = {"transformer": 100.0, "joint": 20.0, variants.IN_DOCUMENTS: 40.0}
    asked = []

    def measured(names, turns):
        asked.extend(names)
        return {work: {name: Measured(unit, [speeds[name]]) for name in names} for work, unit in variants.UNITS.items()}

    monkeypatch.setattr(variants, "_measured", measured)
    part = variants.variants(1)
    assert sorted(asked) == sorted(speeds)
    assert {name: one["training"]["median"] for name, one in part.variants.items()} == {"transformer": 1, "joint": 0.5}
    assert part.variants["joint"]["flops"] > 1
    assert "Transformer on the same batches and sentences: 40 target tokens/s and 40.0 sentences/s" in part.notes[-1]


def test_documents_of_the_benchmark_hold_all_sentences():
    assert models.documents(25) == [range(10), range(10, 20), range(20, 25)]


def test_all_variants_are_as_large_as_the_transformer_but_for_their_mechanism():
    settings = Experiment(ROOT / "benchmarks").settings
    transformer, *others = [name for name in settings.variants if name != "small"]
    assert transformer == "transformer"
    plain = plan(settings, transformer).training.model
    for name in others:
        filled = plan(settings, name).training.model
        assert filled.model == plain.model
        assert filled.slots not in [plan(settings, other).training.model.slots for other in others if other != name]
        changed = [layers for slot, layers in filled.slots.items() if layers != plain.slots.get(slot)]
        assert changed, name
        assert all(len({layer.mechanism for layer in layers}) == 1 for layers in changed)


def test_every_translation_of_an_untrained_model_is_as_long_as_the_limit():
    model = small_model()
    for expected in (False, True):
        found = translate_ids(model, [np.array([4, 5, 6]), np.array([7])], SEARCH, device=torch.device("cpu"))
        assert all(len(one.tokens) == LENGTH for hypotheses in found for one in hypotheses) is expected
        model.output.register_forward_hook(never_end)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["benchmarks", "benchmarks.text", "benchmarks.variants"]
)  # the first imports all parts
def test_the_command_lines_start(command):
    done = subprocess.run(
        [sys.executable, "-m", command, "--help"],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "--rounds" in done.stdout


def test_the_gpu_benchmark_goes_on_where_it_stopped(tmp_path, monkeypatch):
    """On the CPU with --tiny, since there it measures nothing but shows that it runs."""
    folder = make_experiment(tmp_path, training={"maximum_updates": 12, "validate_every": 4}).folder
    update, numbers = Updater.update, []

    def watched(self, number, batches):
        if number == 9 and number not in numbers:
            os.kill(os.getpid(), signal.SIGTERM)  # the time is over
        numbers.append(number)
        return update(self, number, batches)

    monkeypatch.setattr(Updater, "update", watched)
    gpu.main("cpu", folder)
    first = read_json(folder / "gpu.json")
    assert not first["minutes"]["finished"]
    assert first["minutes"]["last_validation"]["update"] == "8"
    numbers.clear()
    gpu.main("cpu", folder)
    second = read_json(folder / "gpu.json")
    assert numbers == [10, 11, 12]
    assert second["minutes"]["finished"]
    assert second["minutes"]["seconds"] > first["minutes"]["seconds"]
    for part, figure in {"peak": "tflops", "training": "share_of_peak", "decoding": "sentences_per_second"}.items():
        assert second[part] == first[part]
        assert first[part][figure] > 0


def test_without_a_gpu_the_gpu_benchmark_says_so():
    with pytest.raises(UserError, match="not available here"):
        gpu.main("cuda:99")
