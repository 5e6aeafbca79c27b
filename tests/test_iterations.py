"""The benchmark of mask-predict: what takes part and what is reported; its speeds here are made up."""

import shutil
import sys
from dataclasses import asdict

import pytest
import sacrebleu
import yaml
from tiny_training import digits, make_experiment

from benchmarks import iterations, page
from benchmarks.iterations import systems_of
from benchmarks.rounds import CORES, Measured
from context_nmt.command_line import run
from context_nmt.corpus.hypotheses import read_hypotheses
from context_nmt.corpus.text_chain import TextChain
from context_nmt.decoding.decoding_run import decode_run
from context_nmt.files import read_lines, write_json, write_lines
from context_nmt.models.averaging import average_run
from context_nmt.pipeline.planning import write_plans
from context_nmt.settings.parameters import Experiment
from context_nmt.settings.text import SideSettings, UnitSettings
from context_nmt.training.trainer import train_run

pytestmark = pytest.mark.slow

SENTENCES = 12
MASKED = {"kind": "masked", "norm": "post", "positions": "learned", "maximum_positions": 16}
VARIANTS = {
    "plain": {"label": "Teacher"},
    "masked": {"label": "CMLM", "model": MASKED, "decoding": {"length_beam": 3}},
    "gated": {
        "label": "CCAN",
        "model": MASKED,
        "slots": {"cross_attention": {"mechanism": "context_aware_cross_attention", "window": 3}},
    },
}
TRAIN = {"bitext": ["plain"], "teachers": ["plain"], "distilled": ["masked", "gated"]}
SEARCHES = [
    ("plain", "beam 4"),
    ("plain", "greedy"),
    ("masked", "1 iteration"),
    ("masked", "4 iterations"),
    ("masked", "10 iterations"),
    ("gated", "10 iterations"),
]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    """Tiny systems that have hardly learnt to copy digits, with the text around them."""
    training = {"maximum_updates": 150, "validate_every": 150, "maximum_sentence_length": 14}
    made = make_experiment(tmp_path_factory.mktemp("digits"), training=training, variants=VARIANTS)
    parameters = yaml.safe_load(made.parameters.read_text()) | {"train": TRAIN}
    made.parameters.write_text(yaml.safe_dump(parameters))
    side = asdict(SideSettings(pretokenized=True, truecase=False))
    sides = {role: {"language": language, **side} for role, language in (("source", "xx"), ("target", "yy"))}
    write_json(made.tokenized / "moses.json", sides)
    write_json(made.subwords / "units.json", asdict(UnitSettings(kind="words")))
    made = Experiment(made.folder)
    for language in ("xx", "yy"):
        write_lines(made.corpus / f"valid.{language}", digits(40, 1, longest=6))
    write_plans(made)
    for variant in VARIANTS:
        train_run(made, variant, 1, device="cpu")
        average_run(made, variant, 1)
    return made


@pytest.fixture(scope="module")
def benchmark(experiment):
    """A report of two rounds in which each contender is slower than the one before, and all that took part."""
    contenders = []

    def made_up(part, given, rounds):
        measured = {}
        for number, one in enumerate(given, start=1):
            contenders.append(one)
            with one.prepare(*one.arguments) as work:
                amount, output = work()
            assert amount == len(output)
            speeds = [60.0 / number / turn for turn in range(1, rounds + 1)]
            measured[one.name] = Measured(one.unit, speeds, 1.0, output)
        return measured

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(iterations, "measure", made_up)
        return iterations.iterations(2, systems_of(experiment), SENTENCES), contenders


@pytest.fixture(scope="module")
def values(benchmark):
    return benchmark[0]


def test_every_search_takes_part_alone_and_in_batches(benchmark):
    values, contenders = benchmark
    assert [(one["system"], one["search"]) for one in values["searches"]] == SEARCHES
    assert len({one.name for one in contenders}) == len(contenders) == 2 * len(SEARCHES)
    for number, one in enumerate(contenders):
        folder, _, test, settings, sentences, threads = one.arguments
        system, search = SEARCHES[number % len(SEARCHES)]
        alone = number < len(SEARCHES)
        assert folder.name == f"{system}-1"
        assert (test, sentences, threads) == ("valid", *((SENTENCES, 1) if alone else (40, CORES)))
        assert one.threads == threads
        assert (settings.batch_tokens == 1) is alone
        if system == "plain":
            assert settings.beam == {"beam 4": 4, "greedy": 1}[search]
        else:
            assert settings.iterations == int(search.split()[0])
            assert settings.length_beam == (3 if system == "masked" else 5)


def test_speeds_are_relative_to_beam_search_of_the_same_kind(values):
    for mode, first in (("alone", 1), ("batched", 1 + len(SEARCHES))):
        for number, one in enumerate(values["searches"]):
            assert one[mode]["relative"]["median"] == pytest.approx(first / (first + number), abs=1e-3)
        assert values["searches"][0][mode]["rounds"] == [float(f"{60 / first / turn:.4g}") for turn in (1, 2)]


def test_bleu_is_what_the_pipeline_finds(experiment, values):
    plans = {"plain": "beam 4", "masked": "10 iterations", "gated": "10 iterations"}
    scores = {(one["system"], one["search"]): one["bleu"] for one in values["searches"]}
    reference = read_lines(experiment.corpus / "valid.yy")
    for variant, search in plans.items():
        name = f"{variant}-1"
        decode_run(experiment, variant, 1, device="cpu")
        tokens = read_hypotheses(experiment.hypotheses(name), "valid")
        translations = list(TextChain(experiment.model(name) / "text").target_text(tokens))
        bleu = sacrebleu.corpus_bleu(translations, [reference], force=True)
        assert bleu.score > 0
        assert scores[variant, search] == pytest.approx(bleu.score, abs=1e-4)
    assert values["signature"].startswith("nrefs:1|case:mixed")


def test_the_picture_and_the_table_are_written(values, tmp_path):
    iterations.write(values, tmp_path, "iterations-digits")
    path = tmp_path / page.picture(values["machine"], "iterations-digits")
    texts = {"one sentence at a time", "batched", "beam 4", "greedy", "1 iteration", "Teacher", "CCAN, 10 iterations"}
    assert all(f"<!-- {text} -->".encode() in path.read_bytes() for text in texts)
    lines = read_lines(tmp_path / "README.md")
    assert any(f"]({path.relative_to(tmp_path)})" in line for line in lines)
    rows = [line for line in lines if line.startswith(("| Teacher, ", "| CMLM, ", "| CCAN, "))]
    assert len(rows) == 3 * len(SEARCHES)  # BLEU, one at a time, in batches
    assert rows[1] == f"| Teacher, greedy | {values['searches'][1]['bleu']:.2f} |"
    assert rows[1 + len(SEARCHES)] == "| Teacher, greedy | 22.5 (15 to 30) | 0.50 (0.50 to 0.50) |"


def test_systems_are_the_teacher_and_its_first_masked_students(experiment):
    systems = systems_of(experiment)
    assert (systems.teacher, systems.students, systems.test) == ("plain", ["masked", "gated"], "valid")


def test_an_experiment_without_students_or_models_is_one_line(experiment, tmp_path, monkeypatch, capsys):
    """The first has no student, and of the second one a model is missing."""
    alone = make_experiment(tmp_path / "alone").folder
    half = shutil.copytree(experiment.folder, tmp_path / "half")
    shutil.rmtree(half / "runs/models/gated-1")
    for folder, message in (
        (alone, "names no masked variant"),
        (half, "gated-1: not there; run `make repro NAME=half`"),
    ):
        monkeypatch.setattr(sys, "argv", ["iterations", "--experiment", str(folder)])
        with pytest.raises(SystemExit, match="1"):
            run(iterations.main)
        told = capsys.readouterr().err
        assert told.startswith("error: ")
        assert message in told
        assert told.count("\n") == 1
