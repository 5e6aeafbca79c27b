"""Several processes train like one: each computes its share of an update's batches."""

import os
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
import torch
from test_resuming import counted_updates
from tiny_training import RUN, column, make_experiment, train, weights_after

from context_nmt.files import UserError
from context_nmt.models import devices
from context_nmt.models.building import build
from context_nmt.models.plans import TrainingPlan
from context_nmt.progress import INTERVAL_VARIABLE
from context_nmt.training.batches import Batch
from context_nmt.training.trainer import train_run
from context_nmt.training.updating import Updater

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


def train_by(experiments, *options):
    """Errors and exit status of the stage on each node, as `launch.train: torchrun OPTIONS` starts it there."""
    words = [sys.executable, "-m", "torch.distributed.run", *options, "-m", "stages._run", "train", "plain", "1"]
    started = [
        subprocess.Popen(
            words,
            cwd=experiment.folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for experiment in experiments
    ]
    return [(process.communicate()[1], process.returncode) for process in started]


def environment():
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1", INTERVAL_VARIABLE: "0"}


def train_on_two_nodes(first, second):
    """Train in two nodes with a process each, both on this machine."""
    endpoint = ("--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{free_port()}")
    return train_by([first, second], "--nnodes", "2", "--nproc-per-node", "1", *endpoint)


def free_port():
    with socket.socket() as listening:
        listening.bind(("localhost", 0))
        return listening.getsockname()[1]


MASKED = {"kind": "masked", "norm": "post", "positions": "learned", "maximum_positions": 32}
HAN = {"mechanism": "hierarchical_attention", "sentences": 2}
DOCUMENTS = {
    "task": "previous",
    "variants": {"plain": {"slots": {"encoder_output": HAN, "decoder_output": HAN}}},
    "training": {"batch_tokens": 40},
    "model": {"positions": "learned", "maximum_positions": 32},
}
JOINED = {
    "task": "previous",
    "variants": {"plain": {"model": {"kind": "concatenation", "previous_sources": 2, "previous_targets": 1}}},
    "training": {"batch_tokens": 40},
}


@pytest.mark.parametrize(
    "kind",
    [{}, {"model": MASKED}, DOCUMENTS, JOINED],
    ids=["autoregressive", "masked", "documents", "concatenation"],
)
def test_two_processes_train_as_one(tmp_path, kind):
    """Dropout, clipping, accumulation, validation and masks included; sums are rounded in another order.

    Two nodes with a process each, on which the first kind is trained too, give the same bytes.
    """
    training = {"accumulation": 4, "clip_norm": 1.0, "maximum_sentence_length": 30}
    changes = {
        **kind,
        "model": {"dropout": 0.3, **kind.get("model", {})},
        "training": training | kind.get("training", {}),
    }
    one = train(tmp_path / "one", **changes)
    two, nodes = (make_experiment(tmp_path / name, **changes) for name in ("two", "nodes"))
    for results in [train_by([two], "--nproc-per-node", "2"), *([] if kind else [train_on_two_nodes(nodes, nodes)])]:
        errors = "".join(said for said, _ in results)
        assert all(status == 0 for _, status in results), errors
        assert errors.count("update       6") == errors.count("1/6 updates") == 1  # only the first one speaks
    assert kind or written(nodes) == written(two)
    for name in ("epoch", "learning_rate", "train_loss", "train_nll", "valid_loss", "valid_nll"):
        assert column(two, name) == pytest.approx(column(one, name), rel=2e-5)
    expected, weights = (weights_after(experiment, 6) for experiment in (one, two))
    for name in expected:
        if not name.endswith("attention.key.bias"):  # its gradient is rounding, of which Adam makes steps
            torch.testing.assert_close(weights[name], expected[name], rtol=0, atol=1e-3)  # Adam's steps are of 0.01


def written(experiment):
    """The bytes of the curve and of the checkpoints."""
    paths = [experiment.curve(RUN), *experiment.checkpoints(RUN).iterdir()]
    return {path.name: path.read_bytes() for path in paths}


def test_processes_that_cannot_share_the_batches_are_refused(tmp_path):
    experiment = make_experiment(tmp_path, training={"accumulation": 3})
    ((errors, status),) = train_by([experiment], "--nproc-per-node", "2")
    assert status != 0
    assert "training.accumulation is 3; it must be a multiple of the 2 processes" in errors
    assert not experiment.checkpoints(RUN).exists()


def test_nodes_that_do_not_share_their_folders_cannot_resume(tmp_path, monkeypatch):
    one, two = (make_experiment(tmp_path / name, training={"accumulation": 2}) for name in ("one", "two"))
    counted_updates(monkeypatch, stop_at=5)
    with pytest.raises(KeyboardInterrupt):
        train_run(one, "plain", 1, device="cpu")
    results = train_on_two_nodes(one, two)
    assert any(status != 0 for _, status in results)  # torchrun may end the other node with 0
    assert any("resume after different updates" in errors for errors, _ in results)
    assert not any(experiment.checkpoints(RUN).exists() for experiment in (one, two))


SLOW = """
import time
from datetime import timedelta
import torch
from context_nmt.models import devices
devices.CONNECTION_TIMEOUT = timedelta(seconds=8)
with devices.join_processes(torch.device("cpu")) as group:
    time.sleep(10 * group.rank)
    group.sum_gradients(torch.nn.Linear(1, 1))
    assert group.sum([1.0]) == group.sum_on_device(torch.ones(1)).tolist() == [2]
"""


def test_processes_that_have_reached_each_other_wait_for_a_slow_one(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    words = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", str(tmp_path / "slow.py")]
    done = subprocess.run(words, env=environment(), stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_unreachable_process_is_a_one_line_error(tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "CONNECTION_TIMEOUT", timedelta(seconds=1))
    for name, value in {"RANK": 0, "WORLD_SIZE": 2, "MASTER_ADDR": "localhost", "MASTER_PORT": free_port()}.items():
        monkeypatch.setenv(name, str(value))
    with pytest.raises(UserError, match=r"^process 0 cannot reach all others of 2[^\n]*SOCKET_IFNAME[^\n]*$"):
        train_run(make_experiment(tmp_path), "plain", 1, device="cpu")


def test_independent_tasks_of_srun_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
    experiment = make_experiment(tmp_path)
    with pytest.raises(UserError, match="let torchrun start the processes"):
        train_run(experiment, "plain", 1, device="cpu")
    assert not experiment.checkpoints(RUN).exists()


def test_each_batch_of_an_update_has_a_dropout_of_its_own(tmp_path):
    experiment = make_experiment(tmp_path, model={"dropout": 0.5})
    plan = TrainingPlan.read(experiment.plan("plain", "training"))
    model, seen = build(plan.model, source_vocabulary=20, target_vocabulary=20), []
    model.decoder.register_forward_hook(lambda module, inputs, states: seen.append(states.states.detach().clone()))
    ids = torch.full((3, 5), 5)
    batch = Batch(ids, ids, ids, torch.arange(15), 15)
    Updater(plan, model, seed=1).update(1, [batch, batch])
    assert not torch.equal(seen[0], seen[1])
