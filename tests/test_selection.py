"""Which checkpoints of a training run stay, and when it stops early."""

import pytest
from tiny_training import RUN, column, scripted, summary, train


def updates_kept(experiment):
    """The updates of the checkpoints that are left; there is nothing else but the summary."""
    names = sorted(path.name for path in experiment.checkpoints(RUN).iterdir())
    assert names.pop() == "summary.json"
    assert all(name.startswith("checkpoint-") and name.endswith(".safetensors") for name in names)
    return [int(name.removeprefix("checkpoint-").removesuffix(".safetensors")) for name in names]


def train_scripted(folder, scores, **training):
    """Validate after each update, with these scores."""
    return train(
        folder,
        pairs=20,
        bleu=scripted(scores),
        averaging={"select": "last" if training.get("keep_last", 1) else "best"},
        training={"validate_every": 1, "validation_bleu": True, "select_by": "bleu", **training}
        | {"maximum_updates": len(scores)},
    )


SCORES = [5, 1, 9, 2, 9, 3, 4]


@pytest.mark.parametrize(
    ("keep_last", "keep_best", "expected"),
    [
        (1, 0, [7]),
        (3, 0, [5, 6, 7]),
        (0, 1, [3]),  # of equals the earlier
        (0, 2, [3, 5]),
        (0, 3, [1, 3, 5]),
        (2, 2, [3, 5, 6, 7]),
        (3, 1, [3, 5, 6, 7]),
        (6, 0, [2, 3, 4, 5, 6, 7]),
        (9, 0, [1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_exactly_the_wanted_checkpoints_stay(tmp_path, keep_last, keep_best, expected):
    train_scripted(tmp_path, SCORES[:2], keep_last=2)  # of an earlier training nothing stays
    experiment = train_scripted(tmp_path, SCORES, keep_last=keep_last, keep_best=keep_best)
    assert updates_kept(experiment) == expected
    assert summary(experiment)["best_update"] == 3
    assert column(experiment, "valid_bleu") == SCORES


@pytest.mark.parametrize(
    ("patience", "stopped", "best"),
    [(None, 7, 3), (1, 2, 1), (2, 5, 3), (3, 6, 3), (4, 7, 3)],
)
def test_it_stops_after_so_many_validations_without_a_better_one(tmp_path, patience, stopped, best):
    experiment = train_scripted(tmp_path, SCORES, patience=patience, keep_last=1)
    assert column(experiment, "update") == list(range(1, stopped + 1))
    assert (summary(experiment)["updates"], summary(experiment)["best_update"]) == (stopped, best)
    assert updates_kept(experiment) == [stopped]


def test_the_best_by_loss_is_the_lowest(tmp_path):
    """The rate is so high that the loss soon rises."""
    training = {"validate_every": 1, "keep_last": 0, "keep_best": 1, "patience": 2, "maximum_updates": 12}
    training["schedule"] = {"kind": "inverse_square_root", "warmup": 4, "peak_rate": 1.0}
    experiment = train(tmp_path, averaging={"select": "best"}, training=training)
    losses = column(experiment, "valid_loss")
    best = losses.index(min(losses)) + 1
    assert summary(experiment)["best_update"] == best
    assert updates_kept(experiment) == [best]
    assert len(losses) == best + 2 < 12
