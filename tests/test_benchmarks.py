"""The benchmarks start and report; what they measure is for `make speed`, on a machine that does nothing else."""

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from small_models import small_model

from benchmarks.report import Part, section, summary
from benchmarks.rounds import Contender, Measured, measure, ratio
from benchmarks.variants import LENGTH, SEARCH, never_end
from context_nmt.decoding.translating import translate_ids
from context_nmt.experiment import Experiment
from context_nmt.files import UserError
from context_nmt.models.planning import plan

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


def test_each_contender_has_its_turn_in_each_round(capsys):
    measured = measure("test", [contender("a", counting, 10.0), contender("b", counting, 20.0)], rounds=2)
    turns = [line for line in capsys.readouterr().err.splitlines() if "round" in line]
    assert [line.split(":")[1].split(", ")[1] for line in turns] == ["a", "b", "a", "b"]
    assert [one.output for one in measured.values()] == [2, 2]
    assert all(len(one.speeds) == 2 and min(one.speeds) > 0 for one in measured.values())


def test_a_contender_that_fails_is_named(capfd):
    with pytest.raises(UserError, match="breaks: failed"):
        measure("test", [contender("breaks", failing)], rounds=1)
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_ratios_are_taken_round_by_round():
    measured = {"ours": Measured("lines", [2.0, 9.0, 8.0]), "theirs": Measured("lines", [1.0, 3.0, 2.0])}
    found = ratio(measured, "ours", "theirs", wanted=1.5).to_dict()
    assert found == {"of": "ours", "to": "theirs", "wanted": 1.5, "median": 3.0, "minimum": 2.0, "maximum": 4.0}


def test_the_tables_show_medians_ratios_and_what_is_wanted():
    measured = {"ours": Measured("lines", [2000.0, 4000.0, 3000.0], 12.3), "theirs": Measured("lines", [1000.0] * 3)}
    ratios = [ratio(measured, "ours", "theirs", wanted=1.5), ratio(measured, "theirs", "ours")]
    part = Part("Text", measured, ratios, ["a note"]).to_dict()
    lines = section(part)
    assert "| ours | 3,000 lines/s | 2,000 to 4,000 | 12 |" in lines
    assert "| ours / theirs | 3.00 | 2.00 to 4.00 | at least 1.5 |" in lines
    assert lines[-1] == "- a note"
    machine = dict.fromkeys(("python", "torch", "numpy", "ctranslate2", "sacremoses", "subword-nmt"), "1.0")
    machine |= {"processor": "P", "family_and_model": "1/2", "cores": 2, "instructions": ["avx2"], "memory_gb": 8}
    shown = [line for line in summary({"machine": machine | {"system": "Linux"}, "parts": [part]}) if "ours" in line]
    assert shown == ["| Text | ours / theirs | 3.00 | 2.00 to 4.00 | at least 1.5 |"]


def test_the_table_of_variants_shows_speeds_beside_flops():
    speed = {"median": 0.8, "least": 0.75, "greatest": 0.85}
    variant = {"training": speed, "decoding": speed | {"median": 0.5}, "flops": 1.125, "time_over_flops": 1.11}
    lines = section(Part("Variants", variants={"a": variant}, notes=["a note"]).to_dict())
    assert "| a | 0.80 | 0.75 to 0.85 | 0.50 | 0.75 to 0.85 | 1.125 | 1.11 |" in lines
    assert not any("memory" in line for line in lines)


def test_all_variants_are_as_large_as_the_transformer_but_for_their_mechanism():
    settings = Experiment(ROOT / "benchmarks").settings
    transformer, *others = [name for name in settings.variants if name != "small"]
    assert transformer == "transformer"
    plain = plan(settings, transformer).training.model
    for name in others:
        filled = plan(settings, name).training.model
        assert filled.model == plain.model
        assert filled.slots not in [plan(settings, other).training.model.slots for other in others if other != name]
        changed = [layers for slot, layers in filled.slots.items() if layers != plain.slots[slot]]
        assert changed, name
        assert all(len({layer.mechanism for layer in layers}) == 1 for layers in changed)


def test_every_translation_of_an_untrained_model_is_as_long_as_the_limit():
    model = small_model()
    for expected in (False, True):
        found = translate_ids(model, [np.array([4, 5, 6]), np.array([7])], SEARCH, device=torch.device("cpu"))
        assert all(len(one.tokens) == LENGTH for hypotheses in found for one in hypotheses) is expected
        model.output.register_forward_hook(never_end)


@pytest.mark.parametrize(
    "command", ["benchmarks", "benchmarks.tokenize_text", "benchmarks.variants"]
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
