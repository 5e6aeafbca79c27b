"""The benchmarks start and report; what they measure is for `make speed`, on a machine that does nothing else."""

import runpy
import shutil
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from contenders import counting, failing
from measured import assert_golden
from small_models import VOCABULARY, small_model
from tiny_training import make_experiment

from benchmarks import decoding, gpu, machine, models, report, setting, training, variants
from benchmarks.models import LENGTH, never_end
from benchmarks.page import MAXIMUM, MINIMUM, section, write_page
from benchmarks.report import Part
from benchmarks.rounds import Contender, Measurement, measure, ratio, speeds_and_memory
from benchmarks.variants import SEARCH, of_one_length
from context_nmt.corpus.vocabulary import END
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import UserError, read_json
from context_nmt.models.building import build
from context_nmt.models.devices import resolve_precision
from context_nmt.models.kinds.document import DocumentModel
from context_nmt.models.plans import Filling
from context_nmt.pipeline.planning import plan
from context_nmt.settings.parameters import Experiment

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"}


@pytest.mark.slow
def test_each_contender_has_its_turn_in_each_round_and_one_that_fails_is_named(capfd):
    contenders = [
        Contender(name, "things", counting, (10.0,), shared=shared)
        for name, shared in {"a": "", "b": "x", "c": "x"}.items()
    ]
    measured = measure("test", contenders, rounds=2)
    turns = [line for line in capfd.readouterr().err.splitlines() if "round" in line]
    assert [line.split(":")[1].split(", ")[1] for line in turns] == ["a", "b", "c"] * 2
    assert [measurement.output[0] for measurement in measured.values()] == [2, 2, 2]
    a, b, c = (measurement.output[1] for measurement in measured.values())  # processes
    assert a != b == c
    assert all(
        len(measurement.speeds) == 2 and min(measurement.speeds) > 0 and measurement.memory > 1
        for measurement in measured.values()
    )
    with pytest.raises(ZeroDivisionError) as failure:
        measure("test", [Contender("breaks", "things", failing)], rounds=1)
    assert failure.value.__notes__ == ["breaks: failed"]


MACHINE = {
    "processor": "P(R) CPU @ 2.80GHz",
    "family_and_model": "1/2",
    "cores": 2,
    "instructions": ["avx2"],
    "memory_gb": 8,
    "system": "L",
    "commit": "0e",
    "torch": "9",
}
TORCH, PEAK = "torch.nn.Transformer", "matrix product, float32"


def test_ratios_are_taken_round_by_round():
    ours = Measurement("lines", [2.0, 9000.4, 800.0], 1234.4)
    theirs = Measurement("lines", [1.0, 3000.0, 200.0], 5.0)
    measured = {"ours": ours, "theirs": theirs}
    expected = ratio(measured, "ours", "theirs", factor=0.5)
    assert expected == {"median": 1.5, "minimum": 1.0, "maximum": 2.0, "rounds": [1.0, 1.5, 2.0]}
    ratios = {"context-nmt / subword-nmt": ratio(measured, "ours", "theirs"), "others": expected}
    costs = {"a": expected | {"median": 1.25}, "b": 1.26}
    part = Part("Text", speeds_and_memory(measured) | {"ratio": ratios, "time / FLOPs": costs}, ["a note"], "drawn")
    values = part.to_dict(MACHINE)
    slow = Part("Text", {"ratio": {"context-nmt / subword-nmt": 2.99}}, ["a note"]).to_dict(MACHINE | {"commit": "1a"})
    lines = [*section("Text", {"here": values}), *section("Text", {"here": values, "there": slow})]
    assert_golden("\n".join(lines) + "\n", "benchmark-sections.md")


def test_parts_take_the_place_of_earlier_ones_and_the_others_stay(tmp_path):
    later = MACHINE | {"commit": "1a"}
    for part, here in (
        (Part("One", {"t": {"a": 1}}), MACHINE),
        (Part("By hand", notes=["seen"]), MACHINE),
        (Part("One", {"t": {"b": 2}}), later),
    ):
        report.keep(part, here, tmp_path)
    (path,) = (tmp_path / "results").iterdir()
    parts = read_json(path)
    assert {title: (part["tables"], part["machine"]) for title, part in parts.items()} == {
        "One": ({"t": {"b": 2}}, later),
        "By hand": ({}, MACHINE),
    }
    assert list(parts) == ["One", "By hand"]
    part = Part("One", {"t": {"c": 3}, "u": {"d": 4}})
    assert report.with_earlier(part, later, tmp_path).tables == {"t": {"b": 2, "c": 3}, "u": {"d": 4}}
    assert report.with_earlier(Part("One"), later, tmp_path).tables == {"t": {"b": 2}}
    assert report.with_earlier(part, MACHINE, tmp_path) == part
    page = (tmp_path / "README.md").read_text()
    assert "\n1. P(R) CPU @ 2.80GHz (family/model 1/2), 2 cores, 8 GB, L, with avx2.\n" in page
    assert page.index("## One") < page.index("code of 1a") < page.index("## By hand") < page.index("code of 0e")


def test_processes_that_measure_text_load_no_torch():
    program = "import sys, benchmarks.text; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=ENVIRONMENT, check=False).returncode == 0


def test_machines_that_differ_in_what_figures_depend_on_have_files_of_their_own():
    changes = ({}, {"cores": 4}, {"family_and_model": "1/3"}, {"instructions": ["avx2", "fma"]}, {"processor": "R"})
    names = [machine.file_name(MACHINE | change) for change in changes]
    assert len(set(names)) == len(names)
    assert machine.file_name(MACHINE | {"memory_gb": 64, "torch": "8"}) == names[0] == "p-1-2-avx2-2-cores"
    assert machine.file_name(MACHINE | {"gpu": "NVIDIA H200"}) == "nvidia-h200"
    assert machine.file_name(machine.describe())


def test_the_page_is_what_the_committed_figures_give(tmp_path):
    shutil.copytree(report.FOLDER / "results", tmp_path / "results")
    write_page(tmp_path)
    assert (tmp_path / "README.md").read_bytes() == (report.FOLDER / "README.md").read_bytes()


def test_every_target_is_of_a_ratio_that_is_measured():
    results = [read_json(path) for path in (report.FOLDER / "results").glob("*.json")]
    tables = [table for parts in results for part in parts.values() for table in part["tables"].items()]
    on_gpus = [contender.name for group in gpu.contenders("bf16", "cuda", tiny=False) for contender in group]
    measured = {row for _, rows in tables for row in rows}
    assert set(MINIMUM) <= measured | {name for contender in on_gpus for name in (contender, f"{contender} / peak")}
    assert set(MAXIMUM) <= {title for title, _ in tables}


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A function that makes a tiny experiment that of the benchmarks, with these variants."""

    def make(**variants):
        experiment = make_experiment(tmp_path, variants=variants)
        monkeypatch.setattr(setting, "EXPERIMENT", experiment)
        monkeypatch.setattr(setting, "prepare", lambda: None)
        return experiment

    return make


HAN = (Filling(mechanism="hierarchical_attention", settings={"sentences": 2}),)


def test_in_documents_all_models_predict_the_same_sentences(tiny):
    """And one that looks back sees those before: the first batch is cut off in the middle of a document."""
    tiny(transformer={})
    slots = {"encoder_output": HAN, "decoder_output": HAN}
    plain, looking = (models.batches_in_documents(small_model(model_slots), 100, 5) for model_slots in ({}, slots))
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
        built = [
            build(variant_plan, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY) for variant_plan in plans
        ]
    assert max(model.receptive_sentences for model in built if isinstance(model, DocumentModel)) == models.REACH


def test_what_looks_at_previous_sentences_is_relative_to_the_transformer_in_documents(tiny, monkeypatch):
    joint = {slot: {"mechanism": "hierarchical_attention"} for slot in ("encoder_output", "decoder_output")}
    masked = {"kind": "masked", "positions": "learned", "maximum_positions": 512, "norm": "post"}
    tiny(transformer={}, joint={"slots": joint}, masked={"model": masked}, small={"model": {"width": 16}})
    speeds = {"transformer": 100.0, "joint": 20.0, "masked": 50.0, variants.IN_DOCUMENTS: 40.0}
    counts = {}

    def measured(_, contenders, rounds):
        for contender in contenders:
            with contender.prepare(*contender.arguments) as work:
                counts[contender.name] = [work()[0] for _ in range(2)]
        assert rounds == 3 * len(counts) / len(contenders)
        return {
            contender.name: Measurement(contender.unit, [speeds[contender.name.rpartition(", ")[0]]])
            for contender in contenders
        }

    monkeypatch.setattr(variants, "measure", measured)
    part = variants.variants(1)
    assert {name.rpartition(", ")[0] for name in counts} == set(speeds)
    assert {name: speed["median"] for name, speed in part.tables["speed of training"].items()} == {
        "transformer": 1,
        "joint": 0.5,
        "masked": 0.5,
    }
    assert part.tables["speed of decoding"]["joint"]["rounds"] == [0.5]
    costs = dict(zip(["joint", "masked", "transformer"], part.tables["time / FLOPs"].items(), strict=True))
    assert costs["transformer"] == (
        "transformer (FLOPs: 1.000)",
        {"median": 1, "minimum": 1, "maximum": 1, "rounds": [1]},
    )
    title, cost = costs["joint"]
    assert cost["median"] == pytest.approx(2 / float(title.removesuffix(")").rpartition(" ")[2]), rel=1e-3)
    assert cost["median"] < 2  # it has more FLOPs
    assert "in documents, 40.0 target tokens/s and 40.0 sentences/s" in part.notes[-1]
    assert counts["masked, decoding"] == [20, 20]
    assert counts["transformer, decoding"] == counts["joint, decoding"] == [40, 40]  # as many as there are


def one_round(amounts):
    """A `measure` that has one round in this process and notes the amounts of work."""

    def measured(_, contenders, rounds):
        measurements = {}
        for contender in contenders:
            with contender.prepare(*contender.arguments) as work:
                amounts[contender.name], output = work()
            measurements[contender.name] = Measurement(contender.unit, [1.0] * rounds, output=output)
        return measurements

    return measured


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("fast", [True, False])
def test_bf16_takes_part_where_it_is_fast(tiny, tmp_path, monkeypatch, fast):
    tiny(transformer={})
    asked = {}
    for module in (training, decoding):
        monkeypatch.setattr(module, "has_fast_bf16", lambda _: fast)
    for name, kind in {"PEAK": "float32", "PEAK_BF16": "bfloat16"}.items():
        monkeypatch.setattr(training, name, machine.products(kind, "cpu", 8, 2))
    monkeypatch.setattr(training, "UPDATES", 2)
    monkeypatch.setattr(training, "WARM_UP", 1)
    monkeypatch.setattr(training, "measure", one_round(asked))
    monkeypatch.setattr(decoding, "measure", made_up(asked))
    monkeypatch.setattr(decoding, "trained", lambda: tmp_path)
    monkeypatch.setattr(decoding, "_references", lambda: ["a b", "c"])
    parts = [training.training(1), decoding.decoding(1)]
    assert any("bf" in name for name in asked) is fast
    ratios = [row for part in parts for row in part.tables["ratio"]]
    assert any("bf16" in row for row in ratios) is fast
    assert {f"context-nmt / {TORCH}", f"context-nmt / {PEAK}"} <= set(ratios)
    assert asked["context-nmt"] == asked[TORCH] > 100
    flops = models.described("transformer")["flops_per_target_token"]
    assert parts[0].tables["ratio"][f"context-nmt / {PEAK}"]["median"] == float(f"{flops / 1e9:.4g}")
    assert "of context-nmt 0.00, 1.5 units, 50.0% of the lines identical" in parts[1].notes[2]


def made_up(amounts):
    """A `measure` whose first contender writes other lines."""

    def measured(_, contenders, rounds):
        amounts.update(dict.fromkeys(contender.name for contender in contenders))
        lines = {contender.name: ["x y", "z" if "CTranslate2" in contender.name else "y"] for contender in contenders}
        return {
            contender.name: Measurement(contender.unit, [1.0] * rounds, output=lines[contender.name])
            for contender in contenders
        }

    return measured


def test_all_variants_are_as_large_as_the_transformer_but_for_their_mechanism():
    settings = Experiment(ROOT / "benchmarks").settings
    plans = {name: plan(settings, name).training.model for name in settings.variants}
    assert plans.pop("small").model.width == 64
    assert plans.pop("transformer_base").model.width == 512
    bases = {"autoregressive": plans.pop("transformer"), "masked": plans.pop("cmlm")}
    sizes = ("width", "feed_forward_width", "heads", "encoder_layers", "decoder_layers", "dropout")
    assert len({tuple(getattr(base.model, size) for size in sizes) for base in bases.values()}) == 1
    for name, filled in plans.items():
        plain = bases[filled.model.kind]
        assert filled.model == plain.model
        changed = [layers for slot, layers in filled.slots.items() if layers != plain.slots.get(slot)]
        assert changed, name
        assert all(len({layer.mechanism for layer in layers}) == 1 for layers in changed)
    assert not any(plans[name].slots == plans[other].slots for name, other in combinations(plans, 2))


@pytest.mark.parametrize("kind", [{}, {"kind": "masked", "positions": "learned", "maximum_positions": 64}])
def test_every_translation_of_an_untrained_model_has_about_the_same_length(kind):
    model = small_model(**kind)
    model.output.register_forward_hook(never_end)
    if kind:
        of_one_length(model)
    translations = translate_ids(model, [np.array([4, 5, 6]), np.array([7])], SEARCH)
    lengths = {len(hypothesis.tokens) for hypotheses in translations for hypothesis in hypotheses}
    assert max(abs(length - LENGTH) for length in lengths) <= (2 if kind else 0)
    assert not kind or model.train().encode_with_length(torch.tensor([[4, END]]))[1].requires_grad  # learned as ever


@pytest.mark.filterwarnings("ignore:.* found in sys.modules")
@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("benchmarks", "--rounds"),
        ("benchmarks.text", "--rounds"),
        ("benchmarks.variants", "--rounds"),
        ("benchmarks.growth", "--pairs"),
        ("benchmarks.gpu", "--tiny"),
    ],
)
def test_the_command_lines_start(command, option, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [command, "--help"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_module(command, run_name="__main__")
    printed = capsys.readouterr().out
    assert f"python -m {command} " in printed
    assert option in printed


def test_the_gpu_benchmark_runs_on_the_cpu_with_tiny(tiny, monkeypatch, capsys):
    tiny(transformer={}, small={"model": {"width": 16}})
    amounts = {}
    monkeypatch.setattr(gpu, "measure", one_round(amounts))
    monkeypatch.setattr(gpu, "two_of", lambda single: single.prepare(*single.arguments))
    gpu.main("cpu", rounds=1, tiny=True)
    precision = resolve_precision("auto", torch.device("cpu"))
    trained = [
        f"{text}, {tokens:,} tokens, {mode}" for text in gpu.TEXTS for tokens in gpu.UPDATES for mode in gpu.MODES
    ]
    peak = f"matrix product, {gpu.TORCH_TYPES[precision]}"
    assert amounts.keys() == {peak, *trained, "beam 5", "beam 5, two processes"}
    assert amounts[peak] == 2 * 2 * 64**3 / 1e9
    assert amounts["beam 5"] == gpu.TINY_SENTENCES
    printed = capsys.readouterr().out
    for name in trained:
        assert f"| {name} / peak | " in printed


def test_the_gpu_benchmark_continues_after_the_last_group(tiny, tmp_path, monkeypatch):
    """And a share of the peak is computed from what the file has."""
    tiny(transformer={}, transformer_base={"model": {"width": 16}})
    on_gpu, measured = torch.device("cuda"), []
    for module, name, value in [
        (gpu, "device_named", lambda device: on_gpu),
        (gpu, "processor_name", lambda device: "A GPU"),
        (gpu, "resolve_precision", lambda precision, device: "bf16"),
        (report.keep, "__defaults__", (tmp_path, None)),
        (report.with_earlier, "__defaults__", (tmp_path,)),
    ]:
        monkeypatch.setattr(module, name, value)
    (tmp_path / "results").mkdir()

    def stopped_at(count):
        def measure(_, group, rounds):
            if len(measured) == count:
                raise KeyboardInterrupt
            measured.append([contender.name for contender in group])
            return {contender.name: Measurement(contender.unit, [50.0] * rounds) for contender in group}

        return measure

    monkeypatch.setattr(gpu, "measure", stopped_at(2))
    with pytest.raises(KeyboardInterrupt):
        gpu.main("cuda", rounds=1)
    monkeypatch.setattr(gpu, "measure", stopped_at(9))
    gpu.main("cuda", rounds=1)
    assert measured == [[one.name for one in group] for group in gpu.contenders("bf16", "cuda", tiny=False)]
    (file,) = (tmp_path / "results").glob("*.json")
    tables = read_json(file)[gpu.TITLE]["tables"]
    share = tables["GFLOP per target token"]["news"]  # at 50 tokens/s and 50 GFLOP/s
    assert f"| news, 3,072 tokens, CUDA graphs / peak | {share:.2f} |" in (tmp_path / "README.md").read_text()


def test_without_a_gpu_the_gpu_benchmark_says_so():
    with pytest.raises(UserError, match="not available here"):
        gpu.main("cuda:99")
    with pytest.raises(UserError, match="allowed only with --tiny"):
        gpu.main("cpu")
