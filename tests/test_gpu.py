"""A GPU computes what a CPU computes, and an update does not wait for it; these tests skip where there is none."""

import contextlib

import numpy as np
import pytest
import torch
from small_models import VOCABULARY, small_plan
from test_no_waiting import KINDS
from test_translating import random_sentences
from test_translating import small_model as translation_model
from tiny_training import RUN, make_experiment, rows

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.decoding.translating import translate_ids
from context_nmt.models import checkpoints
from context_nmt.models.averaging import average_run
from context_nmt.models.building import build
from context_nmt.models.devices import device_named
from context_nmt.models.plans import TrainingPlan
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.training import TrainingSettings
from context_nmt.training.batches import Pairs
from context_nmt.training.training_run import train_run
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


def same(found, expected):
    """Assert equal hypotheses; each device computes sinusoids itself, in fp32, and scores differ by their rounding."""
    assert [[one.tokens for one in of] for of in found] == [[one.tokens for one in of] for of in expected]
    for of, wanted in zip(found, expected, strict=True):
        assert [one.score for one in of] == pytest.approx([one.score for one in wanted], rel=1e-5, abs=1e-5)


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


def batches(text, model):
    documents = text.documents("train") if model.needs_documents else None
    pairs = Pairs(
        *text.parallel("train"),
        maximum_length=None,
        documents=documents,
        sentences=model.sentences,
        reach=model.reach,
        previous_sources=model.previous_sources,
        previous_targets=model.previous_targets,
    )
    stream = pairs.endless(tokens=64, seed=1)
    return [pairs.load(next(stream)[1]) for _ in range(4)]


@pytest.mark.parametrize(("slots", "settings"), KINDS)
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_losses_are_those_of_a_cpu_and_an_update_does_not_wait(slots, settings, precision, text, gpu):
    losses = []
    for device in (CPU, gpu):
        trained = updater(slots, settings, precision, len(text.target_vocabulary), device)
        groups = batches(text, trained.model)
        with no_waiting() if device == gpu else contextlib.nullcontext():
            totals = [trained.update(number, [batch.to(device)]) for number, batch in enumerate(groups, start=1)]
            totals.append(trained.evaluate(batch.to(device) for batch in groups))
        losses.append([total.means("the loss") for total in totals])
    assert np.allclose(*losses, rtol={"fp32": 1e-4, "bf16": 2e-2}[precision])


@pytest.mark.parametrize("beam", [1, 4])
def test_translations_are_those_of_a_cpu(beam, gpu):
    settings = DecodingSettings(beam=beam, n_best=beam, batch_tokens=200, maximum_length_offset=8)
    model = translation_model()
    found = translate_ids(model, random_sentences(30), settings, device=CPU)
    same(translate_ids(model.to(gpu), random_sentences(30), settings, device=gpu), found)


@pytest.mark.parametrize(("slots", "settings"), KINDS)
def test_translations_of_every_mechanism_are_those_of_a_cpu(slots, settings, gpu):
    settings = {"tying": "none"} | settings
    torch.manual_seed(5)
    model = build(small_plan(slots, **settings), source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY)
    torch.nn.init.normal_(model.output.weight)
    model, sentences = model.double(), [ids % 7 + 4 for ids in random_sentences(12)]
    documents = [range(5), range(5, 12)]
    decoding = DecodingSettings(beam=3, maximum_length_offset=4)
    found = translate_ids(model, sentences, decoding, documents=documents, device=CPU)
    same(translate_ids(model.to(gpu), sentences, decoding, documents=documents, device=gpu), found)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_run_learns_to_reverse_digits_and_says_where(precision, tmp_path, gpu):
    experiment = make_experiment(
        tmp_path,
        task="reverse",
        pairs=2000,
        longest=4,
        model={"width": 48, "dropout": 0.0},
        training={
            "maximum_updates": 500,
            "validate_every": 250,
            "precision": precision,
            "schedule": {"kind": "cosine", "warmup": 50, "factor": 0.25},
        },
    )
    train_run(experiment, "plain", 1, device="cuda")
    average_run(experiment, "plain", 1)
    model = checkpoints.load_run(experiment.model(RUN), gpu)
    source, target = BinarizedCorpus(experiment.binarized).parallel("valid")
    found = translate_ids(model, source, DecodingSettings(beam=1), device=gpu)
    assert sum(best[0].tokens == tuple(target[number]) for number, best in enumerate(found)) / len(found) >= 0.85
    assert torch.cuda.get_device_name(gpu) in str(rows(experiment)[0])
