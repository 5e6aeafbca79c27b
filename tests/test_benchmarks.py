"""The benchmarks start and report; what they measure is for `make speed`, on a machine that does nothing else."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from small_models import VOCABULARY, small_model
from tiny_training import RUN, make_experiment

from benchmarks import decoding, gpu, machine, models, report, training, variants
from benchmarks.page import WANTED, section, write_page
from benchmarks.report import Part
from benchmarks.rounds import Contender, Measured, measure, ratio
from benchmarks.variants import LENGTH, SEARCH, never_end, of_one_length
from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.vocabulary import END
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import UserError, read_json, read_lines
from context_nmt.models.building import build
from context_nmt.models.kinds.document import DocumentModel
from context_nmt.models.plans import Filling
from context_nmt.pipeline.planning import plan
from context_nmt.settings.parameters import Experiment
from context_nmt.training.updating import Updater

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"}


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


@pytest.mark.slow
def test_each_contender_has_its_turn_in_each_round_and_one_that_fails_is_named(capfd):
    contenders = [Contender(name=name, prepare=counting, arguments=(10.0,), unit="things") for name in "ab"]
    measured = measure("test", contenders, rounds=2)
    turns = [line for line in capfd.readouterr().err.splitlines() if "round" in line]
    assert [line.split(":")[1].split(", ")[1] for line in turns] == ["a", "b", "a", "b"]
    assert [one.output for one in measured.values()] == [2, 2]
    assert all(len(one.speeds) == 2 and min(one.speeds) > 0 for one in measured.values())
    with pytest.raises(UserError, match="breaks: failed"):
        measure("test", [Contender(name="breaks", prepare=failing, unit="things")], rounds=1)
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_ratios_are_taken_round_by_round():
    measured = {"ours": Measured("lines", [2.0, 9.0, 8.0]), "theirs": Measured("lines", [1.0, 3.0, 2.0])}
    found = ratio(measured, "ours", "theirs")
    spread = {"median": 3.0, "minimum": 2.0, "maximum": 4.0, "rounds": [2.0, 3.0, 4.0]}
    assert found == {"of": "ours", "to": "theirs"} | spread
    part = Part("Text", measured, [found | {"of": "context-nmt", "to": "subword-nmt"}], ["a note"]).to_dict()
    assert section({"here": part}) == [
        *("## Text", ""),
        "| | per second | here | memory, MB |",
        "| --- | --- | ---: | ---: |",
        "| ours | lines | 8 (2 to 9) | 0 |",
        "| theirs | lines | 2 (1 to 3) | 0 |",
        *("", "| ratio | here | target |", "| --- | ---: | ---: |"),
        "| context-nmt / subword-nmt | 3.00 (2.00 to 4.00) | at least 3 |",  # which is not missed
        *("", "- a note"),
    ]


MACHINE = {
    "processor": "P(R) CPU @ 2.80GHz",
    "family_and_model": "1/2",
    "cores": 2,
    "instructions": ["avx2"],
    "memory_gb": 8,
    "system": "L",
}
TORCH, PEAK = "torch.nn.Transformer", "matrix product, float32"


def test_parts_take_the_place_of_earlier_ones_and_the_others_stay(tmp_path):
    slow, fast = Measured("lines", [1.0]), Measured("lines", [2.0])
    earlier, later = (MACHINE | {"commit": commit} for commit in ("0e", "1a"))
    parts = [Part("One", {"a": slow}), Part("Two", {"b": slow}), Part("By hand", notes=["seen"])]
    report.keep_all(earlier, parts, tmp_path)
    report.keep(earlier | {"memory_gb": 64}, Part("Two", {"b": fast}), tmp_path)
    report.keep(earlier, Part("Four", {"b": fast}), tmp_path)

    def kept():
        (path,) = (tmp_path / "results").iterdir()
        medians = [[one["median"] for one in part["contenders"].values()] for part in read_json(path)["parts"]]
        return medians, [part["notes"] for part in read_json(path)["parts"]]

    medians, (one, two, by_hand, four) = kept()
    assert medians == [[1], [2], [], [2]]
    assert (one, by_hand, four) == ([], ["seen"], [])
    assert "64 GB" in two[-1]
    for _ in range(2):
        report.keep_all(later, [Part("One", {"a": fast})], tmp_path)
    medians, (one, _, (seen, apart), _) = kept()
    assert (medians[0], one, seen) == ([2], [], "seen")
    assert "0e" in apart
    page = read_lines(tmp_path / "README.md")
    assert any("1a" in line for line in page if line.startswith("1. "))
    assert any("64 GB" in line for line in page if not line.startswith("1. "))


def test_processes_that_measure_text_load_no_torch():
    program = "import sys, benchmarks.text; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=ENVIRONMENT, check=False).returncode == 0


def test_machines_that_differ_in_what_figures_depend_on_have_files_of_their_own():
    changes = ({}, {"cores": 4}, {"family_and_model": "1/3"}, {"instructions": ["avx2", "fma"]}, {"processor": "R"})
    names = [machine.file_name(MACHINE | change) for change in changes]
    assert len(set(names)) == len(names)
    assert machine.file_name(MACHINE | {"memory_gb": 64, "torch": "9"}) == names[0] == "p-1-2-avx2-2-cores"
    assert machine.file_name(machine.describe(packages=()))


def test_the_page_is_what_the_committed_figures_give(tmp_path):
    shutil.copytree(report.FOLDER / "results", tmp_path / "results")
    write_page(tmp_path)
    assert (tmp_path / "README.md").read_bytes() == (report.FOLDER / "README.md").read_bytes()


def test_every_target_is_of_a_ratio_that_is_measured():
    found = [read_json(path) for path in (report.FOLDER / "results").glob("*.json")]
    ratios = [one for values in found for part in values["parts"] for one in part["ratios"]]
    assert set(WANTED) <= {f"{one['of']} / {one['to']}" for one in ratios}


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


def test_what_looks_at_previous_sentences_has_room():
    settings = Experiment(ROOT / "benchmarks").settings
    with torch.device("meta"):
        plans = [plan(settings, name).training.model for name in settings.variants]
        built = [build(one, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY) for one in plans]
    assert max(model.reach for model in built if isinstance(model, DocumentModel)) == models.REACH


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
    assert part.variants["joint"]["decoding"]["rounds"] == [0.5]
    assert "in documents, 40 target tokens/s and 40.0 sentences/s" in part.notes[-1]


@pytest.mark.parametrize("fast", [True, False])
def test_bf16_takes_part_where_it_is_fast(tmp_path, monkeypatch, fast):
    experiment = make_experiment(tmp_path, variants={"transformer": {}})
    corpus, asked = BinarizedCorpus(experiment.binarized), []

    def measured(_, contenders, rounds):
        asked.extend(one.name for one in contenders)
        return {one.name: Measured(one.unit, [1.0] * rounds, output=0.0) for one in contenders}

    for module in (training, decoding):
        monkeypatch.setattr(module, "measure", measured)
        monkeypatch.setattr(module, "corpus", lambda: corpus)
        monkeypatch.setattr(module, "has_fast_bf16", lambda _: fast)
    monkeypatch.setattr(training, "prepared", lambda: None)
    monkeypatch.setattr(decoding, "trained", lambda: tmp_path)
    monkeypatch.setattr(decoding, "_references", list)
    monkeypatch.setattr(decoding, "_agreement", lambda measured, names, beam: "")
    monkeypatch.setattr(models, "EXPERIMENT", experiment)
    parts = [training.training(1), decoding.decoding(1)]
    assert any("bf" in name for name in asked) is fast
    assert any("bf" in one["of"] for part in parts for one in part.ratios) is fast
    assert {("context-nmt", TORCH), ("context-nmt", PEAK)} <= {(one["of"], one["to"]) for one in parts[0].ratios}


def test_all_variants_are_as_large_as_the_transformer_but_for_their_mechanism():
    settings = Experiment(ROOT / "benchmarks").settings
    plans = {name: plan(settings, name).training.model for name in settings.variants if name != "small"}
    bases = {"autoregressive": plans.pop("transformer"), "masked": plans.pop("cmlm")}
    sizes = ("width", "feed_forward_width", "heads", "encoder_layers", "decoder_layers", "dropout")
    assert len({tuple(getattr(base.model, size) for size in sizes) for base in bases.values()}) == 1
    for name, filled in plans.items():
        plain = bases[filled.model.kind]
        assert filled.model == plain.model
        changed = [layers for slot, layers in filled.slots.items() if layers != plain.slots.get(slot)]
        assert changed, name
        assert all(len({layer.mechanism for layer in layers}) == 1 for layers in changed)
    assert not any(plans[one].slots == plans[other].slots for one, other in combinations(plans, 2))


@pytest.mark.parametrize("kind", [{}, {"kind": "masked", "positions": "learned", "maximum_positions": 64}])
def test_every_translation_of_an_untrained_model_has_about_the_same_length(kind):
    model = small_model(**kind)
    model.output.register_forward_hook(never_end)
    if kind:
        of_one_length(model)
    found = translate_ids(model, [np.array([4, 5, 6]), np.array([7])], SEARCH)
    lengths = {len(one.tokens) for hypotheses in found for one in hypotheses}
    assert max(abs(length - LENGTH) for length in lengths) <= (2 if kind else 0)
    assert not kind or model.train().encode_with_length(torch.tensor([[4, END]]))[1].requires_grad  # learned as ever


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("benchmarks", "--rounds"),  # imports all parts
        ("benchmarks.text", "--rounds"),
        ("benchmarks.variants", "--rounds"),
        ("benchmarks.growth", "--pairs"),
        ("benchmarks.gpu", "--seconds"),
    ],
)
def test_the_command_lines_start(command, option):
    given = [sys.executable, "-m", command, "--help"]
    done = subprocess.run(given, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"python -m {command} " in done.stdout
    assert option in done.stdout


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


def test_a_training_of_five_minutes_is_stopped_and_a_new_one_continues_none(tmp_path, monkeypatch):
    experiment = make_experiment(tmp_path, training={"maximum_updates": 1_000_000})
    setting, update, numbers = (
        gpu.Setting(experiment, torch.device("cpu"), tiny=True, compiled=False),
        Updater.update,
        [],
    )

    def watched(self, number, batches):
        numbers.append(number)
        return update(self, number, batches)

    monkeypatch.setattr(Updater, "update", watched)
    for _ in range(2):
        assert not gpu.minutes(setting, spent=0.0, limit=0.0)["finished"]
    assert numbers.count(1) == 2
    assert not experiment.curve(RUN).exists()

    def fail(*_, **__):
        raise UserError("no text")

    threads = threading.active_count()
    monkeypatch.setattr(gpu, "train_run", fail)
    with pytest.raises(UserError, match="no text"):
        gpu.minutes(setting, spent=0.0, limit=300.0)
    assert threading.active_count() == threads  # it is not killed later


def test_without_a_gpu_the_gpu_benchmark_says_so():
    with pytest.raises(UserError, match="not available here"):
        gpu.main("cuda:99")
    with pytest.raises(UserError, match="allowed only with --tiny"):
        gpu.main("cpu")
