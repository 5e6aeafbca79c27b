"""A training that is killed resumes, and ends as if nothing had happened."""

import contextlib
import hashlib
import multiprocessing
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_training import RUN, column, make_experiment, scripted, train

from context_nmt.command_line import Unfinished
from context_nmt.decoding import validation
from context_nmt.files import UserError, locked
from context_nmt.models import devices
from context_nmt.models.averaging import average_run
from context_nmt.settings.parameters import Experiment
from context_nmt.training import trainer
from context_nmt.training.trainer import train_run

ROOT = Path(__file__).parents[1]

SETTINGS = {"maximum_updates": 120, "validate_every": 4, "keep_last": 3, "keep_best": 1}
WIDE_MODEL = {"width": 128, "feed_forward_width": 1024}  # so that writing a state takes time


def digests(experiment):
    files = [*experiment.checkpoints(RUN).iterdir(), experiment.curve(RUN)]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def train_in(folder):
    """Train in a process that will be killed."""
    torch.set_num_threads(1)
    train_run(Experiment(folder), "plain", 1, device="cpu")


def written(scratch):
    """The names of a training's complete files with their times, and of those that are being written."""
    complete, partial = set(), []
    for path in scratch.glob("*/*"):
        with contextlib.suppress(FileNotFoundError):  # renamed or removed since it was listed
            time_ns = path.stat().st_mtime_ns
            if path.name.startswith("."):
                partial.append(path.name)
            else:
                complete.add((path.name, time_ns))
    return complete, partial


def wait_until(condition, process):
    while process.is_alive() and not condition():
        time.sleep(0.0005)


@pytest.mark.heavy
def test_killed_twenty_times_it_ends_in_the_same_bytes(tmp_path):
    """Kill -9 at random moments, and five times while a checkpoint or a state is being written."""
    torch.set_num_threads(1)
    undisturbed = digests(train(tmp_path / "undisturbed", model=WIDE_MODEL, training=SETTINGS))
    experiment = make_experiment(tmp_path / "killed", model=WIDE_MODEL, training=SETTINGS)
    scratch = experiment.scratch(RUN)
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")  # pytest shows it when the test fails
    moments = random.Random(seed)
    processes = multiprocessing.get_context("forkserver")
    # torch._dynamo comes with the optimiser.
    processes.set_forkserver_preload(["context_nmt.training.trainer", "torch._dynamo"])
    inside = 0
    for kill in range(20):
        process = processes.Process(target=train_in, args=(experiment.folder,))
        before = written(scratch)[0]
        process.start()
        wait_until(lambda before=before: written(scratch)[0] != before, process)  # until it makes progress
        if kill % 4 == 3:
            wait_until(lambda: written(scratch)[1], process)
        else:
            time.sleep(moments.uniform(0, 0.2))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL, f"kill {kill} came too late, or the training failed"
        inside += bool(written(scratch)[1])
    assert inside >= 2
    assert not experiment.checkpoints(RUN).exists()
    train_in(experiment.folder)
    assert digests(experiment) == undisturbed


KINDS = {
    "autoregressive": {},
    "masked": {"model": {"kind": "masked", "positions": "learned", "maximum_positions": 16}},
    "concatenation": {
        "task": "previous",
        "variants": {"plain": {"model": {"kind": "concatenation", "previous_sources": 1, "previous_targets": 1}}},
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_comes_after_a_kill_is_not_trained_twice(kind, tmp_path, monkeypatch):
    """The state is also saved between validations. A finished training that DVC did not record is not repeated."""
    training = {"maximum_updates": 6, "validate_every": 6, "maximum_sentence_length": 14, "accumulation": 2}
    whole = digests(train(tmp_path / "whole", training=training, **KINDS[kind]))
    experiment = make_experiment(tmp_path / "stopped", training=training, **KINDS[kind])
    monkeypatch.setattr(trainer, "SAVE_SECONDS", 0.0)
    updates = counted_updates(monkeypatch, stop_at=5)
    with pytest.raises(KeyboardInterrupt):
        run(experiment)
    run(experiment)
    assert updates == [1, 2, 3, 4, 5, 5, 6]
    assert digests(experiment) == whole
    run(experiment)
    assert updates[7:] == []
    assert digests(experiment) == whole


save_state = trainer.Trainer._save_state


def run(experiment, seed=1):
    train_run(experiment, "plain", seed, device="cpu")


def press_ctrl_c():
    raise KeyboardInterrupt


def counted_updates(monkeypatch, stop_at=None, stop=press_ctrl_c):
    """A list of the updates that are made; at the first update `stop_at`, `stop` is called."""
    numbers, stops = [], []
    update = trainer.Updater.update

    def watched(self, number, batches):
        numbers.append(number)
        if number == stop_at and not stops:
            stops.append(number)
            stop()
        return update(self, number, batches)

    monkeypatch.setattr(trainer.Updater, "update", watched)
    return numbers


def stopped(folder, monkeypatch, **changes):
    """An experiment that was stopped at update 5, with its state after update 4."""
    experiment = make_experiment(folder, **changes)
    updates = counted_updates(monkeypatch, stop_at=5)
    with pytest.raises(KeyboardInterrupt):
        run(experiment)
    updates.clear()
    return experiment, updates


def test_sigterm_saves_the_state(tmp_path, monkeypatch):
    whole = digests(train(tmp_path / "whole"))
    experiment = make_experiment(tmp_path / "stopped")
    updates = counted_updates(monkeypatch, stop_at=3, stop=lambda: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(Unfinished, match="update 3"):
        run(experiment)
    run(experiment)
    assert updates == [1, 2, 3, 4, 5, 6]
    assert digests(experiment) == whole
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_tensorboard_shows_each_point_of_a_resumed_training_once(tmp_path, monkeypatch):
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    experiment = make_experiment(tmp_path, training={"validate_every": 1})
    counted_updates(monkeypatch, stop_at=5)
    monkeypatch.setattr(trainer.Trainer, "_save_state", lambda self: self.state.update < 4 and save_state(self))
    with pytest.raises(KeyboardInterrupt):
        train_run(experiment, "plain", 1, device="cpu", tensorboard=True)
    train_run(experiment, "plain", 1, device="cpu", tensorboard=True)
    shown = events.EventAccumulator(str(experiment.tensorboard(RUN))).Reload()
    for name in ("learning_rate", "train_loss", "valid_loss"):
        points = shown.Scalars(name)
        assert [point.step for point in points] == column(experiment, "update") == [1, 2, 3, 4, 5, 6]
        assert [point.value for point in points] == pytest.approx(column(experiment, name))


def test_missing_tensorboard_is_an_error_before_the_first_update(tmp_path, monkeypatch):
    updates = counted_updates(monkeypatch)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    with pytest.raises(UserError, match="pip install tensorboard"):
        train_run(make_experiment(tmp_path), "plain", 1, device="cpu", tensorboard=True)
    assert updates == []


def test_another_plan_text_seed_or_code_starts_from_the_beginning(tmp_path, monkeypatch):
    """A stopped training is resumed only by the same training."""
    experiment, updates = stopped(tmp_path, monkeypatch)
    plan, tokens = experiment.plan("plain", "training"), experiment.binarized / "training/train.xx.tokens.npy"
    content, ids = plan.read_bytes(), np.load(tokens)
    plan.write_bytes(content.replace(b'"label_smoothing": 0.1', b'"label_smoothing": 0.2'))
    run(experiment)
    plan.write_bytes(content)
    np.save(tokens, ids[::-1])
    run(experiment)
    np.save(tokens, ids)
    run(experiment, seed=2)
    with monkeypatch.context() as patch:
        patch.setattr(trainer, "digest_of_module", lambda name: f"other than that of {name}")
        run(experiment)
    assert updates == [1, 2, 3, 4, 5, 6] * 4
    run(experiment)
    assert updates[24:] == [5, 6]


def test_early_stopping_resumes_with_earlier_validations(tmp_path, monkeypatch):
    """BLEU falls after the second validation; the third is after the interruption."""
    settings = {"maximum_updates": 40, "validate_every": 2, "patience": 2, "select_by": "bleu", "validation_bleu": True}
    experiment = make_experiment(tmp_path, training=settings)
    updates = counted_updates(monkeypatch, stop_at=5)
    monkeypatch.setattr(validation, "validation_bleu", scripted([20.0, 30.0, 25.0, 24.0]))
    with pytest.raises(KeyboardInterrupt):
        run(experiment)
    run(experiment)
    assert updates[-1] == 8
    assert column(experiment, "valid_bleu") == [20, 30, 25, 24]


def test_another_processor_keeps_the_precision_of_the_first(tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "has_fast_bf16", lambda _: True)
    experiment, _ = stopped(tmp_path, monkeypatch, training={"precision": "auto"})
    monkeypatch.setattr(devices, "has_fast_bf16", lambda _: False)
    run(experiment)
    assert column(experiment, "precision") == ["bf16"] * 3


def test_a_run_is_not_trained_twice_at_once(tmp_path):
    """The state that it resumes from is removed when the checkpoints are averaged."""
    experiment = make_experiment(tmp_path)
    with locked(experiment.training_lock(RUN)), pytest.raises(UserError, match=r"in use by process \d+"):
        run(experiment)
    assert not experiment.checkpoints(RUN).exists()
    run(experiment)
    assert list(experiment.scratch(RUN).glob("*/state.safetensors"))
    average_run(experiment, "plain", 1)
    assert not experiment.scratch(RUN).exists()


def test_a_state_that_was_cut_short_is_named(tmp_path, monkeypatch):
    experiment, _ = stopped(tmp_path, monkeypatch)
    (state,) = experiment.scratch(RUN).glob("*/state.safetensors")
    state.write_bytes(state.read_bytes()[:-7])
    with pytest.raises(UserError, match=r"state\.safetensors: not a checkpoint of this program, or truncated"):
        run(experiment)
