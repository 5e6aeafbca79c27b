"""The mechanism and the variant of CONTRIBUTING.md, put into a folder of their own."""

import re
import sys
from pathlib import Path

import pytest
import yaml
from contract import CHECKS, Facts
from tiny_training import column, make_experiment

import context_nmt.mechanisms
from context_nmt.files import read_json, write_json
from context_nmt.models import mechanisms
from context_nmt.pipeline.planning import plan, write_plans
from context_nmt.settings.folder import Experiment
from context_nmt.training.training_run import train_run

PAGE = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
NAME = "scaled_attention"


def example(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    folder = tmp_path / "mechanisms"
    folder.mkdir()
    for name in mechanisms.names():
        (folder / f"{name}.py").write_bytes((mechanisms.FOLDER / f"{name}.py").read_bytes())
    (folder / f"{NAME}.py").write_text(example("python"), encoding="utf-8")
    monkeypatch.setattr(mechanisms, "FOLDER", folder)
    monkeypatch.setattr(context_nmt.mechanisms, "__path__", [str(folder)])
    yield
    sys.modules.pop(f"context_nmt.mechanisms.{NAME}", None)


def facts():
    def neutral(layer, plain):
        layer.load_state_dict(plain.state_dict(), strict=False)
        layer.scale.data.fill_(1)

    def parameters(place):
        return 4 * place.width**2 + (4 * place.width if place.bias else 0) + place.width

    refused = (({"start": 0}, "start is 0; the attention would learn nothing"),)
    return Facts(parameters=parameters, neutral=neutral, refused=refused)


@pytest.mark.parametrize("clause", CHECKS)
def test_the_example_keeps_the_contract(clause):
    mechanism = mechanisms.load(NAME)
    for slot in mechanism.SLOTS:
        CHECKS[clause](mechanism, slot, facts())


def test_the_example_is_trained(tmp_path):
    variant = yaml.safe_load(example("yaml"))["variants"]["scaled"]
    del variant["baseline"]
    recipe = {"maximum_updates": 60, "validate_every": 20}
    path = make_experiment(tmp_path / "experiment", model={"decoder_layers": 2}, training=recipe).parameters
    parameters = yaml.safe_load(path.read_text())
    parameters["variants"]["plain"] = variant
    path.write_text(yaml.safe_dump(parameters))
    experiment = Experiment(path.parent)
    known = experiment.folder / "src/code/loaded_by_name.json"
    write_json(known, read_json(known) | {f"context_nmt.mechanisms.{NAME}": "as the code stage writes it"})
    write_plans(experiment)

    slots = plan(experiment.settings, "plain").training.model.slots
    assert [layer.mechanism for layer in slots["decoder_self_attention"]] == [NAME, "dual_context"]
    train_run(experiment, "plain", 1, device="cpu")
    losses = column(experiment, "valid_loss")
    assert losses[-1] < losses[0] - 0.2
