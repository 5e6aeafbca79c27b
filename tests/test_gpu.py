"""A GPU computes what a CPU computes, and an update does not wait for it; these tests skip where there is none."""

import contextlib
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
    training = TrainingSettings(clip_norm=1.0, precision=precision)
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
            totals = [trained.update(number, [batch.to(device)]) for number, batch in enumerate(groups, start=1)]
            totals.append(trained.evaluate(batch.to(device) for batch in groups))
        losses.append([total.means("the loss") for total in totals])
    assert np.allclose(*losses, rtol={"fp32": 1e-4, "bf16": 2e-2}[precision])


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


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_run_learns_to_reverse_digits_and_says_where(precision, tmp_path, gpu):
    training = REVERSING["training"] | {"precision": precision}
    experiment = make_experiment(tmp_path, **REVERSING | {"training": training})
    train_run(experiment, "plain", 1, device="cuda")
    average_run(experiment, "plain", 1)
    model = checkpoints.load_run(experiment.model(RUN), gpu)
    source, target = BinarizedCorpus(experiment.binarized).parallel("valid")
    found = translate_ids(model, source, DecodingSettings(beam=1))
    assert sum(best[0].tokens == tuple(target[number]) for number, best in enumerate(found)) / len(found) >= 0.85
    assert torch.cuda.get_device_name(gpu) in str(rows(experiment)[0])
