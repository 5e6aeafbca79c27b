"""The benchmark of mask-predict: its contenders and its report, with made-up speeds."""

import shutil
import sys
from dataclasses import asdict

import pytest
import sacrebleu
import yaml
from tiny_training import digits, make_experiment

from benchmarks import iterations, machine, report
from benchmarks.pictures import draw_searches
from benchmarks.rounds import CORES, Measurement
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
    """Tiny systems that have hardly learnt to copy digits, with raw text."""
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
    """A report of two rounds in which each contender is slower than the previous one, and all contenders."""
    contenders = []

    def made_up(part, entrants, rounds):
        measured = {}
        for number, contender in enumerate(entrants, start=1):
            contenders.append(contender)
            with contender.prepare(*contender.arguments) as work:
                amount, output = work()
            assert amount == len(output)
            speeds = [60.0 / number / turn for turn in range(1, rounds + 1)]
            measured[contender.name] = Measurement(contender.unit, speeds, 1.0, output)
        return measured

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(iterations, "measure", made_up)
        return iterations.iterations(2, experiment, SENTENCES), contenders


@pytest.fixture(scope="module")
def part(benchmark):
    return benchmark[0]


def test_every_search_takes_part_alone_and_in_batches(benchmark):
    part, contenders = benchmark
    names = ["Teacher, beam 4", "Teacher, greedy", *(f"CMLM, {search}" for _, search in SEARCHES[2:5])]
    names.append("CCAN, 10 iterations")
    assert all(list(rows) == names for rows in part.tables.values())
    assert [contender.name for contender in contenders] == [
        f"{name}, {way}" for way in ("one at a time", "batched") for name in names
    ]
    for number, contender in enumerate(contenders):
        _, system, test, settings, sentences, workers = contender.arguments
        alone = number < len(SEARCHES)
        assert system == SEARCHES[number % len(SEARCHES)][0]
        search = SEARCHES[number % len(SEARCHES)][1]
        assert (test, sentences, workers) == ("valid", *((SENTENCES, 1) if alone else (40, CORES)))
        assert contender.threads == workers
        assert (settings.batch_tokens == 1) is alone
        if system == "plain":
            assert settings.beam == {"beam 4": 4, "greedy": 1}[search]
        else:
            assert settings.iterations == int(search.split()[0])
            assert settings.length_beam == (3 if system == "masked" else 5)


def test_speeds_are_relative_to_beam_search_of_the_same_kind(part):
    for mode, first in (("one at a time", 1), ("batched", 1 + len(SEARCHES))):
        ratios = part.tables[f"speed / Teacher, beam 4, {mode}"].values()
        expected = [first / (first + number) for number in range(len(SEARCHES))]
        assert [ratio["median"] for ratio in ratios] == pytest.approx(expected, abs=1e-3)
        rounds = part.tables[f"sentences/s, {mode}"]["Teacher, beam 4"]["rounds"]
        assert rounds == [float(f"{60 / first / turn:.4g}") for turn in (1, 2)]


def test_bleu_is_what_the_pipeline_finds(experiment, part):
    rows = {"plain": "Teacher, beam 4", "masked": "CMLM, 10 iterations", "gated": "CCAN, 10 iterations"}
    scores = part.tables["BLEU, valid"]
    reference = read_lines(experiment.corpus / "valid.yy")
    for variant, row in rows.items():
        name = f"{variant}-1"
        decode_run(experiment, variant, 1, device="cpu")
        tokens = read_hypotheses(experiment.hypotheses(name), "valid")
        translations = list(TextChain(experiment.model(name) / "text").target_text(tokens))
        bleu = sacrebleu.corpus_bleu(translations, [reference], force=True)
        assert bleu.score > 0
        assert scores[row] == round(bleu.score, 2)
    assert "in batches: nrefs:1|case:mixed" in part.notes[1]
    assert part.notes[0].startswith("Runs (parameters): plain-1 (d_model 32, 1+1 layers, ")
    assert part.notes[-1].startswith("At least 100.0% of the lines")


def test_the_picture_and_the_table_are_written(part, tmp_path):
    here = machine.describe()
    report.keep(part, here, tmp_path, draw=draw_searches)
    path = tmp_path / f"results/{machine.file_name(here)}-{part.picture}.svg"
    assert part.picture.startswith("iterations-digits")
    texts = {"one at a time", "batched", "beam 4", "greedy", "1 iteration", "Teacher", "CCAN, 10 iterations"}
    assert all(f"<!-- {text} -->".encode() in path.read_bytes() for text in texts)
    lines = read_lines(tmp_path / "README.md")
    assert any(f"]({path.relative_to(tmp_path)})" in line for line in lines)
    rows = [line for line in lines if line.startswith(("| Teacher, ", "| CMLM, ", "| CCAN, "))]
    assert len(rows) == len(SEARCHES)
    bleu, batched = part.tables["BLEU, valid"]["Teacher, greedy"], "5.62 (3.75 to 7.50) | 0.88 (0.88 to 0.88)"
    assert rows[1] == f"| Teacher, greedy | {bleu:.2f} | 22.5 (15 to 30) | 0.50 (0.50 to 0.50) | {batched} |"


def test_an_experiment_without_students_or_models_is_one_line(experiment, tmp_path, monkeypatch, capsys):
    """The first experiment has no student, and the second lacks a model."""
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
        output = capsys.readouterr().err
        assert output.startswith("error: ")
        assert message in output
        assert output.count("\n") == 1
