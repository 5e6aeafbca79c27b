"""A run's model is the mean of its last or best checkpoints, next to all files that translation needs."""

import hashlib

import pytest
import torch
from tiny_training import train

from context_nmt.files import UserError
from context_nmt.models import checkpoints
from context_nmt.models.averaging import average, average_run
from context_nmt.settings.model import AveragingSettings

LOSSES = {100: 3.0, 200: 1.0, 300: 2.0, 1000: 1.0, 20_000_000: 4.0}  # by update
BLEU = {100: 5.0, 200: 9.0, 300: 9.5, 1000: 7.0, 20_000_000: 1.0}


@pytest.fixture
def folder(tmp_path):
    """Checkpoints whose weights are a power of 2 and a small number: a mean in float32 would lose the latter."""
    for number, (update, loss) in enumerate(LOSSES.items()):
        weights = {"a": torch.tensor([2.0**number, 2.0**-number / 3]), "b": torch.full((2, 2), float(number))}
        validation = {"update": update, "valid_loss": loss, "valid_bleu": BLEU[update]}
        metadata = {"plan": "of the model", "validation": validation}
        checkpoints.save(tmp_path / f"checkpoint-{update:08d}.safetensors", weights, metadata)
    return tmp_path


@pytest.mark.parametrize(
    ("select", "select_by", "count", "updates"),
    [
        ("last", "loss", 1, [20_000_000]),
        ("last", "loss", 3, [300, 1000, 20_000_000]),
        ("best", "loss", 1, [200]),  # the earlier of two equal ones
        ("best", "loss", 2, [200, 1000]),
        ("best", "loss", 3, [200, 300, 1000]),
        ("best", "bleu", 3, [200, 300, 1000]),
        ("best", "bleu", 2, [200, 300]),
        ("last", "bleu", 99, list(LOSSES)),
    ],
)
def test_the_selected_checkpoints_are_averaged(folder, select, select_by, count, updates):
    weights, metadata = average(folder, AveragingSettings(select=select, count=count), select_by=select_by)
    paths = [folder / f"checkpoint-{update:08d}.safetensors" for update in updates]
    for name, mean in weights.items():
        loaded = [checkpoints.load(path)[0][name].double() for path in paths]
        expected = sum(loaded) / len(loaded)
        assert mean.dtype == torch.float32
        assert torch.equal(mean, expected.float())
    assert metadata == {
        "plan": "of the model",
        "averaged": [
            {"checkpoint": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()} for path in paths
        ],
    }


def test_a_run_folder_has_all_files_for_translation(tmp_path):
    """A run that was not trained has no model."""
    trained = train(tmp_path, training={"keep_last": 3}, averaging={"count": 2})
    average_run(trained, "plain", 1)
    folder = trained.model("plain-1")
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) == [
        "model.safetensors",
        "text/corpus.json",
        "text/moses.json",
        "text/units.json",
        "text/vocabulary.xx.txt",
        "text/vocabulary.yy.txt",
    ]
    _, metadata = checkpoints.load(folder / "model.safetensors")
    names = [entry["checkpoint"] for entry in metadata["averaged"]]
    assert names == ["checkpoint-00000004.safetensors", "checkpoint-00000006.safetensors"]
    assert "validation" not in metadata
    checkpoints.load_run(folder, torch.device("cpu"))
    with pytest.raises(UserError, match="plain-2: no checkpoints to average"):
        average_run(trained, "plain", 2)
    assert not trained.model("plain-2").exists()
