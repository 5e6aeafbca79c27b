"""A GPU computes what a CPU computes, and an update does not wait for it; these tests skip where there is none."""

import contextlib
import hashlib
import os
import subprocess
import sys
from itertools import islice

import numpy as np
import pytest
import torch
from small_models import VOCABULARY, small_plan
from test_no_waiting import KINDS
from test_translating import random_sentences
from tiny_training import REVERSING, RUN, make_experiment, rows

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.decoding.translating import translate_ids
from context_nmt.models import checkpoints
from context_nmt.models.averaging import average_run
from context_nmt.models.building import build
from context_nmt.models.devices import device_named
from context_nmt.models.plans import TrainingPlan
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.model import TrainingSettings
from context_nmt.training import capturing
from context_nmt.training.batches import pairs_for
from context_nmt.training.trainer import train_run
from context_nmt.training.updating import Updater

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU"),
    pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype"),
]

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def gpu():
    return device_named("cuda")


@contextlib.contextmanager
def no_waiting():
    """Make it an error if the program waits for the GPU."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def updater(slots, settings, precision, units, device):
    """Equal weights on every device."""
    training = TrainingSettings(clip_norm=1.0, precision=precision, cuda_graphs=True)
    plan = TrainingPlan(model=small_plan(slots, **settings), training=training)
    torch.manual_seed(1)
    model = build(plan.model, source_vocabulary=units, target_vocabulary=units)
    return Updater(plan, model.to(device), seed=1)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Documents of three sentences, for all models."""
    return BinarizedCorpus(make_experiment(tmp_path_factory.mktemp("text"), task="previous").binarized)


@pytest.mark.parametrize(("slots", "settings"), KINDS)
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_losses_are_those_of_a_cpu_and_an_update_does_not_wait(slots, settings, precision, text, gpu):
    losses = []
    for device in (CPU, gpu):
        trained = updater(slots, settings, precision, len(text.target_vocabulary), device)
        pairs = pairs_for(trained.model, text, "train", None)
        groups = [pairs.load(batch) for _, batch in islice(pairs.endless(tokens=64, seed=1), 4)]
        with no_waiting() if device == gpu else contextlib.nullcontext():
            totals = [trained.update(number, [trained.prepare(batch)]) for number, batch in enumerate(groups, start=1)]
            totals.append(trained.evaluate(trained.prepare(batch) for batch in groups))
        losses.append([total.means("the loss") for total in totals])
    assert np.allclose(*losses, rtol={"fp32": 1e-4, "bf16": 2e-2}[precision])


@pytest.mark.parametrize(("slots", "settings"), KINDS)
def test_replayed_kernels_give_the_bytes_of_kernels_started_one_by_one(slots, settings, text, gpu, monkeypatch):
    """With dropout; the graph of a shape is captured when the shape occurs for the second time."""
    results = []
    for maximum in (0, 9, 9):
        monkeypatch.setattr(capturing, "MAXIMUM_GRAPHS", maximum)
        dropout = {"dropout": 0.1, "attention_dropout": 0.1}
        trained = updater(slots, settings | dropout, "bf16", len(text.target_vocabulary), gpu)
        pairs = pairs_for(trained.model, text, "train", None)
        groups = [trained.prepare(pairs.load(batch)) for _, batch in islice(pairs.endless(tokens=64, seed=1), 3)]
        totals = [trained.update(number, [*groups, *groups]) for number in range(1, 4)]
        weights = [parameter.detach().cpu() for parameter in trained.model.parameters()]
        results.append(([total.losses.tolist() for total in totals], weights))
    for losses, weights in results[1:]:
        assert losses == results[0][0]
        assert all(torch.equal(*pair) for pair in zip(weights, results[0][1], strict=True))


KILLED = """
import sys
from context_nmt.settings.parameters import Experiment
from context_nmt.training import trainer
update = trainer.Updater.update
def killed(self, number, batches):
    if number == int(sys.argv[2]):
        raise KeyboardInterrupt
    return update(self, number, batches)
trainer.Updater.update = killed
trainer.train_run(Experiment(sys.argv[1]), "plain", 1, device="cuda")
"""


@pytest.mark.slow
@pytest.mark.parametrize("compile", ["never", "always"])
def test_a_training_that_was_killed_ends_in_the_same_bytes(compile, tmp_path, gpu):
    settings = {
        "maximum_updates": 40,
        "validate_every": 10,
        "precision": "bf16",
        "compile": compile,
        "cuda_graphs": True,
    }
    digests = []
    for name, ends in (("undisturbed", [0]), ("killed", [26, 0])):
        experiment = make_experiment(tmp_path / name, training=settings)
        for end in ends:
            command = [sys.executable, "-c", KILLED, str(experiment.folder), str(end)]
            environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / f"kernels-{name}-{end}")}
            assert (subprocess.run(command, env=environment, check=False).returncode == 0) == (end == 0)
        paths = sorted(experiment.checkpoints(RUN).glob("*.safetensors"))
        digests.append([hashlib.sha256(path.read_bytes()).hexdigest() for path in paths])
    assert digests[0] == digests[1]
    assert digests[0]


@pytest.mark.parametrize(("slots", "settings"), KINDS)
def test_translations_are_those_of_a_cpu(slots, settings, gpu):
    settings = {"tying": "none"} | settings
    torch.manual_seed(5)
    model = build(small_plan(slots, **settings), source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY)
    torch.nn.init.normal_(model.output.weight)
    model, sentences = model.double(), [ids % 7 + 4 for ids in random_sentences(12)]
    documents = [range(5), range(5, 12)]
    decoding = DecodingSettings(beam=3, maximum_length_offset=4)
    expected, found = (
        [best[0] for best in translate_ids(model.to(place), sentences, decoding, documents=documents)]
        for place in (CPU, gpu)
    )
    assert [one.tokens for one in found] == [one.tokens for one in expected]
    # Each device computes sinusoids itself, in fp32.
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(("slots", "settings"), KINDS)
def test_translations_in_bf16_have_about_the_scores_of_fp32(slots, settings, gpu):
    torch.manual_seed(5)
    plan = small_plan(slots, **({"tying": "none"} | settings))
    model = build(plan, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY).to(gpu)
    sentences, documents = [ids % 7 + 4 for ids in random_sentences(12)], [range(5), range(5, 12)]
    found = []
    for precision in ("fp32", "bf16"):
        decoding = DecodingSettings(beam=1, iterations=1, length_beam=1, maximum_length_offset=4, precision=precision)
        found.append([best[0] for best in translate_ids(model, sentences, decoding, documents=documents)])
    equal = [(a.score, b.score) for a, b in zip(*found, strict=True) if a.tokens == b.tokens]
    assert len(equal) >= 6
    assert np.allclose(*zip(*equal, strict=True), rtol=0.05, atol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_run_learns_to_reverse_digits_and_says_where(precision, tmp_path, gpu):
    training = REVERSING["training"] | {"precision": precision, "cuda_graphs": True}
    experiment = make_experiment(tmp_path, **REVERSING | {"training": training})
    train_run(experiment, "plain", 1, device="cuda")
    average_run(experiment, "plain", 1)
    model = checkpoints.load_run(experiment.model(RUN), gpu)
    source, target = BinarizedCorpus(experiment.binarized).parallel("valid")
    found = translate_ids(model, source, DecodingSettings(beam=1))
    assert sum(best[0].tokens == tuple(target[number]) for number, best in enumerate(found)) / len(found) >= 0.85
    assert torch.cuda.get_device_name(gpu) in str(rows(experiment)[0])
